package pipeline

import (
	"errors"
	"fmt"
	"sync"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/decode"
	"github.com/griffin-search/griffin/internal/gpu/fastpath"
	"github.com/griffin-search/griffin/internal/postings"
)

// uploader brings what queries need to a device: lists, which it makes images of,
// lengths and bitmaps. Each lane has one, with a stream of its own, so that a lane
// computes while lists are brought for its next queries; lanes wait, on the device, for
// the event of what they need, whoever brings it.
//
// What it copies goes through a ring of page-locked slots: while the device reads
// one, the CPU fills the next. Short pieces share a slot. It belongs to the run that has
// the lane.
type uploader struct {
	d      *device
	number int // of the lane
	stream *cuda.Stream
	bytes  int64 // sent so far
	made   int64 // of images so far
	slots  [numSlots]slot
	turn   int // of slots, being filled
	events [numEvents]*cuda.Event
	event  int // of events, recorded last

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

func newUploader(d *device, number int) (_ *uploader, err error) {
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
		var wg sync.WaitGroup
		n, from := 0, at
		for ; n < copiers && at < len(src); n++ {
			p, err := u.piece((len(src) - at + 3) / 4)
			if err != nil {
				wg.Wait()
				return err
			}
			pieces[n] = p
			part := src[at:min(at+4*p.words, len(src))]
			at += len(part)
			if at == len(src) { // the last, or the only one
				p.fill(part)
			} else {
				wg.Go(func() { p.fill(part) })
			}
		}
		wg.Wait()
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

// errNoRoom says that lists of other queries take the memory that a list needs.
var errNoRoom = errors.New("GPU memory is full of lists that are in use")

// errTooLarge says that a list does not fit into the memory that lists may take.
var errTooLarge = errors.New("a posting list is larger than the GPU memory that lists may take")

// bring returns the pinned entry of a list, and brings it if it is not there; evict
// says that others may go for it. The error is errNoRoom if the memory is in use.
func (u *uploader) bring(p *part, s *Segment, leg *Leg, k listKey, evict bool) (e *entry, brought bool, err error) {
	if e := u.d.cache.claim(k); e != nil {
		return e, false, nil // another run has brought it
	}
	defer u.d.cache.unclaim(k)
	if err := u.source.open(p, leg); err != nil {
		return nil, false, err
	}
	shape := u.source.shape(p, leg)
	size := int64(spaceAlign)
	if shape.DocFreq > 0 {
		size = shape.SizeBytes()
	}
	if limit := u.d.limit[0].Load(); size > limit {
		return nil, false, fmt.Errorf("%d bytes of %d: %w", size, limit, errTooLarge)
	}
	if e = u.d.cache.acquire(k, size, evict); e == nil {
		return nil, false, errNoRoom
	}
	if shape.DocFreq > 0 {
		if e.image, err = u.fill(e, p, s, leg, shape); err != nil {
			// What was put into the stream may still write to the entry's memory.
			return nil, false, errors.Join(err, u.abandon(e))
		}
	}
	u.event = (u.event + 1) % numEvents
	if err := u.stream.Record(u.events[u.event]); err != nil {
		return nil, false, errors.Join(err, u.abandon(e))
	}
	e.lane, e.event = u.number, u.event
	u.made += e.extent.size
	u.d.cache.publish(e)
	return e, true, nil
}

func (u *uploader) abandon(e *entry) error {
	err := u.stream.Synchronize()
	u.d.cache.abandon(e)
	return err
}

// fill puts everything into the stream that makes the image of a list.
func (u *uploader) fill(e *entry, p *part, s *Segment, leg *Leg, shape fastpath.Shape) (fastpath.Image, error) {
	var lengths cuda.Buffer[uint32]
	var err error
	if !shape.Saturation.Linear {
		if lengths, err = u.lengths(p, s, leg.Field); err != nil {
			return fastpath.Image{}, err
		}
	}
	// Decoders write whole blocks, of the whole list.
	room := roundBlocks(int(leg.DocFreq))
	if err := grow(u, &u.docIDs, room); err != nil {
		return fastpath.Image{}, err
	}
	if err := grow(u, &u.freqs, room); err != nil {
		return fastpath.Image{}, err
	}
	n := shape.DocFreq
	docIDs, freqs := u.docIDs.Slice(0, n), u.freqs.Slice(0, n)
	if c, ok := decodes(leg); ok {
		if err = u.decodeThere(e, c, leg); err == nil && !p.whole {
			first := u.source.first
			docIDs, freqs = u.docIDs.Slice(first, first+n), u.freqs.Slice(first, first+n)
			err = u.d.rebaser.rebase(u.stream, docIDs, p.from)
		}
	} else {
		err = u.decodeHere(n)
	}
	if err != nil {
		return fastpath.Image{}, err
	}
	return u.d.fast.Build(u.stream, u.d.memory(e.extent), shape, docIDs, freqs, lengths)
}

// grow makes b hold at least n words. What it held is lost, and not needed: the
// stream's work so far is waited for.
func grow(u *uploader, b *cuda.Buffer[uint32], n int) error {
	if b.Len() >= n {
		return nil
	}
	old := *b
	*b = cuda.Buffer[uint32]{}
	if err := errors.Join(u.stream.Synchronize(), old.Free()); err != nil {
		return err
	}
	var err error
	*b, err = cuda.Alloc[uint32](u.d.dev, n+n/4)
	return err
}

// decodes returns how the device decodes the list, if it can and that is worth it.
func decodes(leg *Leg) (decode.Codec, bool) {
	// Shorter lists are decoded by the CPU in the time that a launch takes.
	const least = 2048
	if leg.List == nil || leg.DocFreq < least {
		return decode.Codec{}, false
	}
	// What the arrays of pfordelta-rec need beside their bytes is found by the CPU, in
	// about the time that decoding takes it.
	if _, recursive := leg.List.Codec.(codec.PForDeltaRec); recursive {
		return decode.Codec{}, false
	}
	return decode.CodecOf(leg.List.Codec)
}

// decodeThere copies the compressed list, as it lies in the index's file, and
// decodes it on the device.
func (u *uploader) decodeThere(e *entry, c decode.Codec, leg *Leg) error {
	payload, directory := leg.List.Raw()
	// A multiple of 16 bytes, so that the directory behind is aligned.
	words := (len(payload) + 15) / 16 * 4
	if err := grow(u, &u.payload, words+len(directory)*decode.EntryWords); err != nil {
		return err
	}
	dir := u.payload.Slice(words, words+len(directory)*decode.EntryWords)
	if err := u.copyList(e, dir, payload, directory); err != nil {
		return err
	}
	list, err := decode.NewList(decode.Source{
		Payload: u.payload.Slice(0, (len(payload)+3)/4), Directory: dir, NumPostings: int(leg.DocFreq),
	}, cuda.Buffer[uint32]{}, u.docIDs)
	if err != nil {
		return err
	}
	if err := u.d.decode.DecodeList(u.stream, c, decode.DocIDs, list); err != nil {
		return err
	}
	freqs, err := decode.NewList(decode.Source{
		Payload: u.payload.Slice(0, (len(payload)+3)/4), Directory: dir, NumPostings: int(leg.DocFreq),
	}, cuda.Buffer[uint32]{}, u.freqs)
	if err != nil {
		return err
	}
	return u.d.decode.DecodeList(u.stream, c, decode.Freqs, freqs)
}

// copyList copies a list's payload to the start of u.payload and its directory to dir,
// out of the mirror if it is there, and puts it there if it was brought before.
func (u *uploader) copyList(e *entry, dir cuda.Buffer[uint32], payload []byte, directory []postings.BlockEntry) error {
	at := (len(payload) + 15) / 16 * 4 // of the directory
	words := u.d.mirror.find(e.key)
	if words == nil {
		if err := checkDirectory(len(payload), directory); err != nil {
			return err
		}
		var room []byte
		if e.again {
			words, room = u.d.mirror.add(e.key, at+len(directory)*decode.EntryWords)
		}
		if words == nil {
			if err := u.copyBytes(u.payload, payload); err != nil {
				return err
			}
			return u.copyDirectory(dir, directory)
		}
		clear(room[copy(room, payload):][:4*at-len(payload)])
		directoryWords(words[at:], directory)
	}
	if err := cuda.CopyToDevice(u.stream, u.payload, words); err != nil {
		return err
	}
	u.count(len(words))
	return nil
}

// count counts words that were sent.
func (u *uploader) count(words int) {
	u.d.uploaded.Add(int64(words) * 4)
	u.bytes += int64(words) * 4
}

// decodeHere decodes the n postings of the source on the CPU and copies them plain.
func (u *uploader) decodeHere(n int) error {
	for at := 0; at < n; {
		docIDs, err := u.piece(roundBlocks(n - at))
		if err != nil {
			return err
		}
		freqs, err := u.piece(roundBlocks(n - at))
		if err != nil {
			return err
		}
		got, err := u.source.next(docIDs.data(), freqs.data())
		if err != nil {
			return err
		}
		if got == 0 || at+got > n {
			return fmt.Errorf("list of %d postings has %d: %w", n, at+got, base.ErrCorrupt)
		}
		if err := u.send(&docIDs, u.docIDs.Slice(at, at+got), got); err != nil {
			return err
		}
		if err := u.send(&freqs, u.freqs.Slice(at, at+got), got); err != nil {
			return err
		}
		at += got
	}
	return nil
}
