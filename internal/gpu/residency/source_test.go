package residency

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/decode"
	"github.com/griffin-search/griffin/internal/impact"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/score"
)

// readSource uses buffers of room postings.
func readSource(t *testing.T, s *source, room int) (docIDs, freqs []uint32) {
	t.Helper()
	bufferD, bufferF := make([]uint32, room), make([]uint32, room)
	for {
		n, err := s.next(bufferD, bufferF)
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			return docIDs, freqs
		}
		docIDs, freqs = append(docIDs, bufferD[:n]...), append(freqs, bufferF[:n]...)
	}
}

// checkSource compares the source of each range of a segment with the whole list.
func checkSource(t *testing.T, what string, leg *Leg, numDocs int, docIDs, freqs []uint32, rooms ...int) {
	t.Helper()
	var s source
	for _, r := range [][2]int{{0, numDocs}, {0, numDocs / 2}, {numDocs / 2, numDocs}, {64, 65}, {63, 640}, {128, 130}, {numDocs - 1, numDocs}} {
		p := &Shard{from: uint32(r[0]), to: uint32(r[1]), whole: r[1]-r[0] == numDocs}
		var wantD, wantF []uint32
		for i, doc := range docIDs {
			if doc >= p.from && doc < p.to {
				wantD, wantF = append(wantD, doc-p.from), append(wantF, freqs[i])
			}
		}
		for _, room := range rooms {
			if err := s.open(p, leg); err != nil {
				t.Fatal(err)
			}
			if s.count != len(wantD) {
				t.Errorf("%s in [%d, %d): %d postings, want %d", what, p.from, p.to, s.count, len(wantD))
			}
			if gotD, gotF := readSource(t, &s, room); !slices.Equal(gotD, wantD) || !slices.Equal(gotF, wantF) {
				t.Errorf("%s in [%d, %d), %d at a time: postings %v, %v; want %v, %v", what, p.from, p.to, room, gotD, gotF, wantD, wantF)
			}
		}
	}
}

// The postings are in the shard's range, with any size of buffers.
func TestSource(t *testing.T) {
	s := makeSegment(t, 1400)
	for _, word := range []string{"w0", "w1", "w2", "w3"} {
		leg := findLeg(t, s, word)
		var docIDs, freqs []uint32
		for i := range leg.List.NumBlocks() {
			var d, f [codec.BlockLen]uint32
			n, err := leg.List.DecodeDocIDs(i, &d)
			if err == nil {
				err = leg.List.DecodeFreqs(i, n, &f)
			}
			if err != nil {
				t.Fatal(err)
			}
			docIDs, freqs = append(docIDs, d[:leg.List.BlockSize(i)]...), append(freqs, f[:leg.List.BlockSize(i)]...)
		}
		checkSource(t, word, leg, s.NumDocs, docIDs, freqs, codec.BlockLen, 3*codec.BlockLen-1, 1<<12)
	}
}

// w0 is in every other document, w1 in each 50th.
func impactLists(t *testing.T, numDocs int) (x *impact.Index, lists map[string]*impact.List) {
	t.Helper()
	ix := indextest.Write(t, index.Options{Analyzer: "whitespace", NoStored: true}, func(w *indextest.Writer) {
		for i := range numDocs {
			text := ""
			for range (1 + i%5) * (i % 2) {
				text += "w0 "
			}
			if i%50 == 0 {
				for range 1 + i%3 {
					text += "w1 "
				}
			}
			w.AddText(i, text+fmt.Sprint("x", i%7))
		}
	})
	if _, err := ix.BuildImpacts(t.Context(), index.ImpactOptions{}); err != nil {
		t.Fatal(err)
	}
	x, err := indextest.Snapshot(t, ix).Impacts()
	if err != nil {
		t.Fatal(err)
	}
	lists = map[string]*impact.List{}
	it := x.Lists()
	for it.Next() {
		l := *it.List()
		lists[string(it.Term())] = &l
	}
	return x, lists
}

// The lists are dense and sparse.
func TestSourceOfImpacts(t *testing.T) {
	const numDocs = 1400
	x, lists := impactLists(t, numDocs)
	for _, word := range []string{"w0", "w1", "x3"} {
		l := lists[word]
		impacts := map[uint32]uint32{}
		segments, err := l.AppendSegments(nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(segments) < 2 {
			t.Fatalf("%s has %d impacts", word, len(segments))
		}
		for i := range segments {
			docs, err := x.AppendDocIDs(nil, &segments[i])
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range docs {
				impacts[uint32(d)] = uint32(segments[i].Impact)
			}
		}
		var docIDs, freqs []uint32
		for doc := range uint32(numDocs) {
			if v, ok := impacts[doc]; ok {
				docIDs, freqs = append(docIDs, doc), append(freqs, v)
			}
		}
		leg := new(Leg)
		leg.Impacts = l
		checkSource(t, word, leg, numDocs, docIDs, freqs, 1, 7, 1<<12)
	}
	if l := lists["w1"]; int(l.DocFreq) >= numDocs/denseImpacts {
		t.Errorf("w1 has %d postings: not sparse", l.DocFreq)
	}
}

func TestCheckDistinct(t *testing.T) {
	for _, c := range []struct {
		sorted []uint64
		twice  bool
	}{
		{nil, false},
		{[]uint64{7<<8 | 1}, false},
		{[]uint64{6<<8 | 9, 7<<8 | 9, 8<<8 | 9}, false},
		{[]uint64{7<<8 | 1, 7<<8 | 2}, true},
		{[]uint64{1<<8 | 1, 7<<8 | 2, 7<<8 | 3, 9<<8 | 3}, true},
		{[]uint64{1<<8 | 1, 9<<8 | 2, 9<<8 | 3}, true},
	} {
		if err := checkDistinct(c.sorted); errors.Is(err, base.ErrCorrupt) != c.twice {
			t.Errorf("%v: error %v", c.sorted, err)
		}
	}
}

func TestCheckDirectory(t *testing.T) {
	sound := func() []postings.BlockEntry {
		return []postings.BlockEntry{{First: 3, Last: 3, Offset: 0}, {First: 4, Last: 90, Offset: 0}, {First: 92, Last: 95, Offset: 100}}
	}
	if err := errors.Join(checkDirectory(100, sound()), checkDirectory(0, nil)); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(d []postings.BlockEntry){
		"first beyond last":    func(d []postings.BlockEntry) { d[1].First = 91 },
		"outside the payload":  func(d []postings.BlockEntry) { d[2].Offset = 101 },
		"overlapping blocks":   func(d []postings.BlockEntry) { d[1].First = 3 },
		"falling offsets":      func(d []postings.BlockEntry) { d[0].Offset = 1 },
		"falling blocks":       func(d []postings.BlockEntry) { d[2].First = 1 },
		"first block reversed": func(d []postings.BlockEntry) { d[0].First = 4 },
	} {
		d := sound()
		change(d)
		if err := checkDirectory(100, d); !errors.Is(err, base.ErrCorrupt) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// The copies are longer than one slot.
func TestLongCopies(t *testing.T) {
	d := openDeviceOnly(t, DeviceOptions{Memory: Memory{Bytes: 1 << 20}, Uploaders: 1})
	u := d.uploaders[0]
	const blocks = slotWords/decode.EntryWords + 3
	directory := make([]postings.BlockEntry, blocks)
	for i := range directory {
		n := uint32(i)
		directory[i] = postings.BlockEntry{First: 7 * n, Last: 7*n + 3, Offset: 5 * n, Bound: score.Bound(n), DocWidth: uint8(n % 30), FreqWidth: uint8(n % 17)}
	}
	want := make([]uint32, blocks*decode.EntryWords)
	directoryWords(want, directory)
	for i, e := range directory {
		w := want[decode.EntryWords*i:]
		if w[0] != e.First || w[1] != e.Last || w[2] != e.Offset || w[3] != uint32(e.Bound)+uint32(e.DocWidth)<<16+uint32(e.FreqWidth)<<24 {
			t.Fatalf("entry %d: words %x", i, w[:decode.EntryWords])
		}
	}
	dst, err := cuda.Alloc[uint32](d.dev, len(want))
	if err != nil {
		t.Fatal(err)
	}
	got := make([]uint32, len(want))
	for what, copyAll := range map[string]func() error{
		"directory": func() error { return u.copyDirectory(dst, directory) },
		"words":     func() error { return u.copyWords(dst, want) },
	} {
		clear(got)
		before, bytes := d.uploaded.Load(), u.bytes
		if err := errors.Join(cuda.Fill(u.stream, dst, 0xff), copyAll(), cuda.CopyToHost(u.stream, got, dst), u.stream.Synchronize()); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: wrong contents", what)
		}
		if n := int64(4 * len(want)); d.uploaded.Load()-before != n || u.bytes-bytes != n {
			t.Errorf("%s: %d bytes counted on the device and %d by the uploader, want %d", what, d.uploaded.Load()-before, u.bytes-bytes, n)
		}
	}
	if err := dst.Free(); err != nil {
		t.Error(err)
	}
}
