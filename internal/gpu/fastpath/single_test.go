package fastpath

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
)

// A Single takes no words of memory that it has not written for an answer: neither those
// that lay there, nor those of launches of the same number, 2^32 before. A query that asks
// for nothing is answered without a launch.
func TestSingleAnswers(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 12))
	c := randomCollection(t, rng, 3000, 4, false, 9)
	c.toDevice()
	s, err := c.kernels.NewSingle(0)
	must(t, err)
	defer func() { must(t, s.Close()) }()
	if slices.Max(s.answer.Data()) != 0 {
		t.Error("the memory of answers begins with what lay there before")
	}
	search := func(k int, terms ...int) {
		t.Helper()
		q := c.query(Or, k, nil, c.Saturation.AvgLen, terms...)
		must(t, s.Search(c.Stream, c.segment, &q.gpu))
		q.compare(t, "single", c, s.AppendHits(nil), 0, nil)
	}
	search(300, 1, 2)
	s.batch.launches = math.MaxUint32 - 1
	for range 3 {
		search(10, 1, 2)
	}
	if s.batch.launches != 2 {
		t.Errorf("launch %d, want the second after 2^32", s.batch.launches)
	}
	for i, w := range s.answer.Data()[answerHead+2*10:] {
		if w != 0 {
			t.Fatalf("word %d of hits is still that of launch %d", 2*10+i, w>>32)
		}
	}
	q := c.query(Or, 0, nil, c.Saturation.AvgLen, 1)
	must(t, s.Search(c.Stream, c.segment, &q.gpu))
	if len(s.AppendHits(nil)) > 0 {
		t.Error("hits that were not asked for")
	}
}

// A launch that ends without an answer is an error, not an answer without hits.
func TestSingleWithoutAnswer(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 13))
	c := randomCollection(t, rng, 300, 4, false, 9)
	c.toDevice()
	s, err := c.kernels.NewSingle(0)
	must(t, err)
	defer func() { must(t, s.Close()) }()
	s.wait = time.Microsecond
	q := c.query(Or, 10, nil, c.Saturation.AvgLen, 1)
	must(t, s.Search(c.Stream, c.segment, &q.gpu))
	s.batch.launches++ // as if it were another's
	s.batch.results.Data()[0].done = 0
	if err := s.await(c.Stream); err == nil {
		t.Error("no error")
	}
}

// Blocks of a second launch of AndOr that begin late read the result of the first: the
// next query leaves it as it is until they have ended.
func TestSingleRetried(t *testing.T) {
	rng := rand.New(rand.NewPCG(14, 14))
	c := randomCollection(t, rng, 3000, 4, false, 9)
	c.toDevice()
	s, err := c.kernels.NewSingle(0)
	must(t, err)
	defer func() { must(t, s.Close()) }()
	answer := 1 // the emulator computes when it is waited for
	if gputest.OnGPU() {
		s.wait, answer = time.Minute, 0
	}
	var faults cuda.Faults
	c.Device.InjectFaults(&faults)
	defer c.Device.InjectFaults(nil)
	for i, mode := range []Mode{Or, AndOr, Or, And, AndOr, AndOr} {
		before := faults.Calls()["cuStreamSynchronize"]
		q := c.query(mode, 10, nil, c.Saturation.AvgLen, 0, 1)
		must(t, s.Search(c.Stream, c.segment, &q.gpu))
		q.compare(t, "single", c, s.AppendHits(nil), 0, nil)
		want := answer
		if i == 2 || i == 5 { // behind AndOr
			want++
		}
		if n := faults.Calls()["cuStreamSynchronize"] - before; n != want {
			t.Errorf("query %d waits %d times, want %d", i, n, want)
		}
	}
}
