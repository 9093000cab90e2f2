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
}

// singleWait is more than all but the longest queries take.
const singleWait = 5 * time.Millisecond

// NewSingle allocates the memory for queries that ask for at most docIDs DocIDs.
func (k *Kernels) NewSingle(docIDs int) (*Single, error) {
	splits, err := k.singleBlocks()
	if err != nil {
		return nil, err
	}
	b, err := k.newBatch(Limits{Queries: 1, Terms: 2 * MaxTerms, Hits: MaxK, DocIDs: docIDs}, splits)
	if err != nil {
		return nil, err
	}
	return &Single{batch: b, wait: singleWait}, nil
}

// singleBlocks is how many blocks run at a time.
func (k *Kernels) singleBlocks() (int, error) {
	n, err := k.rangesOne.BlocksPerMultiprocessor(threads, sharedBytes(8, 64, listRoom, capacity(10)))
	if err != nil {
		return 0, err
	}
	return max(n*k.multiprocessors, 1), nil
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

// launch puts the query into the stream.
func (s *Single) launch(stream *cuda.Stream) error {
	b := s.batch
	b.launches++
	last := 0
	for kind := range b.jobs {
		if len(b.jobs[kind]) > 0 {
			last = kind
		}
	}
	for kind, jobs := range b.jobs {
		if len(jobs) == 0 {
			continue
		}
		if err := s.launchOne(stream, kind, kind == last); err != nil {
			return err
		}
	}
	return nil
}

// launchOne launches one job; the last one tells the host that all is done.
func (s *Single) launchOne(stream *cuda.Stream, kind int, last bool) error {
	b := s.batch
	p := b.params()
	if !last {
		p.launch = 0
	}
	i := b.jobs[kind][0].query
	q := &b.queries.Data()[i]
	kernel := b.kernels.kernelOne(kind)
	if kernel == nil || q.numTerms > maxOneTerms {
		b.order.Data()[kind] = i
		p.order = b.order.DevicePtr() + cuda.Ptr[uint32](4*kind)
		return b.start(stream, b.kernels.kernel(kind), b.splits, &p)
	}
	s.one.search, s.one.query = p, *q
	copy(s.one.terms[:], b.terms.Data()[q.firstTerm:][:q.numTerms])
	s.one.query.firstTerm = 0
	shared := b.sharedBytes(&p)
	if err := kernel.SetMaxShared(shared); err != nil {
		return err
	}
	return cuda.Launch(stream, kernel, cuda.D1(b.splits), cuda.D1(threads), shared, &s.one)
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
