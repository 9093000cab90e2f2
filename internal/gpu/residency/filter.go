package residency

import (
	"fmt"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/imagesearch"
	"github.com/griffin-search/griffin/internal/vfs"
)

// Filter is a bitmap of the documents of a segment that a query may match, in host memory. The zero
// value is all documents.
type Filter struct {
	// ID is unique among the bitmaps of the process. A device keeps a bitmap by its ID.
	ID uint64
	// Words has bit d%64 of word d/64 set if document d may match, for all documents of the segment;
	// nil: all may. It never changes.
	Words []uint64
	// NumDocs is the number of set bits.
	NumDocs int
}

// IsAll reports whether all documents may match.
func (f *Filter) IsAll() bool { return f.Words == nil }

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
	began, before := time.Now(), u.bytes
	words := imagesearch.FilterWords(int(p.to - p.from))
	size := 4 * int64(words)
	if limit := u.d.limit[0].Load(); size > limit {
		return nil, fmt.Errorf("a filter of %d bytes of %d: %w", size, limit, ErrTooLarge)
	}
	e := u.d.cache.acquire(k, term{}, size, 1, filterGain(size), always)
	if e == nil {
		return nil, ErrNoRoom
	}
	u.making = e
	e.bits = u.d.memory(e.extent).Slice(0, words)
	if err := u.copyBits(e.bits, f.Words[p.from/64:], words); err != nil {
		return nil, err
	}
	if err := u.finish(e); err != nil {
		return nil, err
	}
	c.ListBytes += u.bytes - before
	c.Uploading += time.Since(began)
	return e, nil
}

// copyBits copies n words of 32 bits, zeros behind the end of bits.
func (u *Uploader) copyBits(dst cuda.Buffer[uint32], bits []uint64, n int) error {
	for at := 0; at < n; {
		c, err := u.chunk(n - at)
		if err != nil {
			return err
		}
		words := c.data()
		for i := range words {
			words[i] = 0
			if from := (at + i) / 2; from < len(bits) {
				words[i] = uint32(bits[from] >> ((at + i) % 2 * 32))
			}
		}
		if err := u.send(&c, dst.Slice(at, at+len(words)), len(words)); err != nil {
			return err
		}
		at += len(words)
	}
	return nil
}

// Bits returns the bitmap of an entry of Filter.
func (e *Entry) Bits() cuda.Buffer[uint32] { return e.bits }
