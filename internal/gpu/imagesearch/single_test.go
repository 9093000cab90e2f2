package imagesearch

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// A Single ignores words of other launches, including the launch 2^32 before. A query without
// hits and count needs no launch.
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
		q.compare(t, "single", c, s.AppendHits(nil), 0)
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

// A launch that ends without an answer is an error.
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
	s.batch.launches++ // as if another launch had answered
	s.batch.memory.results.Data()[0].done = 0
	if err := s.await(c.Stream, nil); err == nil {
		t.Error("no error")
	}
}
