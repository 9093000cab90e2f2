package selection

import (
	"errors"
	"fmt"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/topk"
)

// CPU selects on the host: it copies the scores there and pushes them into the
// heap of package topk, like std::partial_sort, the fastest method in griffin18
// (§3.1.3). It belongs to one goroutine.
type CPU struct {
	scores, docIDs, live cuda.HostBuffer[uint32]
	word                 cuda.HostBuffer[uint32]
	queue                topk.Queue
}

// NewCPU allocates for up to maxScores scores, of documents below maxDocs if
// any are deleted.
func NewCPU(d *cuda.Device, maxScores, maxDocs int) (*CPU, error) {
	c := &CPU{}
	for _, b := range []struct {
		to *cuda.HostBuffer[uint32]
		n  int
	}{{&c.scores, maxScores}, {&c.docIDs, maxScores}, {&c.live, (maxDocs + 31) / 32}, {&c.word, 1}} {
		if b.n == 0 {
			continue
		}
		var err error
		if *b.to, err = cuda.AllocHost[uint32](d, b.n); err != nil {
			return nil, errors.Join(err, c.Free())
		}
	}
	return c, nil
}

// Free releases the memory.
func (c *CPU) Free() error {
	var errs []error
	for _, b := range []cuda.HostBuffer[uint32]{c.scores, c.docIDs, c.live, c.word} {
		if !b.IsZero() {
			errs = append(errs, b.Free())
		}
	}
	*c = CPU{}
	return errors.Join(errs...)
}

// AppendHits appends the best k hits of a source to dst, after waiting for the
// stream. The error wraps ErrShape if the source's buffers do not fit together
// or exceed the limits of NewCPU.
func (c *CPU) AppendHits(dst []base.Hit, st *cuda.Stream, source Source[uint32], k int) ([]base.Hit, error) {
	if err := source.check(); err != nil {
		return dst, err
	}
	if !source.Matches.IsZero() {
		if matches, err := c.read(st, source.Matches); err != nil || matches >= source.Enough {
			return dst, err
		}
	}
	if !source.Count.IsZero() {
		count, err := c.read(st, source.Count)
		if err != nil {
			return dst, err
		}
		source.Scores = source.Scores.Slice(0, min(int(count), source.Scores.Len()))
	}
	n := source.Scores.Len()
	if k < 0 || n > c.scores.Len() || source.Live.Len() > c.live.Len() {
		return dst, fmt.Errorf("k=%d of %d scores and %d words of documents, room for %d and %d: %w", k, n, source.Live.Len(), c.scores.Len(), c.live.Len(), ErrShape)
	}
	err := cuda.CopyToHost(st, c.scores.Data(), source.Scores)
	if err == nil && !source.DocIDs.IsZero() {
		err = cuda.CopyToHost(st, c.docIDs.Data(), source.DocIDs.Slice(0, n))
	}
	if err == nil && !source.Live.IsZero() {
		err = cuda.CopyToHost(st, c.live.Data(), source.Live)
	}
	if err := errors.Join(err, st.Synchronize()); err != nil {
		return dst, err
	}
	return c.partialSort(dst, &source, k), nil
}

func (c *CPU) read(st *cuda.Stream, b cuda.Buffer[uint32]) (uint32, error) {
	if err := cuda.CopyToHost(st, c.word.Data(), b.Slice(0, 1)); err != nil {
		return 0, err
	}
	if err := st.Synchronize(); err != nil {
		return 0, err
	}
	return c.word.Data()[0], nil
}

// partialSort appends the best k of the copied scores.
func (c *CPU) partialSort(dst []base.Hit, source *Source[uint32], k int) []base.Hit {
	docIDs, live := c.docIDs.Data(), c.live.Data()
	c.queue.Reset(k)
	for i, s := range c.scores.Data()[:source.Scores.Len()] {
		d := uint32(i)
		if !source.DocIDs.IsZero() {
			d = docIDs[i]
		}
		if s < source.LeastScore || !source.Live.IsZero() && live[d/32]>>(d%32)&1 == 0 {
			continue
		}
		c.queue.Add(base.Hit{DocID: base.DocID(d) + source.Base, Score: base.Score(s)})
	}
	return c.queue.AppendSorted(dst)
}
