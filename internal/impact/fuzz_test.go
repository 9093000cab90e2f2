package impact

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/sealed"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

func seal(t testing.TB, payload []byte) *vfstest.Mem {
	t.Helper()
	fs := vfstest.NewMem()
	w, err := sealed.Create(fs, "impacts", kind, FormatVersion)
	if err == nil {
		_, err = w.Write(payload)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return fs
}

// A small file for each codec.
func payloads(t testing.TB) [][]byte {
	t.Helper()
	var out [][]byte
	for _, name := range codec.Names() {
		fs := vfstest.NewMem()
		w, err := Create(fs, "impacts", Options{NumDocs: 900, Ranking: Ranking{Name: RankingExternal}, Codec: name, BitmapBits: 8})
		if err != nil {
			t.Fatal(err)
		}
		var sparse, dense []Posting
		for d := range base.DocID(900) {
			if d%5 == 0 || d%7 == 0 {
				sparse = append(sparse, Posting{d, uint8(1 + d%2)})
			}
			dense = append(dense, Posting{d, uint8(1 + d%3)})
		}
		for i, l := range [][]Posting{dense, sparse, sparse[:40], dense[:3]} {
			if err := w.Add([]byte{'a' + byte(i)}, l); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		f, err := sealed.Open(fs, "impacts", kind, FormatVersion)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, append([]byte(nil), f.Bytes()...))
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// Arbitrary content: values, or an error.
func FuzzOpen(f *testing.F) {
	for _, p := range payloads(f) {
		f.Add(p, uint32(0), byte(0))
		f.Add(p, uint32(len(p)/2), byte(1))
		f.Add(p, uint32(3), byte(0x80))
	}
	f.Fuzz(func(t *testing.T, payload []byte, at uint32, flip byte) {
		if len(payload) > 1<<16 {
			t.Skip()
		}
		payload = append([]byte(nil), payload...)
		if int(at) < len(payload) {
			payload[at] ^= flip
		}
		x, err := Open(seal(t, payload), "impacts")
		if err != nil {
			wantCorrupt(t, err)
			return
		}
		defer x.Close()
		if x.NumDocs() <= 1<<20 { // Verify takes memory for them
			wantCorrupt(t, x.Verify(context.Background(), nil))
		}
		var segments []Segment
		var docIDs []base.DocID
		it := x.Lists()
		for it.Next() {
			if segments, err = it.List().AppendSegments(segments[:0]); err != nil {
				wantCorrupt(t, err)
				continue
			}
			for i := range segments {
				docIDs, err = x.AppendDocIDs(docIDs[:0], &segments[i])
				wantCorrupt(t, err)
			}
		}
		wantCorrupt(t, it.Err())
		var l List
		for _, term := range []string{"", "a", "b", "zz"} {
			_, err := x.Find([]byte(term), &l)
			wantCorrupt(t, err)
		}
	})
}

func wantCorrupt(t *testing.T, err error) {
	t.Helper()
	if err != nil && !errors.Is(err, base.ErrCorrupt) && !errors.Is(err, base.ErrVersion) && !errors.Is(err, codec.ErrUnknown) {
		t.Fatalf("error is %v, want ErrCorrupt", err)
	}
}

// docs/formats/impacts.md.
func TestWorkedBytes(t *testing.T) {
	fs := vfstest.NewMem()
	w, err := Create(fs, "impacts", Options{NumDocs: 8, Ranking: Ranking{Name: RankingExternal}})
	if err == nil {
		err = errors.Join(w.Add([]byte("ox"), []Posting{{1, 12}, {3, 90}, {7, 12}}), w.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	x, err := Open(fs, "impacts")
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	const want = "02 6f 78 03 5a 02 05 0c a6 01 04 4e 08 03 00 00 00 01 00 00 00 07 00 00 00"
	if got := fmt.Sprintf("% x", x.file.Bytes()[:x.meta.ListBytes]); got != want {
		t.Errorf("the list is %s, want %s", got, want)
	}
}

// Readers rely on DocIDs above Last.
func TestBlocksOfAListFollowEachOther(t *testing.T) {
	const spec, n = "pfordelta-rec:block=128", 300
	fs := vfstest.NewMem()
	w, err := Create(fs, "impacts", Options{NumDocs: 9000, Ranking: Ranking{Name: RankingExternal}, Codec: spec, BitmapBits: -1})
	if err != nil {
		t.Fatal(err)
	}
	var list []Posting
	var docIDs []uint32
	for i := range base.DocID(n) {
		list = append(list, Posting{9*i + i%5, 7})
		docIDs = append(docIDs, uint32(9*i+i%5))
	}
	if err := errors.Join(w.Add([]byte("a"), list), w.Close()); err != nil {
		t.Fatal(err)
	}
	f, err := sealed.Open(fs, "impacts", kind, FormatVersion)
	if err != nil {
		t.Fatal(err)
	}
	payload := append([]byte(nil), f.Bytes()...)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	c, err := codec.Lookup(spec)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(payload, c.(codec.ListCodec).AppendList(nil, docIDs))
	if at < 0 {
		t.Fatal("the list is not in the file")
	}
	// The DocID before block 1, after a header of 8 bytes.
	binary.LittleEndian.PutUint32(payload[at+8:], docIDs[100])
	x, err := Open(seal(t, payload), "impacts")
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	var l List
	found, err := x.Find([]byte("a"), &l)
	if err != nil || !found {
		t.Fatal(found, err)
	}
	segments, err := l.AppendSegments(nil)
	if err != nil {
		t.Fatal(err)
	}
	var r BlockReader
	var block [codec.BlockLen]uint32
	x.ResetBlocks(&r, &segments[0])
	if _, err := r.Next(&block); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Next(&block); !errors.Is(err, base.ErrCorrupt) {
		t.Errorf("block 1 begins with %d, after %d: %v", block[0], r.Last(), err)
	}
}

// Bits that decoders ignore, but a Writer would not write.
func TestVerifyFindsHiddenBits(t *testing.T) {
	fs := vfstest.NewMem()
	w, err := Create(fs, "impacts", Options{NumDocs: 900, Ranking: Ranking{Name: RankingExternal}, Codec: "simdbp", BitmapBits: -1})
	if err != nil {
		t.Fatal(err)
	}
	var list []Posting
	var docIDs []uint32
	for i := range base.DocID(21) { // gaps minus one of 4 bits, so that 4 of 88 are unused
		list = append(list, Posting{9 * i, 7})
		docIDs = append(docIDs, uint32(9*i))
	}
	if err := errors.Join(w.Add([]byte("a"), list), w.Close()); err != nil {
		t.Fatal(err)
	}
	f, err := sealed.Open(fs, "impacts", kind, FormatVersion)
	if err != nil {
		t.Fatal(err)
	}
	payload := append([]byte(nil), f.Bytes()...)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	enc, _ := codec.SIMDBP{}.AppendDocIDs(nil, codec.NoBase, docIDs)
	at := bytes.Index(payload, enc)
	if at < 0 || len(enc) != 11 {
		t.Fatalf("%d bytes at %d", len(enc), at)
	}
	for _, hidden := range []byte{0, 0x80} {
		payload[at+10] ^= hidden
		x, err := Open(seal(t, payload), "impacts")
		if err != nil {
			t.Fatal(err)
		}
		if err := x.Verify(context.Background(), nil); errors.Is(err, base.ErrCorrupt) != (hidden > 0) {
			t.Errorf("hidden bits %#x: %v", hidden, err)
		}
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A table without an empty slot.
func TestFindEnds(t *testing.T) {
	p := payloads(t)[0]
	x, err := Open(seal(t, p), "impacts")
	if err != nil {
		t.Fatal(err)
	}
	first := binary.LittleEndian.Uint64(p[x.table:])
	for i := range x.numSlots {
		at := x.table + i*slotBytes
		if binary.LittleEndian.Uint64(p[at:]) == 0 {
			binary.LittleEndian.PutUint64(p[at:], max(first, 1))
		}
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if x, err = Open(seal(t, p), "impacts"); err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	var l List
	if found, err := x.Find([]byte("missing"), &l); found {
		t.Errorf("found, %v", err)
	}
	wantCorrupt(t, x.Verify(context.Background(), nil))
	if x.Verify(context.Background(), nil) == nil {
		t.Error("Verify accepts a full table")
	}
}
