package pipeline

import (
	"errors"
	"testing"

	"github.com/griffin-search/griffin/internal/gpu/imagesearch"
)

// tooManyTerms repeats lists of q beyond the kernels' limit.
func (c *collection) tooManyTerms(q *Query) *Query {
	n := imagesearch.MaxTerms + 1
	r := &Query{K: q.K, NumTerms: n, Path: PathImages, Legs: make([]Leg, n*len(c.segments))}
	for s := range c.segments {
		for j := range n {
			r.Legs[s*n+j].Leg = q.Legs[s*q.NumTerms+j%q.NumTerms].Leg
		}
	}
	return r
}

// A rejected query that awaited an upload without a launch must not mark the entry as loaded:
// the next query, on another lane, has to wait. The emulator delays the work of a stream and
// reports reads of unwritten memory.
func TestListsOfRefusedQueries(t *testing.T) {
	c := newCollection(t, 1000, 1, "")
	refused := func(t *testing.T, r *Result) {
		t.Helper()
		if !errors.Is(r.Err, imagesearch.ErrUnsuited) {
			t.Fatalf("error %v, want %v", r.Err, imagesearch.ErrUnsuited)
		}
	}
	for name, first := range map[string]func(t *testing.T, v *View, q *Query){
		"single": func(t *testing.T, v *View, q *Query) {
			results := make([]Result, 1)
			if err := v.Run(t.Context(), []*Query{c.tooManyTerms(q)}, results, nil, nil); err != nil {
				t.Fatal(err)
			}
			refused(t, &results[0])
		},
		"batch": func(t *testing.T, v *View, q *Query) {
			queries := make([]*Query, fewQueries+1)
			for i := range queries {
				queries[i] = c.tooManyTerms(q)
			}
			results := make([]Result, len(queries))
			if err := v.Run(t.Context(), queries, results, nil, nil); err != nil {
				t.Fatal(err)
			}
			for i := range results {
				refused(t, &results[i])
			}
		},
		// Without candidates nothing is launched.
		"step without candidates": func(t *testing.T, v *View, q *Query) {
			from := new(Candidates)
			from.Reset(len(c.segments))
			s := Step{Legs: q.Legs, NumTerms: q.NumTerms, From: from, K: q.K}
			if err := v.Intersect(t.Context(), &s, nil); err != nil || s.Result.Err != nil {
				t.Fatal(err, s.Result.Err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := open(t, Options{Lanes: 2, Memory: Memory{Bytes: 4 << 20}, HostMemory: HostMemory{None: true}})
			v := c.attach(t, e)
			defer v.Release()
			path := PathImages
			if name == "step without candidates" {
				path = PathPacked
			}
			other := c.query(t, true, 11) // uploads the document lengths and waits
			other.Path = path
			c.check(t, v, other, nil)
			q := c.query(t, true, 7, 3, 0)
			first(t, v, q)
			q.Path = path
			for range 2 { // both lanes
				c.check(t, v, q, nil)
			}
		})
	}
}
