package packedsearch

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/decode"
	"github.com/griffin-search/griffin/internal/gpu/imagesearch"
)

// Limits is the initial capacity of a Runner. For a larger query, it waits for the device
// and allocates more.
type Limits struct {
	// Blocks of a query's lists whose directories are in host memory.
	Blocks int
	// Length of From or, without From, the DocFreq of the first list.
	Candidates int
}

// Runner runs one query at a time. It allocates only if a query is larger than all before.
// Not safe for concurrent use.
type Runner struct {
	kernels *Kernels
	// Finish polls this long before it waits in the driver.
	wait time.Duration

	// Page-locked; kernels access it over the bus.
	result cuda.HostBuffer[result]
	hits   cuda.HostBuffer[uint64]
	from   cuda.HostBuffer[uint32] // DocIDs, then scores, of the initial candidates
	out    cuda.HostBuffer[uint32] // DocIDs, scores, and counts by group of the remaining candidates
	// On the device.
	state       cuda.Buffer[state] // all 0 between launches, unless failed
	keys        cuda.Buffer[uint64]
	directories cuda.Buffer[uint32]

	params   searchParams
	copies   copyParams
	stream   *cuda.Stream // of the running query, or nil
	searched *kernel      // of the last query
	base     base.DocID
	count    bool
	launches uint32
	failed   bool
}

// runnerWait exceeds the time of all but the longest queries.
const runnerWait = 5 * time.Millisecond

// NewRunner allocates the memory of a Runner.
func (k *Kernels) NewRunner(limits Limits) (*Runner, error) {
	if limits.Blocks < 0 || limits.Candidates < 0 {
		return nil, fmt.Errorf("runner of %+v: %w", limits, base.ErrBadInput)
	}
	r := &Runner{kernels: k, wait: runnerWait, failed: true}
	if err := r.allocate(limits); err != nil {
		return nil, errors.Join(fmt.Errorf("runner of %+v: %w", limits, err), r.Close())
	}
	return r, nil
}

func (r *Runner) allocate(limits Limits) (err error) {
	d := r.kernels.device
	if r.result, err = cuda.AllocHost[result](d, 1); err != nil {
		return err
	}
	if r.hits, err = cuda.AllocHost[uint64](d, MaxK); err != nil {
		return err
	}
	if r.state, err = cuda.Alloc[state](d, 1); err != nil {
		return err
	}
	if err = cuda.Grow(d, &r.keys, 100*r.most(), cuda.Alloc[uint64]); err != nil {
		return err
	}
	if err = cuda.Grow(d, &r.directories, limits.Blocks*decode.EntryWords, cuda.Alloc[uint32]); err != nil {
		return err
	}
	if err = cuda.Grow(d, &r.from, 2*limits.Candidates, cuda.AllocHost[uint32]); err != nil {
		return err
	}
	return cuda.Grow(d, &r.out, outWords(limits.Candidates, minGroup), cuda.AllocHost[uint32])
}

// most is the maximum number of blocks of a launch with hits.
func (r *Runner) most() int {
	return max(r.kernels.anyScored.resident[0], r.kernels.all.resident[0])
}

// outWords returns the words for candidates in groups of groupSize.
func outWords(candidates, groupSize int) int {
	groups := (candidates + groupSize - 1) / groupSize
	return groups * (2*groupSize + 1)
}

// Close frees the memory. No query may be running.
func (r *Runner) Close() error {
	return errors.Join(
		r.result.Free(), r.hits.Free(), r.from.Free(), r.out.Free(),
		r.state.Free(), r.keys.Free(), r.directories.Free(),
	)
}

// Run answers a query over a segment, in a stream with no other work. It appends the best K hits
// to dst, best first. matches is the number of matches if q.Count is set. If out is not nil, it
// is set, in its own memory, to the remaining candidates if q.K is 0 and q is Conjunctive,
// otherwise to none. Errors wrap ErrUnsuited or base.ErrBadInput, or are the device's; then out
// is undefined.
func (r *Runner) Run(s *cuda.Stream, seg imagesearch.Segment, q *Query, dst []base.Hit, out *Candidates) (hits []base.Hit, matches int64, err error) {
	if err := r.begin(s, seg, q, q.K == 0 && q.Conjunctive && out != nil); err != nil {
		return dst, 0, err
	}
	return r.Finish(dst, out)
}

// Finish waits for the query of Start and returns its answer, as Run. The launch can end
// later: its memory is free only after the stream's work has ended.
func (r *Runner) Finish(dst []base.Hit, out *Candidates) (hits []base.Hit, matches int64, err error) {
	if r.stream == nil {
		return dst, 0, fmt.Errorf("no query is under way: %w", base.ErrBadInput)
	}
	stream := r.stream
	r.stream = nil
	if err := r.await(stream); err != nil {
		r.failed = true
		return dst, 0, err
	}
	answer := &r.result.Data()[0]
	for _, key := range r.hits.Data()[:answer.numHits] {
		dst = append(dst, base.Hit{DocID: r.base + base.DocID(^uint32(key)), Score: base.Score(key >> 32)})
	}
	if r.count {
		matches = int64(answer.count)
	}
	if out != nil {
		r.gather(out)
	}
	return dst, matches, nil
}

// gather sets out to the candidates that remain in the groups.
func (r *Runner) gather(out *Candidates) {
	out.DocIDs, out.Scores = out.DocIDs[:0], out.Scores[:0]
	if r.params.outDocIDs == 0 {
		return
	}
	size, groups := int(r.params.groupSize), int(r.params.numGroups)
	words := r.out.Data()
	for g, n := range words[2*groups*size:][:groups] {
		out.DocIDs = append(out.DocIDs, words[g*size:][:n]...)
		out.Scores = append(out.Scores, words[(groups+g)*size:][:n]...)
	}
}

// Stats returns the work of the last query, after Finish.
func (r *Runner) Stats() Stats {
	w := &r.result.Data()[0].work
	return Stats{Blocks: int64(w[0]), Bytes: int64(w[1]) * 16, Ranges: int64(w[2])}
}

// Launches visits the kernels of the last query, in order.
func (r *Runner) Launches(visit func(kernel string)) {
	if r.copies.numCopies > 0 {
		visit(r.kernels.copy.Name())
	}
	if r.searched != nil {
		visit(r.searched.Name())
	}
}

func (r *Runner) await(stream *cuda.Stream) error {
	done := &r.result.Data()[0].done
	for start := time.Now(); ; {
		for range 256 {
			if atomic.LoadUint32(done) == r.launches {
				return nil
			}
		}
		if time.Since(start) > r.wait {
			return r.synchronized(stream, done)
		}
	}
}

func (r *Runner) synchronized(stream *cuda.Stream, done *uint32) error {
	if err := stream.Synchronize(); err != nil {
		return err
	}
	if atomic.LoadUint32(done) != r.launches {
		return errors.New("packedsearch: a launch has ended without an answer")
	}
	return nil
}
