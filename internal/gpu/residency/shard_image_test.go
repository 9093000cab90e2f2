package residency

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/decode"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/gpu/imagesearch"
	"github.com/griffin-search/griffin/internal/score"
)

// openOneOfTwo opens a device whose shards may be parts of segments.
func openOneOfTwo(t *testing.T, compact bool) *Device {
	t.Helper()
	lib, err := cuda.Load(gputest.Library(t).Path())
	if err != nil {
		t.Fatal(err)
	}
	indexBytes := int64(2<<20) / imagesPerIndex // of which a half is on the device
	if compact {
		indexBytes++
	}
	d, err := OpenDevice(lib, 0, DeviceOptions{Memory: Memory{Bytes: 1 << 20}, HostMemory: HostMemory{None: true}, IndexBytes: indexBytes, Uploaders: 1}, 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	// The padding of images must be 0 for comparisons.
	d.Probe().Fill(spaceAlign)()
	if err := errors.Join(cuda.Fill(d.uploaders[0].stream, d.slabs.buffers[0], 0), d.uploaders[0].Synchronize()); err != nil {
		t.Fatal(err)
	}
	return d
}

// wholeList decodes a compressed list.
func wholeList(t *testing.T, leg *Leg) (docIDs, freqs []uint32) {
	t.Helper()
	for i := range leg.List.NumBlocks() {
		var d, f [codec.BlockLen]uint32
		n, err := leg.List.DecodeDocIDs(i, &d)
		if err == nil {
			err = leg.List.DecodeFreqs(i, n, &f)
		}
		if err != nil {
			t.Fatal(err)
		}
		size := leg.List.BlockSize(i)
		docIDs, freqs = append(docIDs, d[:size]...), append(freqs, f[:size]...)
	}
	return docIDs, freqs
}

// inRange returns the postings of the documents [from, to), relative to from.
func inRange(docIDs, freqs []uint32, from, to int) (d, f []uint32) {
	for i, doc := range docIDs {
		if int(doc) >= from && int(doc) < to {
			d, f = append(d, doc-uint32(from)), append(f, freqs[i])
		}
	}
	return d, f
}

// checkImage compares an image on the device with one that the CPU encodes.
func checkImage(t *testing.T, d *Device, e *Entry, shape imagesearch.Shape, docIDs, freqs, lengths []uint32) {
	t.Helper()
	if got := e.image.Shape(); got != shape {
		t.Errorf("shape %+v, want %+v", got, shape)
		return
	}
	want, err := imagesearch.Encode(nil, shape, docIDs, freqs, lengths)
	if err != nil {
		t.Fatal(err)
	}
	got, u := make([]uint32, e.extent.size/4), d.uploaders[0]
	if err := errors.Join(cuda.CopyToHost(u.stream, got, d.memory(e.extent)), u.stream.Synchronize()); err != nil {
		t.Fatal(err)
	}
	if roundUp(int64(len(want))) != e.extent.size {
		t.Errorf("%d bytes on the device, want %d", e.extent.size, roundUp(int64(len(want))))
	}
	raw := make([]byte, 0, 4*len(got))
	for _, w := range got {
		raw = append(raw, byte(w), byte(w>>8), byte(w>>16), byte(w>>24))
	}
	if !bytes.Equal(raw[:len(want)], want) {
		t.Error("wrong contents")
	}
}

var shardRanges = [][2]int{{0, 6000}, {0, 2999}, {2999, 6000}, {64, 4097}, {5999, 6000}}

// The images of a part of a segment contain the postings of its documents, relative to the
// first. w2 has too few postings for the device to decode it. All bytes sent are counted.
func TestImagesOfShards(t *testing.T) {
	s := makeSegment(t, 6000)
	for _, r := range shardRanges {
		t.Run(fmt.Sprint(r), func(t *testing.T) {
			compact := r[0] > 0
			d := openOneOfTwo(t, compact)
			u, p := d.uploaders[0], d.Shard(s, r[0], r[1])
			defer p.Release()
			if p.whole != (r[1]-r[0] == s.NumDocs) {
				t.Errorf("whole: %t", p.whole)
			}
			lengths := s.Segment.Lengths(0)[r[0]:r[1]]
			var sent int64
			for _, word := range []string{"w2", "w1", "w0", "w3"} {
				leg := findLeg(t, s, word)
				docIDs, freqs := inRange(wholeListOf(t, leg, r))
				e, _, err := u.uploadImage(p, s, leg, always)
				if err != nil {
					t.Fatal(err)
				}
				if len(docIDs) == 0 {
					if e.extent.size != spaceAlign {
						t.Errorf("%s: %d bytes for no postings", word, e.extent.size)
					}
					e.Unpin()
					continue
				}
				meta := s.Segment.Meta()
				checkImage(t, d, e, imagesearch.Shape{
					NumDocs: r[1] - r[0], DocFreq: len(docIDs), CollFreq: leg.List.CollFreq, Max: leg.List.Max,
					Saturation: score.Saturation{BM25: meta.BM25, AvgLen: meta.Fields[0].AvgLen}, Compact: compact,
				}, docIDs, freqs, lengths)
				e.Unpin()
				if payload, directory := leg.List.Raw(); leg.DocFreq() >= 2048 {
					sent += int64((len(payload)+3)/4*4 + 4*decode.EntryWords*len(directory))
				} else {
					sent += 8 * int64(len(docIDs))
				}
				if want := sent + 4*int64(len(lengths)); u.bytes != want || d.uploaded.Load() != want {
					t.Errorf("%s: %d bytes counted by the uploader, %d on the device, want %d", word, u.bytes, d.uploaded.Load(), want)
				}
			}
		})
	}
}

func wholeListOf(t *testing.T, leg *Leg, r [2]int) (docIDs, freqs []uint32, from, to int) {
	t.Helper()
	docIDs, freqs = wholeList(t, leg)
	return docIDs, freqs, r[0], r[1]
}

// The images of impact-ordered lists need no document lengths.
func TestImagesOfImpacts(t *testing.T) {
	const numDocs = 1400
	x, lists := impactLists(t, numDocs)
	s := &Segment{Key: "impacts", NumDocs: numDocs, Impacts: x}
	for _, r := range [][2]int{{0, numDocs}, {100, 901}} {
		t.Run(fmt.Sprint(r), func(t *testing.T) {
			d := openOneOfTwo(t, false)
			u, p := d.uploaders[0], d.Shard(s, r[0], r[1])
			defer p.Release()
			for _, word := range []string{"w0", "w1"} {
				leg := new(Leg)
				leg.Impacts = lists[word]
				var src source
				if err := src.open(p, leg); err != nil {
					t.Fatal(err)
				}
				if dense := int(leg.DocFreq()) >= (r[1]-r[0])/denseImpacts; src.isDense != dense {
					t.Errorf("%s: dense %t, want %t", word, src.isDense, dense)
				}
				docIDs, freqs := readSource(t, &src, 1<<12)
				before := u.bytes
				e, uploaded, err := u.uploadImage(p, s, leg, always)
				if err != nil || !uploaded {
					t.Fatal(uploaded, err)
				}
				checkImage(t, d, e, imagesearch.Shape{
					NumDocs: r[1] - r[0], DocFreq: len(docIDs), CollFreq: 255 * uint64(leg.DocFreq()), Max: score.Bound(leg.Impacts.Max),
					Saturation: score.Saturation{Linear: true},
				}, docIDs, freqs, nil)
				e.Unpin()
				if n := u.bytes - before; n != 8*int64(len(docIDs)) {
					t.Errorf("%s: %d bytes sent, want %d", word, n, 8*len(docIDs))
				}
			}
		})
	}
}

// A shard's estimate is exact if the postings are evenly distributed.
func TestImageBytesOfShards(t *testing.T) {
	s, d := makeSegment(t, 6000), openOneOfTwo(t, false)
	p := d.Shard(s, 1200, 3600)
	defer p.Release()
	for _, word := range []string{"w0", "w1", "w2", "w3"} {
		leg := findLeg(t, s, word)
		e, _, err := d.uploaders[0].uploadImage(p, s, leg, always)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.ImageBytes(s.NumDocs, leg); got != e.extent.size {
			t.Errorf("%s: estimate %d, the image has %d bytes", word, got, e.extent.size)
		}
		e.Unpin()
	}
}

// A shard lives until its last reference is released.
func TestShardReferences(t *testing.T) {
	s, d := makeSegment(t, 100), openOneOfTwo(t, false)
	p := d.Shard(s, 0, 50)
	if again := d.Shard(s, 0, 50); again != p {
		t.Error("a second shard of the same segment")
	}
	if p.Retain() != p {
		t.Error("Retain returns another shard")
	}
	for want := range 3 {
		if n := d.Probe().Shards(); n != 1 {
			t.Errorf("%d shards after %d releases", n, want)
		}
		p.Release()
	}
	if n := d.Probe().Shards(); n != 0 {
		t.Errorf("%d shards after the last release", n)
	}
}
