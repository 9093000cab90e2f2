package residency

import (
	"errors"
	"fmt"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/decode"
	"github.com/griffin-search/griffin/internal/gpu/imagesearch"
	"github.com/griffin-search/griffin/internal/gpu/packedsearch"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/vfs"
)

// ErrNoRoom reports that lists of other queries occupy the memory. The CPU, or a retry after
// they end, can succeed.
var ErrNoRoom = errors.New("GPU memory is full of lists that are in use")

// ErrTooLarge reports that a list exceeds the memory limit for lists.
var ErrTooLarge = errors.New("a posting list is larger than the GPU memory that lists may take")

// uploadImage returns a list's pinned image, uploaded if missing, or ErrNoRoom if the evictions
// that a allows do not suffice.
func (u *Uploader) uploadImage(p *Shard, s *Segment, leg *Leg, a admission) (_ *Entry, uploaded bool, err error) {
	k := leg.key(p.id)
	if e := u.d.cache.claim(k); e != nil {
		return e, false, nil // uploaded by another run
	}
	defer u.d.cache.unclaim(k)
	defer u.abandonOnError(&err)
	defer vfs.RecoverFault(vfs.PanicOnFault(), &err)
	if err := u.source.open(p, leg); err != nil {
		return nil, false, err
	}
	shape := imageShape(p, leg, u.source.count)
	size := int64(spaceAlign)
	if shape.DocFreq > 0 {
		size = shape.SizeBytes()
	}
	if limit := u.d.limit[0].Load(); size > limit {
		return nil, false, fmt.Errorf("%d bytes of %d: %w", size, limit, ErrTooLarge)
	}
	e := u.d.cache.acquire(k, leg.term(), size, 1, imageGain(size, u.d.ReadsPacked(p, leg)), a)
	if e == nil {
		return nil, false, ErrNoRoom
	}
	u.making = e
	u.d.cache.misses.Add(1)
	if shape.DocFreq > 0 {
		if e.image, err = u.fill(e, p, s, leg, shape); err != nil {
			return nil, false, err
		}
	}
	if err := u.finish(e); err != nil {
		return nil, false, err
	}
	u.made += e.extent.size
	return e, true, nil
}

// uploadPacked does the same for a compressed list, from the index's file. The caller has
// checked the directory.
func (u *Uploader) uploadPacked(p *Shard, leg *Leg, a admission) (_ *Entry, err error) {
	k := leg.key(p.id).of(kindPacked)
	if e := u.d.cache.claim(k); e != nil {
		return e, nil
	}
	defer u.d.cache.unclaim(k)
	defer u.abandonOnError(&err)
	defer vfs.RecoverFault(vfs.PanicOnFault(), &err)
	payload, directory := leg.List.Raw()
	shape := shapeOf(len(payload), len(directory))
	size := shape.sizeBytes()
	if limit := u.d.limit[0].Load(); size > limit {
		return nil, fmt.Errorf("%d bytes of %d: %w", size, limit, ErrTooLarge)
	}
	directoryBytes := 4 * int64(directoryLen(leg.DocFreq()))
	e := u.d.cache.acquire(k, leg.term(), size, 1, packedGain(size-directoryBytes, directoryBytes, usualShare), a)
	if e == nil {
		return nil, ErrNoRoom
	}
	u.making = e
	memory := u.d.memory(e.extent)
	e.packed = packed{payload: memory.Ptr(), directory: memory.Slice(shape.payload, shape.words).Ptr()}
	// Kernels read the padding of the payload, up to a multiple of 16 bytes.
	if len(payload) > 0 {
		if err := cuda.Fill(u.stream, memory.Slice(shape.payload-4, shape.payload), 0); err != nil {
			return nil, err
		}
	}
	if err := u.copyBytes(memory.Slice(0, shape.payload), payload); err != nil {
		return nil, err
	}
	if err := u.copyDirectory(memory.Slice(shape.payload, shape.words), directory); err != nil {
		return nil, err
	}
	if err := u.finish(e); err != nil {
		return nil, err
	}
	return e, nil
}

// promote copies a pinned page-locked list, or its directory, to the device, and returns the
// pinned entry without waiting for the copy; uses counts the reads since the last attempt. It
// returns nil if the list is resident or claimed, or if the evictions that a allows do not
// suffice.
func (u *Uploader) promote(host *Entry, docFreq uint32, what kind, uses uint32, a admission) (_ *Entry, err error) {
	k := host.key.of(what)
	if !u.d.cache.tryClaim(k) {
		return nil, nil
	}
	defer u.d.cache.unclaim(k)
	defer u.abandonOnError(&err)
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
	e := u.d.cache.acquire(k, host.term, size, uses, gain, a)
	if e == nil {
		return nil, nil
	}
	u.making = e
	memory := u.d.memory(e.extent)
	e.packed.directory = memory.Ptr()
	if what == kindPacked {
		e.packed = packed{payload: memory.Ptr(), directory: memory.Slice(payload, len(words)).Ptr()}
	}
	host.refs.Add(1) // copyPacked releases this pin
	if err := u.copyPacked(memory, host, words); err != nil {
		return nil, err
	}
	if err := u.finish(e); err != nil {
		return nil, err
	}
	return e, nil
}

func (u *Uploader) promoteFree(host *Entry, docFreq uint32, what kind) error {
	e, err := u.promote(host, docFreq, what, 1, ifFree)
	if e != nil {
		e.Unpin()
	}
	return err
}

// finish publishes an entry after its work was queued in the stream.
func (u *Uploader) finish(e *Entry) error {
	next := (u.event.Load() + 1) % numEvents
	if err := u.stream.Record(u.events[next]); err != nil {
		return err
	}
	u.event.Store(next)
	u.sent()
	e.lane, e.event = u.number, int(next)
	u.making = nil
	u.d.cache.publish(e)
	return nil
}

// abandonOnError is deferred by functions that upload a list, to abandon an upload that ended
// with an error. After a panic that is no fault of a file, the owner of the uploader calls
// AbandonAll.
func (u *Uploader) abandonOnError(err *error) {
	if *err != nil && u.Busy() {
		*err = errors.Join(*err, u.AbandonAll())
	}
}

// AbandonAll abandons an interrupted upload: it waits for the stream, which may still write to
// the entry's memory, unpins the lists being copied, and drops the entry.
func (u *Uploader) AbandonAll() error {
	err := u.stream.Synchronize()
	u.sent()
	if e := u.making; e != nil {
		u.making = nil
		u.d.cache.abandon(e)
	}
	return err
}

// sent unpins the page-locked lists being copied; their memory is reused only after the event
// recorded last (Device.settleHost).
func (u *Uploader) sent() {
	for i, e := range u.lists {
		e.readers.Or(1 << (u.number % 64))
		e.Unpin()
		u.lists[i] = nil
	}
	u.lists = u.lists[:0]
}

// fill queues the image's work.
func (u *Uploader) fill(e *Entry, p *Shard, s *Segment, leg *Leg, shape imagesearch.Shape) (imagesearch.Image, error) {
	var lengths cuda.Buffer[uint32]
	var err error
	if !shape.Saturation.Linear {
		if lengths, err = u.Lengths(p, s, leg.Field); err != nil {
			return imagesearch.Image{}, err
		}
	}
	// Decoders write whole blocks of the whole list.
	room := roundBlocks(int(leg.DocFreq()))
	if err := grow(u, &u.docIDs, room); err != nil {
		return imagesearch.Image{}, err
	}
	if err := grow(u, &u.freqs, room); err != nil {
		return imagesearch.Image{}, err
	}
	n := shape.DocFreq
	docIDs, freqs := u.docIDs.Slice(0, n), u.freqs.Slice(0, n)
	if c, ok := decodes(leg); ok {
		if err = u.decodeOnDevice(e, c, leg); err == nil && !p.whole {
			first := u.source.first
			docIDs, freqs = u.docIDs.Slice(first, first+n), u.freqs.Slice(first, first+n)
			err = u.d.own.rebaser.rebase(u.stream, docIDs, p.from)
		}
	} else {
		err = u.decodeOnHost(n)
	}
	if err != nil {
		return imagesearch.Image{}, err
	}
	return u.d.fast.Build(u.stream, u.d.memory(e.extent).Bytes(), shape, docIDs, freqs, lengths)
}

// grow makes b hold at least n words, discards its contents, and waits for the stream before it
// frees the old buffer.
func grow(u *Uploader, b *cuda.Buffer[uint32], n int) error {
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

// decodes returns false if the CPU decodes the list.
func decodes(leg *Leg) (decode.Codec, bool) {
	// The CPU decodes a shorter list in the time of a kernel launch.
	const least = 2048
	if leg.List == nil || leg.DocFreq() < least {
		return decode.Codec{}, false
	}
	// The CPU must compute the array bounds of pfordelta-rec, which takes about the time of decoding.
	if _, recursive := leg.List.Codec.(codec.PForDeltaRec); recursive {
		return decode.Codec{}, false
	}
	return decode.CodecOf(leg.List.Codec)
}

func (u *Uploader) decodeOnDevice(e *Entry, c decode.Codec, leg *Leg) error {
	payload, directory := leg.List.Raw()
	packed := shapeOf(len(payload), len(directory))
	if err := grow(u, &u.payload, packed.words); err != nil {
		return err
	}
	dir := u.payload.Slice(packed.payload, packed.words)
	if err := u.copyList(e, dir, payload, directory); err != nil {
		return err
	}
	source := decode.Source{Payload: u.payload.Slice(0, (len(payload)+3)/4), Directory: dir, NumPostings: int(leg.DocFreq())}
	if len(payload) == 0 { // all widths are 0: decode.NewList needs a payload but does not read it
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

// copyList copies a list's payload to the start of u.payload and its directory to dir, from
// page-locked memory if it is resident or, after repeated uploads, added there.
func (u *Uploader) copyList(e *Entry, dir cuda.Buffer[uint32], payload []byte, directory []postings.BlockEntry) error {
	k := e.key.of(kindHost)
	from := u.d.host.cache.find(k)
	if from == nil {
		if err := checkDirectory(len(payload), directory); err != nil {
			return err
		}
		if e.again {
			from = u.d.lockList(k, e.term, payload, directory, ifBetter)
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

// sent unpins the list.
func (u *Uploader) copyPacked(dst cuda.Buffer[uint32], from *Entry, words []uint32) error {
	u.lists = append(u.lists, from)
	if err := cuda.CopyToDevice(u.stream, dst, words); err != nil {
		return err
	}
	u.count(len(words))
	return nil
}

// decodeOnHost decodes n postings of the source and copies them to the device.
func (u *Uploader) decodeOnHost(n int) error {
	for at := 0; at < n; {
		docIDs, err := u.chunk(roundBlocks(n - at))
		if err != nil {
			return err
		}
		freqs, err := u.chunk(roundBlocks(n - at))
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

// ReadsPacked reports whether kernels can read a leg's compressed list: the shard is the whole
// segment and package packedsearch supports the codec.
func (d *Device) ReadsPacked(p *Shard, leg *Leg) bool {
	return p.whole && leg.List != nil && packedsearch.Supported(leg.List.Codec) == nil
}
