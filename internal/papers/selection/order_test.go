package selection_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/papers/scoring"
	"github.com/griffin-search/griffin/internal/papers/selection"
	"github.com/griffin-search/griffin/internal/score"
	"github.com/griffin-search/griffin/internal/topk"
)

func (b *bench) hits(m selection.Method, in *input, k int) []base.Hit {
	b.Helper()
	scratch, err := b.selector.NewScratch(len(in.scores), k, m)
	b.Must(err)
	out := gputest.Alloc[selection.Key](b.Session, k)
	b.Must(b.selector.Select(b.Stream, m, in.source(b), k, out, scratch))
	keys := gputest.Download(b.Session, out)
	b.Must(scratch.Free())
	return selection.AppendHits(nil, keys)
}

// Of any selection: a smaller k gives a prefix; the order of the array does not
// matter; merged results of parts equal the whole; a document that is worse
// than all hits changes nothing.
func TestOrderRules(t *testing.T) {
	b := newBench(t)
	rng := rand.New(rand.NewPCG(15, 16))
	for _, m := range selection.Methods() {
		for _, kind := range scoresOf[1:4] {
			const n, k = 900, 40
			in := input{scores: make([]uint32, n), docIDs: make([]uint32, n), least: 1}
			for i, d := range rng.Perm(3 * n)[:n] {
				in.scores[i], in.docIDs[i] = kind.score(rng, i, n), uint32(d)
			}
			whole := b.hits(m, &in, k)
			if more := b.hits(m, &in, k+1); !slices.Equal(whole, more[:min(k, len(more))]) {
				t.Errorf("%v %s: %d hits are not a prefix of %d", m, kind.name, k, k+1)
			}
			mixed := input{least: 1}
			for _, i := range rng.Perm(n) {
				mixed.scores, mixed.docIDs = append(mixed.scores, in.scores[i]), append(mixed.docIDs, in.docIDs[i])
			}
			if got := b.hits(m, &mixed, k); !slices.Equal(got, whole) {
				t.Errorf("%v %s: another order of the array gives other hits", m, kind.name)
			}
			var q topk.Queue
			q.Reset(k)
			cut := rng.IntN(n)
			for _, part := range []input{
				{scores: in.scores[:cut], docIDs: in.docIDs[:cut], least: 1},
				{scores: in.scores[cut:], docIDs: in.docIDs[cut:], least: 1},
			} {
				for _, h := range b.hits(m, &part, k) {
					q.Add(h)
				}
			}
			if got := q.AppendSorted(nil); !slices.Equal(got, whole) {
				t.Errorf("%v %s: parts, merged, give other hits than the whole", m, kind.name)
			}
			if len(whole) < k {
				continue
			}
			worst := whole[k-1]
			in.scores, in.docIDs = append(in.scores, uint32(worst.Score)), append(in.docIDs, uint32(3*n))
			if got := b.hits(m, &in, k); !slices.Equal(got, whole) {
				t.Errorf("%v %s: a document that is worse than all hits became a hit", m, kind.name)
			}
		}
	}
}

// AND, then OR if AND found fewer than k (ding09 §8.3): the kernels of the OR
// check the condition.
func TestAndThenOr(t *testing.T) {
	b := newBench(t)
	scorer, err := scoring.New(b.Device)
	b.Must(err)
	defer func() { b.Must(scorer.Close()) }()
	rng := rand.New(rand.NewPCG(17, 18))
	const k, numDocs = 10, 2000
	ran := map[bool]int{}
	for range 8 {
		q := randomLists(b, rng, numDocs)
		want, isAnd := q.oracle(k)
		ran[isAnd]++
		scratch, err := b.selector.NewScratch(numDocs, k, selection.Top)
		b.Must(err)
		out, matches := gputest.Alloc[selection.Key](b.Session, k), gputest.Upload(b.Session, []uint32{0})
		live := gputest.Upload(b.Session, q.live)

		sums := gputest.Alloc[uint32](b.Session, len(q.both))
		b.Must(scoring.Score(scorer, b.Stream, gputest.Upload(b.Session, q.candidateLists), scoring.Candidates{DocIDs: gputest.Upload(b.Session, q.both)}, sums))
		and := selection.Source[uint32]{Scores: sums, DocIDs: gputest.Upload(b.Session, q.both), Live: live}
		b.Must(b.selector.Count(b.Stream, and, matches))
		b.Must(b.selector.Select(b.Stream, selection.Top, and, k, out, scratch))

		unless := scoring.Unless{Matches: matches, Enough: k}
		accumulators := gputest.Alloc[uint32](b.Session, numDocs)
		b.Must(scoring.Clear(scorer, b.Stream, accumulators, unless))
		b.Must(scoring.AccumulateAll(scorer, b.Stream, gputest.Upload(b.Session, q.lists), numDocs, accumulators, unless))
		or := selection.Source[uint32]{Scores: accumulators, Live: live, LeastScore: 1, Matches: matches, Enough: k}
		b.Must(b.selector.Select(b.Stream, selection.Top, or, k, out, scratch))
		if got := selection.AppendHits(nil, gputest.Download(b.Session, out)); !slices.Equal(got, want) {
			t.Fatalf("AND enough: %t\n got %v\nwant %v", isAnd, got, want)
		}
		b.Must(scratch.Free())
	}
	if ran[true] == 0 || ran[false] == 0 {
		t.Errorf("AND was enough %d times, and not %d times", ran[true], ran[false])
	}
}

// On the host and on the device.
type twoLists struct {
	sums                  []base.Score // by document
	matches               []int
	both, live            []uint32
	lists, candidateLists []scoring.List
}

func randomLists(b *bench, rng *rand.Rand, numDocs int) twoLists {
	q := twoLists{sums: make([]base.Score, numDocs), matches: make([]int, numDocs), live: make([]uint32, (numDocs+31)/32)}
	for i := range q.live {
		q.live[i] = rng.Uint32() | 0xFFFF
	}
	lengths := make([]uint32, numDocs)
	for i := range lengths {
		lengths[i] = 1 + rng.Uint32N(500)
	}
	onDevice := gputest.Upload(b.Session, lengths)
	number := [2][]uint32{make([]uint32, numDocs), make([]uint32, numDocs)} // index of a document's posting
	var sources [2]scoring.Source
	for l := range sources {
		term := score.DefaultBM25.NewTerm(1+5*rng.Float64(), 1, 250)
		var docIDs, freqs []uint32
		for d, every := 0, 2+rng.IntN(40); d < numDocs; d += 1 + rng.IntN(every) {
			number[l][d] = uint32(len(docIDs))
			docIDs, freqs = append(docIDs, uint32(d)), append(freqs, 1+rng.Uint32N(9))
			q.sums[d] += term.Score(freqs[len(freqs)-1], lengths[d])
			q.matches[d]++
		}
		plain, err := scoring.PlainFreqs(gputest.Upload(b.Session, freqs))
		b.Must(err)
		sources[l] = scoring.Source{Term: term, Freqs: plain, DocIDs: gputest.Upload(b.Session, docIDs), Lengths: onDevice}
	}
	var places [2][]uint32
	for d, n := range q.matches {
		if n == 2 {
			q.both = append(q.both, uint32(d))
			places[0], places[1] = append(places[0], number[0][d]), append(places[1], number[1][d])
		}
	}
	for l, s := range sources {
		list, err := scoring.NewList(s)
		b.Must(err)
		s.Postings = gputest.Upload(b.Session, places[l])
		candidateList, err := scoring.NewList(s)
		b.Must(err)
		q.lists, q.candidateLists = append(q.lists, list), append(q.candidateLists, candidateList)
	}
	return q
}

// isAnd: AND found the hits.
func (q *twoLists) oracle(k int) (hits []base.Hit, isAnd bool) {
	for _, least := range []int{2, 1} {
		var best topk.Queue
		best.Reset(k)
		for d, n := range q.matches {
			if n >= least && q.live[d/32]>>(d%32)&1 != 0 {
				best.Add(base.Hit{DocID: base.DocID(d), Score: q.sums[d]})
			}
		}
		if hits = best.AppendSorted(nil); len(hits) == k || least == 1 {
			return hits, least == 2
		}
	}
	return nil, false // unreachable
}

func TestSelectAfterFaults(t *testing.T) {
	b := newBench(t)
	rng := rand.New(rand.NewPCG(19, 20))
	const k = 10
	for _, m := range selection.Methods() {
		in := input{scores: make([]uint32, 700), least: 1}
		if m == selection.Top {
			in.scores = make([]uint32, 16385)
		}
		for i := range in.scores {
			in.scores[i] = scoresOf[1].score(rng, i, len(in.scores))
		}
		source, want := in.source(b), in.oracle(k)
		scratch, err := b.selector.NewScratch(len(in.scores), k, m)
		b.Must(err)
		out := gputest.Alloc[selection.Key](b.Session, k)
		failed := 0
		for err := cuda.ErrOutOfMemory; err != nil; failed++ {
			faults := &cuda.Faults{}
			faults.Fail("cuLaunchKernel", failed+1, cuda.OutOfMemory)
			b.Device.InjectFaults(faults)
			err = b.selector.Select(b.Stream, m, source, k, out, scratch)
			b.Device.InjectFaults(nil)
			if err != nil && !errors.Is(err, cuda.ErrOutOfMemory) {
				t.Fatalf("%v: %v", m, err)
			}
			b.Must(b.selector.Select(b.Stream, m, source, k, out, scratch))
			if got := selection.AppendHits(nil, gputest.Download(b.Session, out)); !slices.Equal(got, want) {
				t.Fatalf("%v after launch %d has failed:\n got %v\nwant %v", m, failed+1, got, want)
			}
		}
		if failed < 3 { // there is no such launch the last time
			t.Errorf("%v: only %d launches could fail", m, failed-1)
		}
		b.Must(scratch.Free())
	}
}

func TestSelectAllocatesNothing(t *testing.T) {
	b := newBench(t)
	source := selection.Source[uint32]{Scores: gputest.Upload(b.Session, make([]uint32, 600))}
	scratch, err := b.selector.NewScratch(600, 10, selection.Methods()...)
	b.Must(err)
	defer func() { b.Must(scratch.Free()) }()
	out := gputest.Alloc[selection.Key](b.Session, 10)
	arrays := gputest.Alloc[selection.Array](b.Session, 0)
	for _, m := range selection.Methods() {
		if n := gputest.AllocsPerRun(2, func() { b.Must(b.selector.Select(b.Stream, m, source, 10, out, scratch)) }); n != 0 {
			t.Errorf("%v: %v allocations", m, n)
		}
	}
	if n := gputest.AllocsPerRun(2, func() { b.Must(b.selector.Arrays(b.Stream, arrays, 10, cuda.Buffer[selection.Key]{})) }); n != 0 {
		t.Errorf("arrays: %v allocations", n)
	}
}
