package residency

import (
	"errors"
	"sync/atomic"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/invariant"
	"github.com/griffin-search/griffin/internal/vfs"
)

// Uploader copies lists, lengths and bitmaps to a device, and builds images, in the stream of
// its lane, so that the lane computes while lists are uploaded for its next queries. Lanes wait
// on the device for the uploads they need, by any uploader.
//
// Copies go through a ring of page-locked slots: while the device reads one, the CPU fills the
// next. Short chunks share a slot. An Uploader belongs to the run that has the lane, or to the
// promoter.
type Uploader struct {
	d      *Device
	number int // number of the lane; the promoter's is the next one
	stream *cuda.Stream
	bytes  int64    // total bytes sent
	made   int64    // total bytes of images
	making *Entry   // acquired, neither published nor abandoned; nil: none
	lists  []*Entry // pinned page-locked lists being copied; sent unpins them
	slots  [numSlots]slot
	turn   int // index of the slot being filled
	events [numEvents]*cuda.Event
	event  atomic.Int32 // index of the last recorded event; written by the uploader's owner only

	// Device memory for one list at a time, in stream order.
	payload, docIDs, freqs cuda.Buffer[uint32]

	source source // for lists that the CPU decodes
}

const (
	numSlots = 8
	// copiers is the number of concurrently filled chunks, less than numSlots, so that the
	// device reads earlier ones meanwhile.
	copiers = 4
	// slotWords is 1 MiB: large compared with the fixed cost of a copy, and small enough for an
	// early first copy.
	slotWords = 1 << 18
	// numEvents is the number of bits in a word of Waits. A reused event belongs to a later
	// upload of the same stream, so a wait may take longer than necessary, never shorter.
	numEvents = 32
)

// slot is page-locked memory: the first used words are taken, all of it is free after the
// event.
type slot struct {
	words cuda.HostBuffer[uint32]
	used  int
	free  *cuda.Event
}

type chunk struct {
	slot      *slot
	at, words int
}

func (p *chunk) data() []uint32 { return p.slot.words.Data()[p.at:][:p.words] }
func (p *chunk) bytes() []byte  { return p.slot.words.Bytes()[4*p.at:][:4*p.words] }

// Without slots it can copy only page-locked lists.
func newUploader(d *Device, number int, slots bool) (_ *Uploader, err error) {
	u := &Uploader{d: d, number: number}
	defer func() {
		if err != nil {
			err = errors.Join(err, u.close())
		}
	}()
	if u.stream, err = d.dev.NewStream(); err != nil {
		return nil, err
	}
	for i := range u.slots {
		if !slots {
			break
		}
		if u.slots[i].words, err = cuda.AllocHost[uint32](d.dev, slotWords); err != nil {
			return nil, err
		}
		if u.slots[i].free, err = d.dev.NewEvent(false /* timing */); err != nil {
			return nil, err
		}
	}
	for i := range u.events {
		if u.events[i], err = d.dev.NewEvent(false /* timing */); err != nil {
			return nil, err
		}
	}
	return u, nil
}

func (u *Uploader) close() error {
	var errs []error
	if u.stream != nil {
		errs = append(errs, u.stream.Synchronize(), u.stream.Close())
	}
	for _, b := range []cuda.Buffer[uint32]{u.payload, u.docIDs, u.freqs} {
		errs = append(errs, b.Free())
	}
	for i := range u.slots {
		errs = append(errs, u.slots[i].words.Free())
		if u.slots[i].free != nil {
			errs = append(errs, u.slots[i].free.Close())
		}
	}
	for _, e := range u.events {
		if e != nil {
			errs = append(errs, e.Close())
		}
	}
	return errors.Join(errs...)
}

// chunk returns page-locked memory for up to n words after the device has read its old
// contents. The caller fills and sends it before it requests copiers further chunks.
func (u *Uploader) chunk(n int) (chunk, error) {
	n = min(n, slotWords)
	s := &u.slots[u.turn]
	if slotWords-s.used < n {
		u.turn = (u.turn + 1) % numSlots
		s = &u.slots[u.turn]
		if err := s.free.Synchronize(); err != nil {
			return chunk{}, err
		}
		s.used = 0
	}
	p := chunk{s, s.used, n}
	s.used += (n + 3) &^ 3 // copies are fastest from multiples of 16 bytes
	return p, nil
}

// send copies the first n words of a chunk, in stream order.
func (u *Uploader) send(p *chunk, dst cuda.Buffer[uint32], n int) error {
	if err := cuda.CopyToDevice(u.stream, dst, p.data()[:n]); err != nil {
		return err
	}
	u.count(n)
	return u.stream.Record(p.slot.free)
}

// copyWords copies pageable memory.
func (u *Uploader) copyWords(dst cuda.Buffer[uint32], words []uint32) error {
	for at := 0; at < len(words); at += slotWords {
		p, err := u.chunk(len(words) - at)
		if err != nil {
			return err
		}
		n := copy(p.data(), words[at:])
		if err := u.send(&p, dst.Slice(at, at+n), n); err != nil {
			return err
		}
	}
	return nil
}

// copyBytes copies pageable memory, zero-padded to a whole word, with several goroutines, since
// one reads memory at a fifth of the bus speed.
func (u *Uploader) copyBytes(dst cuda.Buffer[uint32], src []byte) error {
	var chunks [copiers]chunk
	var group invariant.Group
	defer group.Wait() // a panic of fill below must not leave goroutines that write to slots
	for at := 0; at < len(src); {
		n, from := 0, at
		for ; n < copiers && at < len(src); n++ {
			p, err := u.chunk((len(src) - at + 3) / 4)
			if err != nil {
				return err
			}
			chunks[n] = p
			part := src[at:min(at+4*p.words, len(src))]
			at += len(part)
			if at == len(src) { // the last chunk: fill it on this goroutine
				p.fill(part)
			} else {
				group.Go(func() { p.fill(part) })
			}
		}
		group.Wait()
		for i := range chunks[:n] {
			p := &chunks[i]
			if err := u.send(p, dst.Slice(from/4, from/4+p.words), p.words); err != nil {
				return err
			}
			from += 4 * p.words
		}
	}
	return nil
}

func (p *chunk) fill(src []byte) {
	n := copy(p.bytes(), src)
	clear(p.bytes()[n:])
}

// Upload copies words to new device memory and waits, so that all streams may use it.
func (u *Uploader) Upload(words []uint32) (cuda.Buffer[uint32], error) {
	b, err := cuda.Alloc[uint32](u.d.dev, len(words))
	if err != nil {
		return b, err
	}
	whole := false
	defer func() {
		if !whole { // panic
			_ = u.d.Note(errors.Join(u.stream.Synchronize(), b.Free()))
		}
	}()
	err = errors.Join(u.copyWords(b, words), u.stream.Synchronize())
	if whole = true; err != nil {
		return cuda.Buffer[uint32]{}, errors.Join(err, b.Free())
	}
	return b, nil
}

// Lengths returns a field's document lengths in a shard, uploaded if necessary.
func (u *Uploader) Lengths(p *Shard, s *Segment, field base.FieldID) (cuda.Buffer[uint32], error) {
	if p.ready[field].Load() {
		return p.lengths[field], nil
	}
	return u.uploadLengths(p, s, field)
}

func (u *Uploader) uploadLengths(p *Shard, s *Segment, field base.FieldID) (_ cuda.Buffer[uint32], err error) {
	defer vfs.RecoverFault(vfs.PanicOnFault(), &err)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ready[field].Load() {
		return p.lengths[field], nil
	}
	b, err := u.Upload(s.Segment.Lengths(field)[p.from:p.to])
	if err != nil {
		return b, err
	}
	p.lengths[field] = b
	p.ready[field].Store(true)
	return b, nil
}

func (u *Uploader) count(words int) {
	u.d.uploaded.Add(int64(words) * 4)
	u.bytes += int64(words) * 4
}

// Busy reports whether a panic interrupted an upload.
func (u *Uploader) Busy() bool { return u.making != nil || len(u.lists) > 0 }

// Uploaded is the total size of the uploaded images in bytes.
func (u *Uploader) Uploaded() int64 { return u.made }

// Synchronize waits for the end of all uploads of the stream.
func (u *Uploader) Synchronize() error { return u.stream.Synchronize() }
