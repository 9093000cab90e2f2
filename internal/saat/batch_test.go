package saat

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/impact"
)

func TestBatch(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 1))
	l := randomLists(t, rng, 3000, 8, 30, impact.Options{})
	var queries []Query
	var want [][]base.Hit
	postings := int64(0)
	for range 200 {
		weights := randomWeights(rng, l, 2)
		queries = append(queries, *l.query(t, 5, weights))
		want = append(want, l.oracle(5, weights))
		for term := range weights {
			postings += int64(len(l.plain[term]))
		}
	}
	for threads := 1; threads <= 3; threads++ {
		b := Batch{Queries: queries}
		for range threads {
			b.Engines = append(b.Engines, newEngine(t, Variant{}))
		}
		got := make([][]base.Hit, len(queries))
		var answered atomic.Int64
		b.OnResult = func(i int, r *Result, took time.Duration) {
			got[i] = slices.Clone(r.Hits)
			answered.Add(1)
			if took <= 0 {
				t.Errorf("query %d took %v", i, took)
			}
		}
		r, err := b.Run(t.Context())
		check(t, err)
		for i := range want {
			if !slices.Equal(got[i], want[i]) {
				t.Fatalf("%d threads, query %d: %v, want %v", threads, i, got[i], want[i])
			}
		}
		if answered.Load() != int64(len(queries)) || r.Work.Postings != postings || r.Traffic <= r.Work.Bytes || r.Elapsed <= 0 {
			t.Errorf("%d threads: %d answers, %+v, want %d postings", threads, answered.Load(), r, postings)
		}
	}
}

func TestBatchEnds(t *testing.T) {
	l := randomLists(t, rand.New(rand.NewPCG(22, 1)), 300, 2, 30, impact.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	b := Batch{Queries: []Query{*l.query(t, 5, map[string]uint32{"0000": 1})}, Engines: []*Engine{newEngine(t, Variant{})}}
	if _, err := b.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestBandwidth(t *testing.T) {
	if got := Bandwidth(2, 1<<20); !(got > 1e6) {
		t.Errorf("%g bytes a second", got)
	}
}
