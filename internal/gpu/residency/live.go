package residency

import (
	"errors"
	"sync"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/invariant"
)

// liveDocs are the deletion bitmaps of a shard on the device. Queries read them, so one never changes:
// other deletions get another bitmap, in the memory of one that no view has any more, because freeing
// device memory waits for all kernels.
type liveDocs struct {
	mu      sync.Mutex // held during uploads
	bitmaps []*LiveDocs
	spare   []cuda.Buffer[uint32]
}

// maxSpareBitmaps is enough for a bitmap that is replaced while queries use the former.
const maxSpareBitmaps = 2

// LiveDocs is the bitmap of a shard's live documents on the device. Views of snapshots with the same
// deletions of the segment share it.
type LiveDocs struct {
	of         *liveDocs
	device     *Device
	host       *uint64 // first word of the bitmap in host memory, which identifies the deletions
	words      cuda.Buffer[uint32]
	numLive    int
	references int // guarded by liveDocs.mu
	guesses    Guesses
}

// LiveDocs returns the bitmap of Segment.Live with a new reference, uploaded if the device does not
// have it; nil for a nil one.
func (p *Shard) LiveDocs(live []uint64) (*LiveDocs, error) {
	if live == nil {
		return nil, nil
	}
	l, d := &p.live, p.memory
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, b := range l.bitmaps {
		if b.host == &live[0] {
			b.references++
			return b, nil
		}
	}
	b := &LiveDocs{of: l, device: d, host: &live[0], references: 1}
	words := int(p.to-p.from+31) / 32
	if n := len(l.spare); n > 0 {
		b.words, l.spare = l.spare[n-1], l.spare[:n-1]
	} else {
		var err error
		if b.words, err = cuda.Alloc[uint32](d.dev, words); err != nil {
			return nil, err
		}
	}
	whole := false
	defer func() {
		if !whole { // error or panic
			_ = d.Note(errors.Join(d.preparer.synchronize(), b.words.Free()))
		}
	}()
	if err := d.preparer.uploadBits(b.words, live[p.from/64:], words); err != nil {
		return nil, err
	}
	b.numLive = ones(live[p.from/64:], int(p.to-p.from))
	whole = true
	l.bitmaps = append(l.bitmaps, b)
	return b, nil
}

// Words is the bitmap in device memory; no memory of nil.
func (b *LiveDocs) Words() (words cuda.Buffer[uint32]) {
	if b != nil {
		words = b.words
	}
	return words
}

// NumLive is the number of live documents.
func (b *LiveDocs) NumLive() int { return b.numLive }

// Guesses are the guesses of queries without a filter or exclusions.
func (b *LiveDocs) Guesses() *Guesses { return &b.guesses }

// Release drops a reference; no query may read the bitmap of the last one. A nil bitmap is allowed.
func (b *LiveDocs) Release() {
	if b == nil {
		return
	}
	l := b.of
	l.mu.Lock()
	defer l.mu.Unlock()
	if b.references--; b.references > 0 {
		return
	}
	for i, other := range l.bitmaps {
		if other == b {
			l.bitmaps = append(l.bitmaps[:i], l.bitmaps[i+1:]...)
			break
		}
	}
	if len(l.spare) < maxSpareBitmaps {
		l.spare = append(l.spare, b.words)
	} else {
		_ = b.device.Note(b.words.Free())
	}
}

// close frees the memory of a shard that no view has.
func (l *liveDocs) close(d *Device) {
	l.mu.Lock()
	defer l.mu.Unlock()
	invariant.Check(len(l.bitmaps) == 0, "%d deletion bitmaps of a shard without views", len(l.bitmaps))
	for _, b := range l.spare {
		_ = d.Note(b.Free())
	}
	l.spare = nil
}
