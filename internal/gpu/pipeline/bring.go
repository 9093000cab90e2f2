package pipeline

import (
	"errors"
	"fmt"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/decode"
	"github.com/griffin-search/griffin/internal/gpu/fastpath"
	"github.com/griffin-search/griffin/internal/postings"
)

// errNoRoom says that lists of other queries take the memory that a list needs.
var errNoRoom = errors.New("GPU memory is full of lists that are in use")

// errTooLarge says that a list does not fit into the memory that lists may take.
var errTooLarge = errors.New("a posting list is larger than the GPU memory that lists may take")

// bringImage returns the pinned entry of a list's image, and brings it if it is not
// there; a says what may go for it. The error is errNoRoom if the memory is in use.
func (u *uploader) bringImage(p *part, s *Segment, leg *Leg, a admission) (e *entry, brought bool, err error) {
	k := leg.key(p.id)
	if e := u.d.cache.claim(k); e != nil {
		return e, false, nil // another run has brought it
	}
	defer u.d.cache.unclaim(k)
	if err := u.source.open(p, leg); err != nil {
		return nil, false, err
	}
	shape := imageShape(p, leg, u.source.count)
	size := int64(spaceAlign)
	if shape.DocFreq > 0 {
		size = shape.SizeBytes()
	}
	if limit := u.d.limit[0].Load(); size > limit {
		return nil, false, fmt.Errorf("%d bytes of %d: %w", size, limit, errTooLarge)
	}
	if e = u.d.cache.acquire(k, size, 1, imageGain(size, u.d.readsDirectly(p, leg)), a); e == nil {
		return nil, false, errNoRoom
	}
	u.making = e
	u.d.cache.misses.Add(1)
	if shape.DocFreq > 0 {
		if e.image, err = u.fill(e, p, s, leg, shape); err != nil {
			// What was put into the stream may still write to the entry's memory.
			return nil, false, errors.Join(err, u.abandon(e))
		}
	}
	if err := u.finish(e); err != nil {
		return nil, false, err
	}
	u.made += e.extent.size
	return e, true, nil
}

// bringPacked returns the pinned compressed list on the device, and copies it there from
// the index's file if it is not; a says what may go for it. The error is errNoRoom if
// the memory is in use. Its directory was checked.
func (u *uploader) bringPacked(p *part, leg *Leg, a admission) (*entry, error) {
	k := leg.key(p.id).of(kindPacked)
	if e := u.d.cache.claim(k); e != nil {
		return e, nil
	}
	defer u.d.cache.unclaim(k)
	payload, directory := leg.List.Raw()
	shape := shapeOf(len(payload), len(directory))
	size := shape.sizeBytes()
	if limit := u.d.limit[0].Load(); size > limit {
		return nil, fmt.Errorf("%d bytes of %d: %w", size, limit, errTooLarge)
	}
	directoryBytes := 4 * int64(directoryLen(leg.DocFreq))
	e := u.d.cache.acquire(k, size, 1, packedGain(size-directoryBytes, directoryBytes, usualShare), a)
	if e == nil {
		return nil, errNoRoom
	}
	u.making = e
	memory := u.d.memory(e.extent)
	e.packed = packed{payload: memory.Ptr(), directory: memory.Slice(shape.payload, shape.words).Ptr()}
	// What is behind the payload up to a multiple of 16 bytes is read, too.
	var err error
	if len(payload) > 0 {
		err = cuda.Fill(u.stream, memory.Slice(shape.payload-4, shape.payload), 0)
	}
	if err == nil {
		err = u.copyBytes(memory.Slice(0, shape.payload), payload)
	}
	if err == nil {
		err = u.copyDirectory(memory.Slice(shape.payload, shape.words), directory)
	}
	if err != nil {
		return nil, errors.Join(err, u.abandon(e))
	}
	return e, u.finish(e)
}

// promote copies a page-locked list, which the caller has pinned and which was read so many
// times, or its directory, to the device, if nobody else does and it is worth more there
// than what would have to go (a). It returns what is there then, pinned, or nil; it does not
// wait.
func (u *uploader) promote(host *entry, docFreq uint32, what kind, uses uint32, a admission) (*entry, error) {
	k := host.key.of(what)
	if !u.d.cache.tryClaim(k) {
		return nil, nil
	}
	defer u.d.cache.unclaim(k)
	words := host.packed.words
	payload := len(words) - directoryLen(docFreq)
	size, directoryBytes := int64(len(words))*4, int64(len(words)-payload)*4
	gain := packedGain(size-directoryBytes, directoryBytes, host.share())
	if what == kindDirectory {
		words, size = words[payload:], directoryBytes
		gain = directoryGain(size)
	}
	if size > u.d.limit[0].Load() {
		return nil, nil
	}
	e := u.d.cache.acquire(k, size, uses, gain, a)
	if e == nil {
		return nil, nil
	}
	u.making = e
	memory := u.d.memory(e.extent)
	e.packed.directory = memory.Ptr()
	if what == kindPacked {
		e.packed = packed{payload: memory.Ptr(), directory: memory.Slice(payload, len(words)).Ptr()}
	}
	host.refs.Add(1) // copyPacked gives it back
	if err := u.copyPacked(memory, host, words); err != nil {
		return nil, errors.Join(err, u.abandon(e))
	}
	if err := u.finish(e); err != nil {
		return nil, err
	}
	return e, nil
}

// promoteFree is promote where there is room.
func (u *uploader) promoteFree(host *entry, docFreq uint32, what kind) error {
	e, err := u.promote(host, docFreq, what, 1, ifFree)
	if e != nil {
		e.unpin()
	}
	return err
}

// finish publishes an entry of the device once all that makes it is in the stream.
func (u *uploader) finish(e *entry) error {
	next := (u.event.Load() + 1) % numEvents
	if err := u.stream.Record(u.events[next]); err != nil {
		return errors.Join(err, u.abandon(e))
	}
	u.event.Store(next)
	u.sent()
	e.lane, e.event = u.number, int(next)
	u.making = nil
	u.d.cache.publish(e)
	return nil
}

// abandon gives up an entry of the device, if it is not nil, and lists that are being
// copied.
func (u *uploader) abandon(e *entry) error {
	err := u.stream.Synchronize()
	u.sent()
	if u.making = nil; e != nil {
		u.d.cache.abandon(e)
	}
	return err
}

// sent lets go of the page-locked lists that are being copied. Whoever wants their
// memory waits for the event recorded last (device.settleHost).
func (u *uploader) sent() {
	for i, e := range u.lists {
		e.readers.Or(1 << (u.number % 64))
		e.unpin()
		u.lists[i] = nil
	}
	u.lists = u.lists[:0]
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
	return u.d.fast.Build(u.stream, u.d.memory(e.extent).Bytes(), shape, docIDs, freqs, lengths)
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
	packed := shapeOf(len(payload), len(directory))
	if err := grow(u, &u.payload, packed.words); err != nil {
		return err
	}
	dir := u.payload.Slice(packed.payload, packed.words)
	if err := u.copyList(e, dir, payload, directory); err != nil {
		return err
	}
	source := decode.Source{Payload: u.payload.Slice(0, (len(payload)+3)/4), Directory: dir, NumPostings: int(leg.DocFreq)}
	if len(payload) == 0 { // all widths are 0: what lies there is not used, but there is to be something
		source.Payload = dir
	}
	list, err := decode.NewList(source, cuda.Buffer[uint32]{}, u.docIDs)
	if err != nil {
		return err
	}
	if err := u.d.decode.DecodeList(u.stream, c, decode.DocIDs, list); err != nil {
		return err
	}
	freqs, err := decode.NewList(source, cuda.Buffer[uint32]{}, u.freqs)
	if err != nil {
		return err
	}
	return u.d.decode.DecodeList(u.stream, c, decode.Freqs, freqs)
}

// copyList copies a list's payload to the start of u.payload and its directory to dir,
// out of page-locked memory if it is there, and puts it there if it was brought before.
func (u *uploader) copyList(e *entry, dir cuda.Buffer[uint32], payload []byte, directory []postings.BlockEntry) error {
	k := e.key.of(kindHost)
	from := u.d.host.cache.find(k)
	if from == nil {
		if err := checkDirectory(len(payload), directory); err != nil {
			return err
		}
		if e.again {
			from = u.d.keep(k, payload, directory, ifBetter)
		}
	}
	if from == nil {
		if err := u.copyBytes(u.payload, payload); err != nil {
			return err
		}
		return u.copyDirectory(dir, directory)
	}
	return u.copyPacked(u.payload, from, from.packed.words)
}

// copyPacked copies words of a page-locked list that is pinned, and has it unpinned when
// they are sent (sent).
func (u *uploader) copyPacked(dst cuda.Buffer[uint32], from *entry, words []uint32) error {
	u.lists = append(u.lists, from)
	if err := cuda.CopyToDevice(u.stream, dst, words); err != nil {
		return err
	}
	u.count(len(words))
	return nil
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
