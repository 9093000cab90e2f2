package reorder

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/griffin-search/griffin/internal/base"
)

// Options of Bisect; zero has the defaults.
type Options struct {
	// Threads is the number of goroutines; 0: one per processor. It does not affect the result.
	Threads int
	// Documents up to LeafSize are not divided further; 0: 16.
	LeafSize int
	// MaxRounds bounds exchanges between a node's halves; 0: 20.
	MaxRounds int
	// Progress, if set, is called from time to time, from any goroutine, with the work done and
	// in total (documents times levels).
	Progress func(done, total int64)
}

func (o *Options) fill() {
	if o.Threads <= 0 {
		o.Threads = runtime.GOMAXPROCS(0)
	}
	if o.LeafSize <= 0 {
		o.LeafSize = 16
	}
	if o.MaxRounds <= 0 {
		o.MaxRounds = 20
	}
}

// MemoryBytes returns Bisect's memory besides the forward index.
func MemoryBytes(numDocs, numTerms, threads int) int64 {
	return int64(numDocs)*(4+4+8) + int64(numTerms)*(termStateBytes+4)*int64(max(threads, 1))
}

// Bisect returns the new order: document order[i] gets DocID i. It is a permutation,
// independent of threads.
//
// The error is ErrBadInput if f is not well formed, or ctx's.
func Bisect(ctx context.Context, f *Forward, opts Options) (order []base.DocID, err error) {
	opts.fill()
	if err := f.Validate(); err != nil {
		return nil, err
	}
	n := f.NumDocs()
	order = make([]base.DocID, n)
	for i := range order {
		order[i] = base.DocID(i)
	}
	levels := int64(0)
	for size := n; size > opts.LeafSize; size = (size + 1) / 2 {
		levels++
	}
	b := &bisection{
		ctx: ctx, f: f, opts: opts, total: levels * int64(n),
		gain: make([]float32, n),
	}
	b.node(order, b.gain, newScratch(f), opts.Threads)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return order, nil
}

type bisection struct {
	ctx   context.Context
	f     *Forward
	opts  Options
	gain  []float32 // by position in order
	done  atomic.Int64
	total int64
}

type termState struct {
	left, right uint32 // documents of each half that contain the term
	gains
}

const termStateBytes = 16

type scratch struct {
	terms   []termState // by term; all zero between nodes
	touched []uint32    // terms of the current node
	// Candidates for an exchange, as sortable keys.
	fromLeft, fromRight []uint64
}

func newScratch(f *Forward) *scratch {
	return &scratch{terms: make([]termState, f.NumTerms)}
}

// node divides docs into two halves that share few terms, and recurses, with up to threads
// goroutines. gain has the length of docs; s is the caller's.
func (b *bisection) node(docs []base.DocID, gain []float32, s *scratch, threads int) {
	if len(docs) <= b.opts.LeafSize {
		slices.Sort(docs)
		return
	}
	half := len(docs) / 2
	b.count(docs, half, s)
	for range b.opts.MaxRounds {
		if b.ctx.Err() != nil {
			return
		}
		if b.round(docs, gain, half, s, threads) == 0 {
			break
		}
	}
	for _, t := range s.touched {
		s.terms[t] = termState{}
	}
	s.touched = s.touched[:0]
	if done := b.done.Add(int64(len(docs))); b.opts.Progress != nil {
		b.opts.Progress(done, b.total)
	}
	if threads <= 1 {
		b.node(docs[:half], gain[:half], s, 1)
		b.node(docs[half:], gain[half:], s, 1)
		return
	}
	var wait sync.WaitGroup
	wait.Go(func() { b.node(docs[half:], gain[half:], newScratch(b.f), threads/2) })
	b.node(docs[:half], gain[:half], s, threads-threads/2)
	wait.Wait()
}

func (b *bisection) count(docs []base.DocID, half int, s *scratch) {
	for i, doc := range docs {
		for _, t := range b.f.Doc(uint32(doc)) {
			st := &s.terms[t]
			if st.left|st.right == 0 {
				s.touched = append(s.touched, t)
			}
			if i < half {
				st.left++
			} else {
				st.right++
			}
		}
	}
}

// round exchanges the documents with the greatest gains, pair by pair, while a pair gains, and
// returns the number of pairs (KDD 2016, algorithm 1).
func (b *bisection) round(docs []base.DocID, gain []float32, half int, s *scratch, threads int) int {
	logLeft, logRight := log2(uint32(half)), log2(uint32(len(docs)-half))
	parallel(threads, len(s.touched), func(lo, hi int) {
		for _, t := range s.touched[lo:hi] {
			st := &s.terms[t]
			st.gains = termGains(st.left, st.right, logLeft, logRight)
		}
	})
	parallel(threads, len(docs), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			var sum float32
			if terms := b.f.Doc(uint32(docs[i])); i < half {
				for _, t := range terms {
					sum += s.terms[t].toRight
				}
			} else {
				for _, t := range terms {
					sum += s.terms[t].toLeft
				}
			}
			gain[i] = sum
		}
	})
	// Only a document that gains together with the other half's best can take part.
	bestLeft, bestRight := slices.Max(gain[:half]), slices.Max(gain[half:])
	s.fromLeft = appendCandidates(s.fromLeft[:0], gain[:half], bestRight)
	s.fromRight = appendCandidates(s.fromRight[:0], gain[half:], bestLeft)
	pairs := 0
	for pairs < min(len(s.fromLeft), len(s.fromRight)) {
		l, r := int(uint32(s.fromLeft[pairs])), half+int(uint32(s.fromRight[pairs]))
		if gain[l]+gain[r] <= 0 {
			break
		}
		for _, t := range b.f.Doc(uint32(docs[l])) {
			s.terms[t].left--
			s.terms[t].right++
		}
		for _, t := range b.f.Doc(uint32(docs[r])) {
			s.terms[t].left++
			s.terms[t].right--
		}
		docs[l], docs[r] = docs[r], docs[l]
		pairs++
	}
	return pairs
}

// Keys, by gain descending, then position, of positions whose gain plus the other half's best
// is positive.
func appendCandidates(keys []uint64, gain []float32, best float32) []uint64 {
	for i, g := range gain {
		if g+best > 0 {
			keys = append(keys, uint64(^sortable(g))<<32|uint64(uint32(i)))
		}
	}
	slices.Sort(keys)
	return keys
}

// In up to threads contiguous ranges.
func parallel(threads, n int, f func(lo, hi int)) {
	const least = 4096 // below this, a goroutine costs more than it saves
	threads = min(threads, n/least)
	if threads <= 1 {
		f(0, n)
		return
	}
	var wait sync.WaitGroup
	for i := 1; i < threads; i++ {
		wait.Go(func() { f(i*n/threads, (i+1)*n/threads) })
	}
	f(0, n/threads)
	wait.Wait()
}
