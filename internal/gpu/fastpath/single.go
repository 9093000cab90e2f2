package fastpath

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
)

// Single answers one query at a time on all of the device, in the least time. Its
// parameters travel with the launch, and the host sees the answer in page-locked
// memory without a call into the driver. It belongs to one goroutine at a time.
type Single struct {
	batch *Batch
	// wait is how long Search looks at the memory before it waits in the driver.
	wait time.Duration
	one  oneParams
	few  fewParams
	// answer is what queries by ranges write: answerHead words, and two for each hit.
	answer cuda.HostBuffer[uint64]
	// retried is the stream of the last query, if that was AndOr: its last launch may have
	// nothing to do, says so, and still has blocks to begin, which read the query's result.
	retried *cuda.Stream
	// timed says that events are recorded around the launches.
	timed bool
}

// singleWait is more than all but the longest queries take.
const singleWait = 5 * time.Millisecond

// NewSingle allocates the memory for queries that ask for at most docIDs DocIDs.
func (k *Kernels) NewSingle(docIDs int) (*Single, error) {
	b, err := k.NewBatch(Limits{Queries: 1, Terms: 2 * MaxTerms, Hits: MaxK, DocIDs: docIDs})
	if err != nil {
		return nil, err
	}
	s := &Single{batch: b, wait: singleWait}
	if s.answer, err = cuda.AllocHost[uint64](k.device, answerHead+2*MaxK); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	clear(s.answer.Data()) // it may have been that of another Single, with the same launches
	return s, nil
}

// Close frees the memory.
func (s *Single) Close() error { return errors.Join(s.batch.Close(), s.answer.Free()) }

// Search answers a query over a segment, in a stream that it has for itself, and
// returns when the answer is there. Errors are those of Batch.Add and of the device.
func (s *Single) Search(stream *cuda.Stream, segment Segment, q *Query) error {
	b := s.batch
	if s.retried != nil {
		if err := s.retried.Synchronize(); err != nil {
			return err
		}
		s.retried = nil
	}
	b.Reset(segment)
	if _, err := b.Add(q); err != nil {
		return err
	}
	if q.K == 0 && q.Want == 0 {
		return nil // nothing is asked for
	}
	if q.Mode == AndOr {
		s.retried = stream
	}
	if err := s.launch(stream); err != nil {
		return abandon(stream, err)
	}
	return s.await(stream)
}

// AppendHits appends the hits to dst, best first.
func (s *Single) AppendHits(dst []base.Hit) []base.Hit { return s.batch.AppendHits(dst, 0) }

// Count returns the number of documents that match, if it was asked for.
func (s *Single) Count() uint64 { return s.batch.Count(0) }

// DocIDs returns the DocIDs that match, if they were asked for, as Batch.DocIDs.
func (s *Single) DocIDs() cuda.Buffer[uint32] { return s.batch.DocIDs(0) }

// Stats returns the work of the query.
func (s *Single) Stats() Stats { return s.batch.Stats(0) }

// SetTimed says whether the device's time is measured, which costs some microseconds.
func (s *Single) SetTimed(timed bool) { s.timed = timed }

// Elapsed is the device's time for the last query, if it is measured. It waits for
// the end of the launch, which is later than the answer.
func (s *Single) Elapsed() (time.Duration, error) {
	if err := s.batch.Wait(); err != nil {
		return 0, err
	}
	return s.batch.Elapsed()
}

// launch puts the query into the stream.
func (s *Single) launch(stream *cuda.Stream) error {
	b := s.batch
	b.launches++
	if b.launches == 0 { // what done is before the first; words of the launches before are forgotten
		b.launches++
		clear(s.answer.Data())
	}
	if s.timed {
		if err := stream.Record(b.begun); err != nil {
			return err
		}
	}
	if err := s.launchJobs(stream); err != nil || !s.timed {
		return err
	}
	return stream.Record(b.ended)
}

func (s *Single) launchJobs(stream *cuda.Stream) error {
	b := s.batch
	last, keys := 0, 0
	for kind, jobs := range b.jobs {
		for i := range jobs {
			last = kind
			jobs[i].splits = uint32(s.splits(kind, &jobs[i]))
			keys = b.split(&b.queries.Data()[jobs[i].query], jobs[i].splits, keys)
		}
	}
	if err := b.prepare(stream); err != nil {
		return err
	}
	for kind, jobs := range b.jobs {
		for i := range jobs {
			if err := s.launchOne(stream, kind, &jobs[i], kind == last); err != nil {
				return err
			}
		}
	}
	b.failed = false
	return nil
}

// splits is how many blocks a job gets: all that run at a time, if it has work for
// them.
func (s *Single) splits(kind int, j *job) int {
	b := s.batch
	n := b.maxSplits(&b.queries.Data()[j.query])
	if kind == jobProbe {
		n = int(min(j.cost*(probeBlock/threads/2), uint64(b.kernels.residentOne)))
	}
	return min(n, b.kernels.residentOne)
}

// launchOne launches a job; the last one tells the host that all is done.
func (s *Single) launchOne(stream *cuda.Stream, kind int, j *job, last bool) error {
	b := s.batch
	supers := numSupers(b.segment.NumDocs)
	p := b.params((supers + int(j.splits) - 1) / int(j.splits))
	if last {
		p.launch = b.launches
	}
	q := &b.queries.Data()[j.query]
	kernel := b.kernels.kernelOne(kind, q)
	if kernel == nil {
		from := kind * (b.limits.Queries + b.kernels.spareBlocks())
		for split := range j.splits {
			b.blocks.Data()[from+int(split)] = blockParams{j.query, split}
		}
		p.blocks = b.blocks.DevicePtr() + cuda.Ptr[blockParams](8*from)
		return b.start(stream, b.kernels.kernel(kind), int(j.splits), &p)
	}
	if kind != jobProbe {
		p.window, p.answer = 0, s.answer.DevicePtr()
	}
	terms := b.terms.Data()[q.firstTerm:][:q.numTerms]
	if kernel == b.kernels.rangesFew {
		copy(s.few.terms[:], terms)
		return launchAlone(stream, kernel, int(j.splits), &s.few, &s.few.search, &s.few.query, &p, q)
	}
	copy(s.one.terms[:], terms)
	return launchAlone(stream, kernel, int(j.splits), &s.one, &s.one.search, &s.one.query, &p, q)
}

// launchAlone launches a query whose parameters all, which hold search and query, have
// their terms already.
func launchAlone[P any](stream *cuda.Stream, kernel *cuda.Kernel, blocks int, all *P, search *searchParams, query *queryParams, p *searchParams, q *queryParams) error {
	*search, *query = *p, *q
	query.firstTerm = 0
	shared := sharedBytes(int(p.maxTerms), int(p.window), int(p.capacity))
	if err := kernel.SetMaxShared(shared); err != nil {
		return err
	}
	return cuda.Launch(stream, kernel, cuda.D1(blocks), cuda.D1(threads), shared, all)
}

// kernelOne returns the kernel that takes a query of a kind of job along, or nil.
func (k *Kernels) kernelOne(kind int, q *queryParams) *cuda.Kernel {
	switch {
	case q.numTerms > maxOneTerms:
		return nil
	case kind == jobProbe:
		return k.probeOne
	case kind != jobRanges && kind != jobRetry:
		return nil
	case q.numTerms <= maxFewTerms:
		return k.rangesFew
	}
	return k.rangesOne
}

// await waits for the answer.
func (s *Single) await(stream *cuda.Stream) error {
	done := &s.batch.results.Data()[0].done
	for start := time.Now(); ; {
		for range 256 {
			if atomic.LoadUint32(done) == s.batch.launches || s.arrived() {
				return nil
			}
		}
		if time.Since(start) > s.wait {
			return s.synchronized(stream, done)
		}
	}
}

// synchronized waits in the driver.
func (s *Single) synchronized(stream *cuda.Stream, done *uint32) error {
	if err := stream.Synchronize(); err != nil {
		return err
	}
	if atomic.LoadUint32(done) == s.batch.launches || s.arrived() {
		return nil
	}
	return errors.New("fastpath: a launch has ended without an answer")
}

// arrived returns whether all words of an answer are there. If so, it puts them where
// the hits of a batch are.
func (s *Single) arrived() bool {
	words, launch := s.answer.Data(), s.batch.launches
	n, ok := word(&words[0], launch)
	if !ok {
		return false
	}
	r := &s.batch.results.Data()[0]
	for i, to := range []*uint32{&r.supers, &r.ranges, &r.candidates, &r.rounds} {
		if *to, ok = word(&words[1+i], launch); !ok {
			return false
		}
	}
	hits := s.batch.hits.Data()
	for i := range int(n) {
		score, ok := word(&words[answerHead+2*i], launch)
		if !ok {
			return false
		}
		low, ok := word(&words[answerHead+2*i+1], launch)
		if !ok {
			return false
		}
		hits[i] = uint64(score)<<32 | uint64(low)
	}
	r.numHits = n
	return true
}

// word returns a word of an answer, and whether it is that of a launch.
func word(w *uint64, launch uint32) (uint32, bool) {
	v := atomic.LoadUint64(w)
	return uint32(v), uint32(v>>32) == launch
}
