package residency

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"sync/atomic"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/imagesearch"
	"github.com/griffin-search/griffin/internal/vfs"
)

// Filter is a bitmap of the documents of a segment that a query may match, in host memory, or ranges of
// columns from which the device computes it. The zero value is all documents.
type Filter struct {
	// ID is unique among the bitmaps of the process. A device keeps a bitmap by its ID.
	ID uint64
	// Words has bit d%64 of word d/64 set if document d may match, for all documents of the segment;
	// nil: all may, or the documents in Ranges. It never changes.
	Words []uint64
	// NumDocs is the number of set bits.
	NumDocs int
	// Ranges are of flat columns (ColumnRange.IsFlat), of which documents must be in all. Compute returns
	// Words for a device that has no room for the columns.
	Ranges  []ColumnRange
	Compute func() (words []uint64, err error)
	// Once: no later query has the bitmap. Device.Unpin drops it.
	Once bool
}

// IsAll reports whether all documents may match.
func (f *Filter) IsAll() bool { return f.Words == nil && len(f.Ranges) == 0 }

// IsNone reports whether no document may match.
func (f *Filter) IsNone() bool { return f.Words != nil && f.NumDocs == 0 }

// Filter returns the pinned bitmap of a filter, uploaded if necessary, or ErrNoRoom. It is kept like a
// list, by its uses and its size.
func (u *Uploader) Filter(p *Shard, f *Filter, c *Counts) (_ *Entry, err error) {
	k := listKey{shard: p.id, kind: kindFilter, list: base.ListID(f.ID)}
	if e := u.d.cache.find(k); e != nil {
		return e, nil
	}
	if e := u.d.cache.claim(k); e != nil {
		return e, nil
	}
	defer u.d.cache.unclaim(k)
	defer u.abandonOnError(&err)
	defer vfs.RecoverFault(vfs.PanicOnFault(), &err)
	columns, err := u.columns(p, f.Ranges, c)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil && len(columns) > 0 { // a kernel may read them
			_ = u.d.Note(u.stream.Synchronize())
		}
		unpinAll(columns)
	}()
	began, before := time.Now(), u.bytes
	words := imagesearch.FilterWords(int(p.to - p.from))
	size := 4 * int64(words)
	if len(columns) > 0 {
		size += totalBytes
	}
	if limit := u.d.limit[0].Load(); size > limit {
		return nil, fmt.Errorf("a filter of %d bytes of %d: %w", size, limit, ErrTooLarge)
	}
	e := u.d.cache.acquire(k, term{}, size, 1, filterGain(size), always)
	if e == nil {
		return nil, ErrNoRoom
	}
	u.making = e
	e.packed.once, e.packed.guesses = f.Once, new(filterGuesses)
	e.packed.bits = u.d.memory(e.extent).Slice(0, words)
	total := u.d.memory(e.extent).Slice(words, int(size/4))
	if len(columns) > 0 {
		err = u.markRanges(p, f.Ranges, columns, e.packed.bits, total)
	} else {
		err = u.copyFilter(p, f, e)
	}
	if err == nil {
		err = u.finish(e)
	}
	if err != nil {
		return nil, err
	}
	if len(columns) > 0 { // they may be evicted after that
		var counted [totalBytes / 4]uint32
		if err := errors.Join(cuda.CopyToHost(u.stream, counted[:], total), u.stream.Synchronize()); err != nil {
			e.Unpin()
			return nil, err
		}
		e.packed.guesses.numDocs.Store(counted[0])
	}
	c.ListBytes += u.bytes - before
	c.Uploading += time.Since(began)
	return e, nil
}

func (u *Uploader) copyFilter(p *Shard, f *Filter, e *Entry) (err error) {
	words, to := f.Words, e.packed.bits
	if words == nil {
		if words, err = f.Compute(); err != nil {
			return err
		}
	}
	part := words[p.from/64:]
	e.packed.guesses.numDocs.Store(uint32(ones(part, int(p.to-p.from))))
	some := min(to.Len(), 2*len(part))
	if some < to.Len() { // the last quad of words
		if err := cuda.Fill(u.stream, to.Slice(some, to.Len()), 0); err != nil {
			return err
		}
	}
	return u.copyBits(to, part, some)
}

// copyBits copies n words of 32 bits.
func (u *Uploader) copyBits(dst cuda.Buffer[uint32], bits []uint64, n int) error {
	for at := 0; at < n; {
		c, err := u.chunk(n - at)
		if err != nil {
			return err
		}
		words, from := c.data(), bits[at/2:] // at is even: of whole slots
		for i := range len(words) / 2 {
			words[2*i], words[2*i+1] = uint32(from[i]), uint32(from[i]>>32)
		}
		if last := len(words) - 1; last%2 == 0 {
			words[last] = uint32(from[last/2])
		}
		if err := u.send(&c, dst.Slice(at, at+len(words)), len(words)); err != nil {
			return err
		}
		at += len(words)
	}
	return nil
}

// totalBytes follow a bitmap that the device computes: the number of its documents, padded.
const totalBytes = 16

// ones counts the set bits of the first n.
func ones(words []uint64, n int) (count int) {
	for _, w := range words[:n/64] {
		count += bits.OnesCount64(w)
	}
	if n%64 > 0 {
		count += bits.OnesCount64(words[n/64] << (64 - n%64))
	}
	return count
}

// filterGuesses are of the queries with a filter.
type filterGuesses struct {
	Guesses
	numDocs atomic.Uint32 // set before the entry's publication, or soon after: 0: unknown
}

// NumDocs returns the number of documents of an entry of Filter in its shard, or 0 if it is unknown.
func (e *Entry) NumDocs() int { return int(e.packed.guesses.numDocs.Load()) }

// Guesses are the guesses of queries with the filter of an entry of Filter.
func (e *Entry) Guesses() *Guesses { return &e.packed.guesses.Guesses }

// Bits returns the bitmap of an entry of Filter.
func (e *Entry) Bits() cuda.Buffer[uint32] { return e.packed.bits }

// Unpin is Entry.Unpin, and then drops an entry that no later query asks for, unless it is pinned. No kernel may read the
// entry.
func (d *Device) Unpin(e *Entry) {
	e.Unpin()
	if e.packed.once {
		d.cache.dropEntry(e)
	}
}

// dropEntry drops a published entry that is not pinned and was not dropped.
func (c *cache) dropEntry(e *Entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !e.refs.CompareAndSwap(0, gone) {
		return
	}
	if i := slices.Index(c.streamed, e); i >= 0 {
		c.streamed = slices.Delete(c.streamed, i, i+1)
	} else {
		c.heap.remove(e.at)
	}
	c.release(e)
}
