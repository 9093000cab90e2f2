package residency

import (
	"time"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/imagesearch"
	"github.com/griffin-search/griffin/internal/vfs"
)

// Counts describe the lists that a run requested and the bytes copied for them.
type Counts struct {
	Hit, Missed int
	Asked       FormStats
	ListBytes   int64 // sent to the device
	Locked      int64 // bytes copied to page-locked memory
	Uploading   time.Duration
}

// Image returns the pinned image of a leg's list, uploaded if necessary, or ErrNoRoom if all
// memory is in use.
func (u *Uploader) Image(p *Shard, s *Segment, leg *Leg, c *Counts) (*Entry, error) {
	known := u.d.records.ofLeg(leg, p.id)
	if known != nil {
		if e := known.pinned(kindImage); e != nil {
			c.Hit++
			c.Asked.Image++
			return e, nil
		}
	}
	began, before, form := time.Now(), u.bytes, known.compressed()
	e, uploaded, err := u.uploadImage(p, s, leg, always)
	if err != nil {
		return nil, err
	}
	if uploaded {
		c.Missed++
		c.Asked.add(form, 1)
		c.ListBytes += u.bytes - before
	} else {
		c.Hit++
		c.Asked.Image++
	}
	c.Uploading += time.Since(began)
	return e, nil
}

// PackedList is a pinned compressed list: on the device, or in page-locked memory with its
// directory optionally on the device. The zero value is no list.
type PackedList struct{ packed, host, directory *Entry }

// Packed returns a leg's compressed list, pinned. If it is only in the index's file, it is
// copied to page-locked memory, else to the device; ErrNoRoom means that neither has room.
func (u *Uploader) Packed(p *Shard, leg *Leg, c *Counts) (PackedList, error) {
	if known := u.d.records.ofLeg(leg, p.id); known != nil {
		if e := known.pinned(kindPacked); e != nil {
			c.Hit++
			c.Asked.Device++
			return PackedList{packed: e}, nil
		}
		if e := known.pinned(kindHost); e != nil {
			c.Missed++
			c.Asked.Host++
			return PackedList{host: e, directory: known.pinned(kindDirectory)}, nil
		}
	}
	return u.loadPacked(p, leg, c)
}

func (u *Uploader) loadPacked(p *Shard, leg *Leg, c *Counts) (l PackedList, err error) {
	defer vfs.RecoverFault(vfs.PanicOnFault(), &err)
	began, before := time.Now(), u.bytes
	payload, directory := leg.List.Raw()
	if err := checkDirectory(len(payload), directory); err != nil {
		return l, err
	}
	c.Missed++
	c.Asked.File++
	if l.host = u.d.lockList(leg.key(p.id).of(kindHost), leg.term(), payload, directory, always); l.host != nil {
		c.Locked += int64(len(l.host.packed.words)) * 4
	} else if l.packed, err = u.uploadPacked(p, leg, always); err != nil {
		return l, err
	}
	c.ListBytes += u.bytes - before
	c.Uploading += time.Since(began)
	return l, nil
}

// IsZero reports whether no list is pinned.
func (l *PackedList) IsZero() bool { return l.packed == nil && l.host == nil }

// OnHost reports whether the payload is read from host memory.
func (l *PackedList) OnHost() bool { return l.packed == nil }

// Addresses also reports whether the directory is in page-locked memory.
func (l *PackedList) Addresses() (payload, directory cuda.Ptr[uint32], directoryOnHost bool) {
	switch {
	case l.packed != nil:
		return l.packed.packed.payload, l.packed.packed.directory, false
	case l.directory != nil:
		return l.host.packed.payload, l.directory.packed.directory, false
	}
	return l.host.packed.payload, l.host.packed.directory, true
}

// Unpin unpins the entries of the list.
func (l *PackedList) Unpin() {
	for _, e := range [...]*Entry{l.packed, l.host, l.directory} {
		if e != nil {
			e.Unpin()
		}
	}
}

// ReadInPlace counts that a run has read a share of a page-locked list, and periodically
// requests its promotion.
func (d *Device) ReadInPlace(s *Shard, l *PackedList, docFreq uint32, share float64) {
	host := l.host
	if host == nil {
		return
	}
	host.shares.Add(uint64(share * wholeShare))
	reads, tried := host.reads.Add(1), host.tried.Load()
	if reads-tried < min(tried, promoteEvery) || !host.tried.CompareAndSwap(tried, reads) {
		return
	}
	if !d.promoter.ask(s, host.key, docFreq, reads-tried) {
		host.tried.CompareAndSwap(reads, tried) // count these uses at the next attempt
	}
}

// promoteEvery is the maximum number of uses between two attempts to promote a list; the first
// attempts follow each doubling of the uses.
const promoteEvery = 32

// Image returns the image of an entry of kindImage.
func (e *Entry) Image() imagesearch.Image { return e.image }

// Empty reports whether the list has no posting in the shard.
func (e *Entry) Empty() bool { return e.image.Shape().DocFreq == 0 }
