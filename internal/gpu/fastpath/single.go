package fastpath

import (
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
	return &Single{batch: b, wait: singleWait}, nil
}

// Close frees the memory.
func (s *Single) Close() error { return s.batch.Close() }

// Search answers a query over a segment, in a stream that it has for itself, and
// returns when the answer is there. Errors are those of Batch.Add and of the device.
func (s *Single) Search(stream *cuda.Stream, segment Segment, q *Query) error {
	b := s.batch
	b.Reset(segment)
	if _, err := b.Add(q); err != nil {
		return err
	}
	if err := s.launch(stream); err != nil {
		return err
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
	kernel := b.kernels.kernelOne(kind)
	if kernel == nil || q.numTerms > maxOneTerms {
		from := kind * (b.limits.Queries + b.kernels.spareBlocks())
		for split := range j.splits {
			b.blocks.Data()[from+int(split)] = blockParams{j.query, split}
		}
		p.blocks = b.blocks.DevicePtr() + cuda.Ptr[blockParams](8*from)
		return b.start(stream, b.kernels.kernel(kind), int(j.splits), &p)
	}
	s.one.search, s.one.query = p, *q
	copy(s.one.terms[:], b.terms.Data()[q.firstTerm:][:q.numTerms])
	s.one.query.firstTerm = 0
	shared := sharedBytes(int(p.maxTerms), int(p.window), int(p.capacity))
	if err := kernel.SetMaxShared(shared); err != nil {
		return err
	}
	return cuda.Launch(stream, kernel, cuda.D1(int(j.splits)), cuda.D1(threads), shared, &s.one)
}

// kernelOne returns the kernel of a kind of job that takes its query along, or nil.
func (k *Kernels) kernelOne(kind int) *cuda.Kernel {
	switch kind {
	case jobProbe:
		return k.probeOne
	case jobRanges, jobRetry:
		return k.rangesOne
	}
	return nil
}

// await waits for the answer.
func (s *Single) await(stream *cuda.Stream) error {
	done := &s.batch.results.Data()[0].done
	for start := time.Now(); ; {
		for range 256 {
			if atomic.LoadUint32(done) == s.batch.launches {
				return nil
			}
		}
		if time.Since(start) > s.wait {
			return stream.Synchronize()
		}
	}
}
