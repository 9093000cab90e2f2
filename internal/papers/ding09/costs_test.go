package ding09

import (
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/cost"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/sched"
	"github.com/griffin-search/griffin/query"
)

func vector(n int64) cost.Vector {
	return cost.TreeFeatures(&cost.Features{Lists: 2, Shortest: n, Second: 3 * n, Sum: 4 * n})
}

// Before the first trees, queries of a mode go to both processors alternately; then the trees predict.
func TestCostsAreLearned(t *testing.T) {
	c := newCosts()
	took := func(p sched.Place, n int64) time.Duration {
		if p == sched.CPU {
			return time.Duration(20 * n)
		}
		return 50*time.Microsecond + time.Duration(n)
	}
	var ran [sched.NumPlaces]int
	for i := range 2 * firstTraining {
		n := int64(100 << (i / 2 % 10))
		predicted := c.predict(plan.ModeAnd, vector(n), 0)
		p := sched.CPU
		if predicted[sched.GPU] < predicted[sched.CPU] {
			p = sched.GPU
		}
		if i%2 == 1 && predicted[sched.CPU] == predicted[sched.GPU] {
			t.Fatalf("sample %d: %v", i, predicted)
		}
		ran[p]++
		c.observe(p, plan.ModeAnd, vector(n), took(p, n))
	}
	if ran[sched.CPU] != firstTraining || ran[sched.GPU] != firstTraining {
		t.Errorf("ran %v", ran)
	}
	for _, n := range []int64{200, 6400, 51200} {
		predicted := c.predict(plan.ModeAnd, vector(n), 0)
		for p, d := range predicted {
			if want := took(sched.Place(p), n); d < want*3/4 || d > want*4/3 {
				t.Errorf("%d postings on the %v: %v, want %v", n, sched.Place(p), d, want)
			}
		}
		if more := c.predict(plan.ModeAnd, vector(n), 100); more[sched.GPU] != predicted[sched.GPU]+100 || more[sched.CPU] != predicted[sched.CPU] {
			t.Errorf("with a transfer: %v, without %v", more, predicted)
		}
	}
	if p := c.predict(plan.ModeOr, vector(100), 0); p[sched.CPU] != 2*p[sched.GPU] {
		t.Errorf("another mode: %v", p)
	}
}

// Small transfers do not change the time of a byte.
func TestTransfersAreLearned(t *testing.T) {
	const megabyte = 1_000_000
	s := newSpeed()
	if got := s.predict(2, 10*megabyte); got != 2*priorTransfer+time.Millisecond {
		t.Errorf("before the first transfers: %v", got)
	}
	for range 50 {
		s.observe(transfer{100 * megabyte, 4 * time.Millisecond})
	}
	for range 8 {
		s.observe(transfer{256, 20 * time.Microsecond})
	}
	if got := s.predict(1, 10*megabyte); got < 390*time.Microsecond || got > 450*time.Microsecond {
		t.Errorf("10 MB: %v, want 0.4 ms and the fixed time", got)
	}
	for range 100 {
		s.observe(transfer{256, 20 * time.Microsecond})
	}
	if got := s.predict(3, 0); got < 59*time.Microsecond || got > 61*time.Microsecond {
		t.Errorf("3 small transfers: %v, want 60 µs", got)
	}
	if got := s.predict(1, 10*megabyte); got < 390*time.Microsecond || got > 450*time.Microsecond {
		t.Errorf("10 MB after small transfers: %v, want 0.4 ms and the fixed time", got)
	}
}

// Training ends with the paper's number of queries.
func TestTrainingEnds(t *testing.T) {
	c := newCosts()
	for range maxSamples + 10 {
		c.observe(sched.CPU, plan.ModeOr, vector(100), time.Microsecond)
	}
	k := c.class(plan.ModeOr)
	if n := len(k.samples[sched.CPU]); n != maxSamples || k.trees[sched.CPU].Samples != maxSamples || k.trees[sched.GPU] != nil {
		t.Errorf("%d samples, tree of %d", n, k.trees[sched.CPU].Samples)
	}
}

// The scheduler learns from its own queries, and its features are the paper's.
func TestScheduleLearns(t *testing.T) {
	snapshot := frequent(t)
	e := openEngine(t, gputest.Open(t), defaults(onBoth))
	q := prepare(t, snapshot, &query.Words{Text: "w0 w1", Boost: 1}, plan.Options{Mode: plan.ModeAnd, K: 3})
	for range 2*firstTraining + 10 {
		search(t, e, &q)
	}
	k := e.schedule.costs.class(plan.ModeAnd)
	if k.trees[sched.CPU] == nil || k.trees[sched.GPU] == nil {
		t.Fatalf("%d and %d samples", len(k.samples[sched.CPU]), len(k.samples[sched.GPU]))
	}
	df := q.Plan.DocFreqs()
	want := cost.TreeFeatures(&cost.Features{
		Lists: 2, Shortest: int64(min(df[0], df[1])), Second: int64(max(df[0], df[1])), Sum: int64(df[0] + df[1]),
	})
	if got := k.samples[sched.CPU][0].X; got != want {
		t.Errorf("features %v, want %v", got, want)
	}
	if s := e.Stats(); s.ListHits == 0 || s.ListMisses != 2 {
		t.Errorf("%+v", s)
	}
}
