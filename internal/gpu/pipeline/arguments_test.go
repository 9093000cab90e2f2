package pipeline

import (
	"context"
	"errors"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
)

// Run refuses invalid queries, and all on a lost device, and answers the ones at the limits.
func TestRunArguments(t *testing.T) {
	c := newCollection(t, 400, 1, "")
	e := open(t, Options{Memory: Memory{Bytes: 1 << 20}})
	if e.Lanes() != DefaultLanes {
		t.Errorf("%d lanes", e.Lanes())
	}
	v := c.attach(t, e)
	defer v.Release()
	run := func(change func(q *Query), results int) []Result {
		t.Helper()
		q := c.query(t, false, 3, 1)
		change(q)
		r := make([]Result, results)
		if err := v.Run(t.Context(), []*Query{q}, r, nil, nil); err != nil {
			t.Fatal(err)
		}
		return r
	}
	for what, change := range map[string]func(q *Query){
		"k 0":          func(q *Query) { q.K, q.Count = 0, false },
		"k below 0":    func(q *Query) { q.K = -1 },
		"a part less":  func(q *Query) { q.Parts = []Part{1} },
		"large clause": func(q *Query) { q.Parts = []Part{0, MaxClauses + 1} },
		"clause in an AND": func(q *Query) {
			q.Conjunctive, q.Parts = true, []Part{0, 1}
		},
		"k too large":  func(q *Query) { q.K = MaxK + 1 },
		"no terms":     func(q *Query) { q.NumTerms, q.Legs = 0, nil },
		"a leg more":   func(q *Query) { q.Legs = make([]Leg, 3) },
		"a leg less":   func(q *Query) { q.Legs = q.Legs[:1:1] },
		"another term": func(q *Query) { q.NumTerms = 3 },
	} {
		if r := run(change, 1); r[0].Err == nil {
			t.Errorf("%s: no error", what)
		}
		q := c.query(t, false, 3, 1)
		change(q)
		if len(q.Legs) != q.NumTerms || q.NumTerms == 0 {
			if v.HasImages(q) {
				t.Errorf("%s: has images", what)
			}
			var l Located
			if v.Locate(q, &l); l.Packed {
				t.Errorf("%s: %+v", what, l)
			}
		}
	}
	if r := run(func(*Query) {}, 2); r[0].Err == nil || r[1].Err == nil {
		t.Error("two results for a query: no error")
	}
	for what, change := range map[string]func(q *Query){
		"k 1": func(q *Query) { q.K = 1 }, "greatest k": func(q *Query) { q.K = MaxK }, "clauses": func(q *Query) { q.Parts = []Part{MaxClauses, Optional} },
	} {
		if r := run(change, 1); r[0].Err != nil || len(r[0].Hits) == 0 {
			t.Errorf("%s: error %v, %d hits", what, r[0].Err, len(r[0].Hits))
		}
	}
	if q := c.query(t, false, 3, 1); !v.HasImages(q) || e.Lost() != nil {
		t.Errorf("images: %t, lost: %v", v.HasImages(q), e.Lost())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	q := c.query(t, false, 3, 1)
	if err := v.Run(ctx, []*Query{q}, make([]Result, 1), nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	e.devices[0].Probe().Fail(cuda.ErrDeviceLost)
	if r := run(func(*Query) {}, 1); !errors.Is(r[0].Err, cuda.ErrDeviceLost) || v.HasImages(q) || !errors.Is(e.Lost(), cuda.ErrDeviceLost) {
		t.Errorf("lost: error %v, images %t", r[0].Err, v.HasImages(q))
	}
	var l Located
	if v.Locate(q, &l); l.Packed || len(l.Forms) != len(q.Legs) {
		t.Errorf("lost: %+v", l)
	}
}

func TestStepArguments(t *testing.T) {
	c := newCollection(t, 400, 2, "")
	e := open(t, Options{Memory: Memory{Bytes: 1 << 20}, Lanes: 1})
	v := c.attach(t, e)
	defer v.Release()
	candidates := func(n int) *Candidates {
		from := new(Candidates)
		from.Reset(n)
		return from
	}
	for _, test := range []struct {
		what   string
		change func(s *Step)
		bad    bool
	}{
		{"all terms", func(*Step) {}, false},
		{"first term", func(s *Step) { s.End = 1 }, false},
		{"last term", func(s *Step) { s.First, s.End, s.From = 1, 2, candidates(2) }, false},
		{"candidates", func(s *Step) { s.K = 0 }, false},
		{"one hit", func(s *Step) { s.K = 1 }, false},
		{"no terms", func(s *Step) { s.NumTerms, s.Legs = 0, nil }, true},
		{"a leg less", func(s *Step) { s.Legs = s.Legs[:3] }, true},
		{"k below 0", func(s *Step) { s.K = -1 }, true},
		{"k too large", func(s *Step) { s.K = MaxK + 1 }, true},
		{"first below 0", func(s *Step) { s.First, s.End = -1, 1 }, true},
		{"end too large", func(s *Step) { s.End = 3 }, true},
		{"first beyond end", func(s *Step) { s.First, s.End = 2, 1 }, true},
		{"empty", func(s *Step) { s.First, s.End = 1, 1 }, true},
		{"first beyond end 0", func(s *Step) { s.First = 1 }, true},
		{"candidates of another view", func(s *Step) { s.From = candidates(3) }, true},
	} {
		q := c.query(t, true, 3, 1)
		s := &Step{Legs: q.Legs, NumTerms: 2, K: 10}
		s.Result.Err = errLeft
		test.change(s)
		if err := v.Intersect(t.Context(), s, nil); err != nil {
			t.Fatal(err)
		}
		if bad := errors.Is(s.Result.Err, base.ErrBadInput); bad != test.bad || !bad && s.Result.Err != nil {
			t.Errorf("%s: error %v", test.what, s.Result.Err)
		}
	}
	q := c.query(t, true, 3, 1)
	q.K = 1 << 20
	s := &Step{Legs: q.Legs, NumTerms: 2, K: MaxK}
	if err := v.Intersect(t.Context(), s, nil); err != nil || s.Result.Err != nil && !errors.Is(s.Result.Err, errNotPacked) {
		t.Errorf("greatest k: %v, %v", err, s.Result.Err)
	}
}
