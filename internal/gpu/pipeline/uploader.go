package pipeline

import (
	"errors"
	"sync/atomic"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/invariant"
)

// uploader brings what queries need to a device: lists, which it makes images of,
// lengths and bitmaps. Each lane has one, with a stream of its own, so that a lane
// computes while lists are brought for its next queries; lanes wait, on the device, for
// the event of what they need, whoever brings it.
//
// What it copies goes through a ring of page-locked slots: while the device reads
// one, the CPU fills the next. Short pieces share a slot. It belongs to the run that has
// the lane, or to the promoter.
type uploader struct {
	d      *device
	number int // of the lane; the promoter's comes after them
	stream *cuda.Stream
	bytes  int64    // sent so far
	made   int64    // of images so far
	making *entry   // that was acquired and is neither published nor abandoned; nil: none
	lists  []*entry // of page-locked memory, pinned, that are being copied; released by sent
	slots  [numSlots]slot
	turn   int // of slots, being filled
	events [numEvents]*cuda.Event
	event  atomic.Int32 // of events, recorded last; written by whom the uploader belongs to

	// Device memory for one list at a time, in the order of the stream.
	payload, docIDs, freqs cuda.Buffer[uint32]

	source source // of lists that the CPU decodes
}

const (
	numSlots = 8
	// copiers is how many pieces are filled at the same time: fewer than there are
	// slots, so that the device reads those of before meanwhile.
	copiers = 4
	// slotWords is how much is copied at a time, 1 MiB: far more than what a copy
	// costs beside its bytes, and little enough for the first one to begin soon.
	slotWords = 1 << 18
	// numEvents, as many as a word has bits, are the lists on their way whose lanes can
	// wait for just them. An event that is recorded again means a later list of the
	// same stream, so that who waits for it waits for more than he must, never for less.
	numEvents = 32
)

// slot is page-locked memory, of which words up to used are taken, and the event after
// which all of it is free again.
type slot struct {
	words cuda.HostBuffer[uint32]
	used  int
	free  *cuda.Event
}

// stretch is a part of a slot: words from at on.
type stretch struct {
	slot      *slot
	at, words int
}

func (p *stretch) data() []uint32 { return p.slot.words.Data()[p.at:][:p.words] }
func (p *stretch) bytes() []byte  { return p.slot.words.Bytes()[4*p.at:][:4*p.words] }

// newUploader returns an uploader; without slots it copies page-locked lists only.
func newUploader(d *device, number int, slots bool) (_ *uploader, err error) {
	u := &uploader{d: d, number: number}
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

func (u *uploader) close() error {
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

// piece returns page-locked memory for up to n words, to be filled and sent before as
// many further pieces as there are copiers are asked for. It waits until the device has
// read what was there.
func (u *uploader) piece(n int) (stretch, error) {
	n = min(n, slotWords)
	s := &u.slots[u.turn]
	if slotWords-s.used < n {
		u.turn = (u.turn + 1) % numSlots
		s = &u.slots[u.turn]
		if err := s.free.Synchronize(); err != nil {
			return stretch{}, err
		}
		s.used = 0
	}
	p := stretch{s, s.used, n}
	s.used += (n + 3) &^ 3 // copies are fastest from multiples of 16 bytes
	return p, nil
}

// send copies the first n words of a piece to dst, in the order of the stream.
func (u *uploader) send(p *stretch, dst cuda.Buffer[uint32], n int) error {
	if err := cuda.CopyToDevice(u.stream, dst, p.data()[:n]); err != nil {
		return err
	}
	u.count(n)
	return u.stream.Record(p.slot.free)
}

// copyWords copies words of any memory to dst.
func (u *uploader) copyWords(dst cuda.Buffer[uint32], words []uint32) error {
	for at := 0; at < len(words); at += slotWords {
		p, err := u.piece(len(words) - at)
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

// copyBytes copies bytes of any memory to dst, with zeros up to a whole word. Several
// goroutines fill slots at the same time: one reads memory at a fifth of the speed of
// the bus to a device.
func (u *uploader) copyBytes(dst cuda.Buffer[uint32], src []byte) error {
	var pieces [copiers]stretch
	for at := 0; at < len(src); {
		var group invariant.Group
		n, from := 0, at
		for ; n < copiers && at < len(src); n++ {
			p, err := u.piece((len(src) - at + 3) / 4)
			if err != nil {
				group.Wait()
				return err
			}
			pieces[n] = p
			part := src[at:min(at+4*p.words, len(src))]
			at += len(part)
			if at == len(src) { // the last, or the only one
				p.fill(part)
			} else {
				group.Go(func() { p.fill(part) })
			}
		}
		group.Wait()
		for i := range pieces[:n] {
			p := &pieces[i]
			if err := u.send(p, dst.Slice(from/4, from/4+p.words), p.words); err != nil {
				return err
			}
			from += 4 * p.words
		}
	}
	return nil
}

// fill copies bytes to the piece, and zeros to its rest.
func (p *stretch) fill(src []byte) {
	n := copy(p.bytes(), src)
	clear(p.bytes()[n:])
}

// place returns device memory with the words in it, for all streams.
func (u *uploader) place(words []uint32) (cuda.Buffer[uint32], error) {
	b, err := cuda.Alloc[uint32](u.d.dev, len(words))
	if err != nil {
		return b, err
	}
	if err := errors.Join(u.copyWords(b, words), u.stream.Synchronize()); err != nil {
		return cuda.Buffer[uint32]{}, errors.Join(err, b.Free())
	}
	return b, nil
}

// lengths returns the lengths of the documents of a part in a field, which images are
// made with and queries read.
func (u *uploader) lengths(p *part, s *Segment, field base.FieldID) (cuda.Buffer[uint32], error) {
	if p.ready[field].Load() {
		return p.lengths[field], nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ready[field].Load() {
		return p.lengths[field], nil
	}
	b, err := u.place(s.Segment.Lengths(field)[p.from:p.to])
	if err != nil {
		return b, err
	}
	p.lengths[field] = b
	p.ready[field].Store(true)
	return b, nil
}

// count counts words that were sent.
func (u *uploader) count(words int) {
	u.d.uploaded.Add(int64(words) * 4)
	u.bytes += int64(words) * 4
}
