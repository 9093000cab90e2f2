package imagesearch

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/base"
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

// A kernel that stays takes the next query from the mailbox, and no query that it has seen. In the emulator, whose blocks
// run one after another, it has one block, and leaves when the mailbox is empty.
func TestStayReceives(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 15))
	c := randomCollection(t, rng, 3000, 4, false, 9)
	c.toDevice()
	c.kernels.residentOne = 1
	s, err := c.kernels.NewSingle(0)
	must(t, err)
	defer func() { must(t, s.Close()) }()
	s.SetStay(true)
	var queries [2]testQuery
	var params [2]fewParams
	for i := range queries {
		queries[i] = c.query(Or, 10, nil, c.Saturation.AvgLen, i, i+1)
		must(t, s.Search(c.Stream, c.segment, &queries[i].gpu))
		queries[i].compare(t, "launched", c, s.AppendHits(nil), 0)
		params[i] = s.few
	}
	must(t, c.Stream.Synchronize())
	posted := params[1]
	for _, ahead := range []uint32{1, 2, 0} { // 2 as after 2^32-1, 0: the query that was launched
		s.batch.launches += 10
		params[0].search.launch = s.batch.launches
		s.batch.launches += ahead
		posted.search.launch = s.batch.launches
		clear(s.answer.Data())
		s.stay.post(&posted)
		must(t, s.stay.launch(c.Stream, &params[0], 1))
		must(t, c.Stream.Synchronize())
		if !s.arrived() {
			t.Fatalf("%d ahead: no answer", ahead)
		}
		queries[min(ahead, 1)].compare(t, "posted", c, s.AppendHits(nil), 0)
		if last, left := s.stay.hasLeft(); !left || last != s.batch.launches {
			t.Errorf("the kernel has left: %t, after query %d of %d", left, last, s.batch.launches)
		}
	}
}

// A query that the kernel did not see any more is launched, and so is one after the device was asked for room.
func TestStayMissed(t *testing.T) {
	rng := rand.New(rand.NewPCG(16, 16))
	c := randomCollection(t, rng, 3000, 4, false, 9)
	c.toDevice()
	s, err := c.kernels.NewSingle(0)
	must(t, err)
	defer func() { must(t, s.Close()) }()
	s.SetStay(true)
	q := c.query(Or, 10, nil, c.Saturation.AvgLen, 0, 1)
	search := func(beside func() bool) {
		t.Helper()
		must(t, s.SearchBeside(c.Stream, c.segment, &q.gpu, beside))
		q.compare(t, "single", c, s.AppendHits(nil), 0)
	}
	search(nil)
	if s.stay.generation.Load() != 0 {
		t.Error("the kernel stays after a first query")
	}
	search(nil)
	must(t, c.Stream.Synchronize())
	generation := s.stay.generation.Load()
	before := uint64(generation)<<32 | uint64(s.batch.launches)
	s.stay.left.Data()[0] = 0 // as if it were still there
	if !s.stay.stays() {
		t.Fatal("the kernel does not stay")
	}
	posted, calls := false, 0
	search(func() bool {
		calls++
		posted = posted || s.stay.posted
		s.stay.left.Data()[0] = before
		return false
	})
	if calls != 1 {
		t.Errorf("%d calls of a function that has nothing more to do", calls)
	}
	if !posted || s.stay.generation.Load() != generation+1 {
		t.Errorf("posted: %t; generation %d after %d", posted, s.stay.generation.Load(), generation)
	}
	must(t, c.Stream.Synchronize())
	s.stay.left.Data()[0] = 0
	for _, stays := range []bool{true, false} {
		if s.stay.stays() != stays {
			t.Errorf("the kernel stays: %t", !stays)
		}
		s.SetStay(false)
		search(nil) // another kernel
	}
}

// On a GPU, queries one after another are posted; the kernel leaves when it is idle, and for another kernel.
func TestStays(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 17))
	c := randomCollection(t, rng, 20_000, 6, false, 9)
	c.compact = 0 // packed lists have other kernels
	c.toDevice()
	s, err := c.kernels.NewSingle(0)
	must(t, err)
	defer func() { must(t, s.Close()) }()
	posted, launched, searching := 0, 0, time.Duration(0)
	for range 20 {
		var queries []testQuery
		for range 20 {
			queries = append(queries, c.query(Or, 10, nil, c.Saturation.AvgLen, pick(rng, 2+rng.IntN(3), 6)...))
		}
		queries = append(queries, c.query(Or, sentHits+1, nil, c.Saturation.AvgLen, 0, 1)) // another kernel
		hits := make([][]base.Hit, len(queries))
		for i := range queries {
			s.SetStay(rng.IntN(10) > 0)
			began := time.Now()
			must(t, s.Search(c.Stream, c.segment, &queries[i].gpu))
			searching += time.Since(began)
			hits[i] = s.AppendHits(nil)
			if s.stay.posted {
				posted++
			} else {
				launched++
			}
		}
		for i := range queries {
			queries[i].compare(t, "single", c, hits[i], 0)
		}
	}
	t.Logf("%d queries posted, %d launched, %v", posted, launched, searching)
	isSlow := searching > time.Duration(posted+launched)*time.Millisecond // in the emulator, or with a sanitizer
	if !isSlow && (posted < 100 || launched < 20) {
		t.Error("want many posted, and some launched")
	}
	must(t, c.Stream.Synchronize())
	if s.stay.stays() {
		t.Error("the kernel stays after its stream has ended")
	}
}
