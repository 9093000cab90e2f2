package packedsearch

import (
	"errors"
	"fmt"
	"math"
	"math/bits"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/decode"
	"github.com/griffin-search/griffin/internal/gpu/imagesearch"
	"github.com/griffin-search/griffin/internal/score"
)

// Start launches a query in a stream, which gets no other work until Finish. If the query
// returns candidates, Finish must get memory for them. Errors are as for Run; after an error,
// do not call Finish.
func (r *Runner) Start(s *cuda.Stream, seg imagesearch.Segment, q *Query) error {
	return r.begin(s, seg, q, q.K == 0 && q.Conjunctive)
}

// begin is Start; gather requests candidates.
func (r *Runner) begin(s *cuda.Stream, seg imagesearch.Segment, q *Query, gather bool) error {
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
	p.filter = q.Filter.Ptr()
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
	if err := r.launch(s, q, gather); err != nil { // a copy of directories may be running
		return errors.Join(err, s.Synchronize())
	}
	r.failed, r.stream = false, s
	return nil
}

// prepare clears the state if the previous launch failed. failed stays true until this
// launch succeeds.
func (r *Runner) prepare(s *cuda.Stream) error {
	if r.failed {
		if err := cuda.Fill(s, r.state, 0); err != nil {
			return err
		}
	}
	r.failed = true
	r.launches++
	if r.launches == 0 { // the initial value of done
		r.launches++
	}
	r.result.Data()[0] = result{}
	r.params.state, r.params.result, r.params.hits = r.state.Ptr(), r.result.DevicePtr(), r.hits.DevicePtr()
	return nil
}

// placeLists writes the lists to the parameters and launches the copy of directories in
// host memory.
func (r *Runner) placeLists(s *cuda.Stream, q *Query) error {
	entries := 0
	for i := range q.Lists {
		if q.Lists[i].DirectoryOnHost {
			entries += q.Lists[i].List.NumBlocks()
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
			c.numEntries += uint32(l.List.NumBlocks())
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

func (l *List) put(p *listParams) {
	*p = listParams{
		payload: l.Payload, directory: l.Directory, lengths: l.Lengths, worth: worth(l.Scale),
		weight: l.Term.Weight, c0: l.Term.C0, c1: l.Term.C1,
		numBlocks: uint32(l.List.NumBlocks()), docFreq: l.DocFreq(), maxScore: uint32(min(l.Scale.Upper(l.List.Max), math.MaxUint32)),
	}
	if l.Term.Linear {
		p.linear = 1
	}
}

// worth returns the score of a step of a bound in units of 2^-16: b*worth>>16 + 1 is at least
// scale.Upper(b) for each bound b.
func worth(scale score.Scale) uint64 {
	// Upper(MaxBound) exceeds MaxBound times the factor of the scale.
	whole := uint64(scale.Upper(score.MaxBound))
	return (whole<<16 + uint64(score.MaxBound) - 1) / uint64(score.MaxBound)
}

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

func (r *Runner) launchAll(s *cuda.Stream, q *Query, gather bool) error {
	p := &r.params
	n := int(q.Lists[0].DocFreq())
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

// takeFrom copies the initial candidates to page-locked memory.
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

// makeOut allocates for up to n remaining candidates in groups of size.
func (r *Runner) makeOut(s *cuda.Stream, n, size int) error {
	if outWords(n, size) <= r.out.Len() {
		return nil
	}
	if err := s.Synchronize(); err != nil {
		return err
	}
	return cuda.Grow(r.kernels.device, &r.out, outWords(n, size), cuda.AllocHost[uint32])
}

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
