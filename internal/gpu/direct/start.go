package direct

import (
	"errors"
	"fmt"
	"math"
	"math/bits"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/decode"
	"github.com/griffin-search/griffin/internal/gpu/fastpath"
	"github.com/griffin-search/griffin/internal/score"
)

// Start puts a query into a stream. Nothing else is to be put into it until Finish,
// which is to ask for candidates if there are any. Errors are those of Run; after one
// there is nothing to finish.
func (r *Runner) Start(s *cuda.Stream, seg fastpath.Segment, q *Query) error {
	return r.begin(s, seg, q, q.K == 0 && q.Conjunctive)
}

// begin is Start; gather says whether candidates are wanted.
func (r *Runner) begin(s *cuda.Stream, seg fastpath.Segment, q *Query, gather bool) error {
	if r.stream != nil {
		return fmt.Errorf("a query is under way: %w", base.ErrBadInput)
	}
	most, err := q.check(&seg)
	if err != nil {
		return err
	}
	if err := r.prepare(s); err != nil {
		return err
	}
	p := &r.params
	p.numLists, p.numDocs, p.live = uint32(len(q.Lists)), uint32(seg.NumDocs), seg.Live.Ptr()
	p.k, p.threshold, p.capacity = uint32(q.K), q.threshold(&seg), uint32(capacity(q.K))
	p.flags, p.launch, p.bucketShift = 0, r.launches, 0
	if above := uint64(most) - uint64(p.threshold); uint64(most) > uint64(p.threshold) {
		p.bucketShift = uint32(max(bits.Len64(above)-bits.Len(numBuckets-1), 0))
	}
	if q.Count {
		p.flags |= flagCount
	}
	r.base, r.count = seg.Base, q.Count
	if err := r.placeLists(s, q); err != nil {
		return err
	}
	if err := r.launch(s, q, gather); err != nil { // directories may be being copied
		return errors.Join(err, s.Synchronize())
	}
	r.failed, r.stream = false, s
	return nil
}

// prepare readies the memory for a launch. Until a launch has not failed, the state is
// not known to be 0.
func (r *Runner) prepare(s *cuda.Stream) error {
	if r.failed {
		if err := cuda.Fill(s, r.state, 0); err != nil {
			return err
		}
	}
	r.failed = true
	r.launches++
	if r.launches == 0 { // what done is before the first
		r.launches++
	}
	r.result.Data()[0] = result{}
	r.params.state, r.params.result, r.params.hits = r.state.Ptr(), r.result.DevicePtr(), r.hits.DevicePtr()
	return nil
}

// placeLists writes the lists to the parameters, and copies directories that are in
// host memory.
func (r *Runner) placeLists(s *cuda.Stream, q *Query) error {
	entries := 0
	for i := range q.Lists {
		if q.Lists[i].DirectoryOnHost {
			entries += int(q.Lists[i].NumBlocks)
		}
	}
	if n := entries * decode.EntryWords; n > r.directories.Len() {
		if err := s.Synchronize(); err != nil {
			return err
		}
		if err := cuda.Grow(r.kernels.device, &r.directories, n, cuda.Alloc[uint32]); err != nil {
			return err
		}
	}
	c := &r.copies
	c.numCopies, c.numEntries = 0, 0
	for i := range q.Lists {
		l := &q.Lists[i]
		to := &r.params.lists[i]
		l.put(to)
		if l.DirectoryOnHost {
			to.directory = r.directories.Ptr() + cuda.Ptr[uint32](4*decode.EntryWords*c.numEntries)
			c.numEntries += l.NumBlocks
			c.copies[c.numCopies] = copyEntry{from: l.Directory, to: to.directory, upTo: c.numEntries}
			c.numCopies++
		}
	}
	if c.numCopies == 0 {
		return nil
	}
	grid := cuda.D1((int(c.numEntries) + threads - 1) / threads)
	return cuda.Launch(s, r.kernels.copy, grid, cuda.D1(threads), 0, c)
}

// put writes the list as the kernels read it.
func (l *List) put(p *listParams) {
	*p = listParams{
		payload: l.Payload, directory: l.Directory, lengths: l.Lengths, worth: worth(l.Scale),
		weight: l.Score.Weight, c0: l.Score.C0, c1: l.Score.C1,
		numBlocks: l.NumBlocks, docFreq: l.DocFreq, maxScore: uint32(min(l.Scale.Upper(l.Max), math.MaxUint32)),
	}
	if l.Score.Linear {
		p.linear = 1
	}
}

// worth is what a step of a bound is worth in units of 2^-16: with it b*worth>>16 + 1
// is at least scale.Upper(b) for every bound b.
func worth(scale score.Scale) uint64 {
	// Upper(MaxBound) is more than MaxBound times the factor of the scale.
	whole := uint64(scale.Upper(score.MaxBound))
	return (whole<<16 + uint64(score.MaxBound) - 1) / uint64(score.MaxBound)
}

// launch launches the search.
func (r *Runner) launch(s *cuda.Stream, q *Query, gather bool) error {
	p := &r.params
	if q.Conjunctive {
		return r.launchAll(s, q, gather)
	}
	p.fromDocIDs, p.fromScores, p.outDocIDs, p.outScores, p.outCounts = 0, 0, 0, 0, 0
	k := &r.kernels.anyScored
	if q.K == 0 {
		k = &r.kernels.anyCount
	}
	ranges := int((int64(p.numDocs) + rangeDocs - 1) / rangeDocs)
	resident := k.residentFor(int(p.capacity))
	each := (ranges + resident - 1) / resident
	p.numGroups, p.groupSize = uint32(ranges), uint32(each)
	return r.start(s, k, (ranges+each-1)/each)
}

// launchAll launches a conjunction.
func (r *Runner) launchAll(s *cuda.Stream, q *Query, gather bool) error {
	p := &r.params
	n := int(q.Lists[0].DocFreq)
	p.fromDocIDs, p.fromScores = 0, 0
	if q.From != nil {
		n = len(q.From.DocIDs)
		if err := r.takeFrom(s, q.From); err != nil {
			return err
		}
	}
	resident := r.kernels.all.residentFor(int(p.capacity))
	size := groupSize(n, resident)
	groups := (n + size - 1) / size
	p.numFrom, p.groupSize, p.numGroups = uint32(n), uint32(size), uint32(groups)
	p.outDocIDs, p.outScores, p.outCounts = 0, 0, 0
	if gather {
		if err := r.makeOut(s, n, size); err != nil {
			return err
		}
		out := r.out.DevicePtr()
		p.outDocIDs, p.outScores = out, out+cuda.Ptr[uint32](4*groups*size)
		p.outCounts = out + cuda.Ptr[uint32](8*groups*size)
	}
	if q.K > 0 || p.outDocIDs != 0 {
		p.flags |= flagScore
	}
	return r.start(s, &r.kernels.all, max(min(groups, resident), 1))
}

// takeFrom copies the candidates to begin with to page-locked memory.
func (r *Runner) takeFrom(s *cuda.Stream, from *Candidates) error {
	n := len(from.DocIDs)
	if 2*n > r.from.Len() {
		if err := s.Synchronize(); err != nil {
			return err
		}
		if err := cuda.Grow(r.kernels.device, &r.from, 2*n, cuda.AllocHost[uint32]); err != nil {
			return err
		}
	}
	words := r.from.Data()
	copy(words[copy(words, from.DocIDs):], from.Scores)
	r.params.fromDocIDs = r.from.DevicePtr()
	r.params.fromScores = r.params.fromDocIDs + cuda.Ptr[uint32](4*n)
	return nil
}

// makeOut makes room for the candidates that may be left of n.
func (r *Runner) makeOut(s *cuda.Stream, n, size int) error {
	if outWords(n, size) <= r.out.Len() {
		return nil
	}
	if err := s.Synchronize(); err != nil {
		return err
	}
	return cuda.Grow(r.kernels.device, &r.out, outWords(n, size), cuda.AllocHost[uint32])
}

// start starts a search kernel on so many blocks.
func (r *Runner) start(s *cuda.Stream, k *kernel, blocks int) error {
	if n := blocks * int(r.params.k); n > r.keys.Len() {
		if err := s.Synchronize(); err != nil {
			return err
		}
		if err := cuda.Grow(r.kernels.device, &r.keys, n, cuda.Alloc[uint64]); err != nil {
			return err
		}
	}
	r.params.keys, r.searched = r.keys.Ptr(), k
	shared := k.sharedBytes(int(r.params.capacity))
	return cuda.Launch(s, k.Kernel, cuda.D1(blocks), cuda.D1(threads), shared, &r.params)
}
