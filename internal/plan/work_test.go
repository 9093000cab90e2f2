package plan

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan/plantest"
)

type recorder struct {
	iterator
	max   base.Score
	needs []base.Score
}

func (r *recorder) MaxScore() base.Score    { return r.max }
func (r *recorder) SetNeed(need base.Score) { r.needs = append(r.needs, need) }
func (r *recorder) Cost() int               { return 1 }
func (r *recorder) DocID() base.DocID       { return base.NoDocID }
func (r *recorder) check(t *testing.T, of string, want ...base.Score) {
	t.Helper()
	if len(r.needs) != len(want) || len(want) > 0 && r.needs[0] != want[0] {
		t.Errorf("%s gets the needs %v, want %v", of, r.needs, want)
	}
	r.needs = nil
}

// Each part gets the need of the whole minus the most of the others.
func TestSetNeed(t *testing.T) {
	required, optional := &recorder{max: 10}, &recorder{max: 4}
	p := &preference{required: required, optional: optional}
	for _, c := range []struct {
		need base.Score
		both bool
		of   [2][]base.Score
	}{
		{3, false, [2][]base.Score{nil, nil}},
		{4, false, [2][]base.Score{nil, nil}},
		{5, false, [2][]base.Score{{1}, nil}},
		{10, false, [2][]base.Score{{6}, nil}},
		{11, true, [2][]base.Score{{7}, {1}}},
	} {
		p.SetNeed(c.need)
		required.check(t, "required", c.of[0]...)
		optional.check(t, "optional", c.of[1]...)
		if p.both != c.both {
			t.Errorf("need %d: both is %v", c.need, p.both)
		}
	}

	e := &exclusion{included: required, excluded: optional}
	e.SetNeed(3)
	required.check(t, "included", 3)
	optional.check(t, "excluded")

	all := []*recorder{{max: 1}, {max: 2}, {max: 4}}
	var c conjunction
	c.reset([]iterator{all[0], all[1], all[2]}, new(pulse))
	c.SetNeed(5)
	all[0].check(t, "a child of 1 beside 6")
	all[1].check(t, "a child of 2 beside 5")
	all[2].check(t, "a child of 4 beside 3", 2)
}

// The work on a fixed index changes only on purpose: less pruning gives the same hits, and is a
// fault all the same.
func TestWork(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 41))
	s := New(indextest.Snapshot(t, plantest.RandomIndex(t, rng, 6000, 2, false)), nil)
	sc := testScratch(t, "whitespace")
	for _, c := range []struct {
		query string
		mode  Mode
		want  Work
	}{
		{`w0 w5 -w1`, ModeOr, Work{PostingsDecoded: 9052, PostingsScored: 813, BlocksDecoded: 71, BlocksSkipped: 40}},
		{`w9 -w0`, ModeOr, Work{PostingsDecoded: 8478, PostingsScored: 2690, BlocksDecoded: 68, BlocksSkipped: 0}},
		{`"w0 w1"`, ModeOr, Work{PostingsDecoded: 10616, PostingsScored: 811, BlocksDecoded: 84, BlocksSkipped: 0}},
		{`"w0 w5" w1`, ModeOr, Work{PostingsDecoded: 11998, PostingsScored: 1395, BlocksDecoded: 96, BlocksSkipped: 15}},
		{`"w0 w5" w1`, ModeAnd, Work{PostingsDecoded: 20761, PostingsScored: 1198, BlocksDecoded: 166, BlocksSkipped: 10}},
		{`+w1 w9`, ModeOr, Work{PostingsDecoded: 9887, PostingsScored: 1879, BlocksDecoded: 78, BlocksSkipped: 20}},
		{`+(w1 w2) w9`, ModeOr, Work{PostingsDecoded: 11848, PostingsScored: 7439, BlocksDecoded: 95, BlocksSkipped: 0}},
		{`+(w0 w9) +(w1 w8) w7`, ModeOr, Work{PostingsDecoded: 19198, PostingsScored: 7853, BlocksDecoded: 154, BlocksSkipped: 0}},
		{`(w0 w9) (+w1 +w8) w7`, ModeOr, Work{PostingsDecoded: 14932, PostingsScored: 6465, BlocksDecoded: 119, BlocksSkipped: 35}},
		{`(w0 w9) -"w1 w2"`, ModeOr, Work{PostingsDecoded: 6402, PostingsScored: 2726, BlocksDecoded: 51, BlocksSkipped: 90}},
		{`w0 -(+w1 +w2)`, ModeOr, Work{PostingsDecoded: 14946, PostingsScored: 2008, BlocksDecoded: 119, BlocksSkipped: 0}},
	} {
		p, err := s.Prepare(sc, plantest.Parse(t, c.query), Options{Mode: c.mode, K: 3})
		if err != nil {
			t.Fatal(err)
		}
		a, err := p.RunCPU(context.Background(), sc, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if a.Work != c.want {
			t.Errorf("%s in mode %s: %+v, want %+v", c.query, c.mode, a.Work, c.want)
		}
	}
}
