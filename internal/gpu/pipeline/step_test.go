package pipeline

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/gpu/residency"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/packedsearch"
)

// splitOf returns the ends of random steps.
func splitOf(rng *rand.Rand, n int) (ends []int) {
	for at := 0; at < n; {
		at += 1 + rng.IntN(n-at)
		ends = append(ends, at)
	}
	return ends
}

// intersect compares each step with the oracle. Steps may fail without memory, or, if faulty,
// for any reason; it returns the number of failures.
func (c *collection) intersect(tb testing.TB, v *View, q *Query, ends []int, faulty bool) (failed int) {
	tb.Helper()
	steps := make([]Step, len(ends))
	first := 0
	var from *Candidates
	for i, end := range ends {
		s := &steps[i]
		s.Legs, s.NumTerms, s.First, s.End, s.From, s.Count = q.Legs, q.NumTerms, first, end, from, q.Count
		if end == q.NumTerms {
			s.K = q.K
		}
		if err := v.Intersect(tb.Context(), s, nil); err != nil {
			tb.Error(err)
			return failed
		}
		if s.Result.Err != nil {
			if !faulty && !errors.Is(s.Result.Err, residency.ErrNoRoom) && !errors.Is(s.Result.Err, residency.ErrTooLarge) {
				tb.Error(s.Result.Err)
			}
			return failed + 1
		}
		if s.K > 0 {
			c.compare(tb, q, &s.Result)
			return failed
		}
		c.compareCandidates(tb, q, end, s)
		first, from = end, &s.Out
	}
	return failed
}

func (c *collection) compareCandidates(tb testing.TB, q *Query, lists int, s *Step) {
	tb.Helper()
	part := Query{Conjunctive: true, K: 1, NumTerms: lists, Legs: make([]Leg, lists*len(c.segments))}
	for i := range part.Legs {
		part.Legs[i].Leg = q.Legs[i/lists*q.NumTerms+i%lists].Leg
	}
	_, want := c.oracle(tb, &part)
	for i := range want.Segments {
		got := s.Out.Segments[i]
		if !slices.Equal(got.DocIDs, want.Segments[i].DocIDs) || !slices.Equal(got.Scores, want.Segments[i].Scores) {
			tb.Errorf("segment %d after %d of %d lists: %d candidates, want %d", i, lists, q.NumTerms, len(got.DocIDs), len(want.Segments[i].DocIDs))
		}
	}
	if s.Result.Matches != int64(want.Len()) {
		tb.Errorf("after %d of %d lists: %d matches, want %d", lists, q.NumTerms, s.Result.Matches, want.Len())
	}
}

// Any division into steps agrees with the oracle, for several memory limits.
func TestIntersect(t *testing.T) {
	c := newCollection(t, 1800, 3, "")
	for _, o := range []Options{{Memory: Memory{Bytes: 1 << 20}}, {Memory: Memory{Bytes: 2 << 10}}, {Memory: Memory{Bytes: 16 << 10}, HostMemory: HostMemory{None: true}}} {
		o.Lanes = 1
		e := open(t, o)
		v := c.attach(t, e)
		for _, words := range [][]int{{4}, {9, 3}, {8, 5, 1}, {10, 7, 4, 0}, {99, 2, 1}, {3, 99}} {
			q := c.query(t, true, words...)
			for cut := range 1 << (len(words) - 1) { // bit i: a step ends at list i+1
				var ends []int
				for i := 1; i < len(words); i++ {
					if cut>>(i-1)&1 != 0 {
						ends = append(ends, i)
					}
				}
				c.intersect(t, v, q, append(ends, len(words)), false)
			}
		}
		if s := e.Stats().Devices[0]; s.Steps == 0 || s.Packed != 0 || s.Errors != 0 {
			t.Errorf("%+v: want steps without errors", s)
		}
		v.Release()
	}
}

// Empty candidates are valid. With an ended context no lane is awaited.
func TestIntersectRejects(t *testing.T) {
	c := newCollection(t, 400, 2, "")
	e := open(t, Options{Memory: Memory{Bytes: 1 << 20}, Lanes: 1})
	v := c.attach(t, e)
	defer v.Release()
	q := c.query(t, true, 4, 1)
	for name, s := range map[string]Step{
		"no legs":         {NumTerms: 2, K: 3},
		"no terms":        {Legs: q.Legs, K: 3},
		"k":               {Legs: q.Legs, NumTerms: 2, K: MaxK + 1},
		"range":           {Legs: q.Legs, NumTerms: 2, First: 1, End: 3},
		"empty range":     {Legs: q.Legs, NumTerms: 2, First: 1, End: 1},
		"other segments":  {Legs: q.Legs, NumTerms: 2, From: &Candidates{Segments: make([]packedsearch.Candidates, 1)}},
		"scores are less": {Legs: q.Legs, NumTerms: 2, From: &Candidates{Segments: []packedsearch.Candidates{{DocIDs: []uint32{1}}, {}}}},
	} {
		t.Run(name, func(t *testing.T) {
			if err := v.Intersect(t.Context(), &s, nil); err != nil || !errors.Is(s.Result.Err, base.ErrBadInput) {
				t.Errorf("%s: error %v, result %+v; want ErrBadInput", name, err, s.Result)
			}
		})
	}
	var from Candidates
	from.Reset(2)
	s := Step{Legs: q.Legs, NumTerms: 2, From: &from, K: 5, Count: true}
	var trace Trace
	if err := v.Intersect(t.Context(), &s, &trace); err != nil || s.Result.Err != nil || len(s.Result.Hits) != 0 || s.Result.Matches != 0 || trace.Devices[0].Device != "gpu0" {
		t.Errorf("no candidates: error %v, %+v, %+v", err, s.Result, trace)
	}
	l := e.devices[0].lanes.take(nil, 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := v.Intersect(ctx, &s, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want Canceled", err)
	}
	e.devices[0].lanes.put(l)
	lost := errors.New("lost")
	e.devices[0].Probe().Fail(lost)
	if err := v.Intersect(t.Context(), &s, nil); err != nil || !errors.Is(s.Result.Err, lost) {
		t.Errorf("lost device: error %v, %+v", err, s.Result)
	}
}
