package postings_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/codec/codectest"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/postings/postingstest"
	"github.com/griffin-search/griffin/internal/score"
)

// It fails on a panic, an unordered DocID, or an error other than ErrCorrupt.
func readEverything(t *testing.T, m postings.Meta, c codec.Codec, p, pos, f []byte, lengths []uint32) {
	t.Helper()
	var l postings.List
	if err := l.Open(m, c, p, pos, f); err != nil {
		mustBeCorrupt(t, err)
		return
	}
	if err := l.Verify(lengths, saturation); err != nil {
		mustBeCorrupt(t, err)
	}
	if _, _, err := l.FrontierBounds(nil, saturation); err != nil {
		mustBeCorrupt(t, err)
	}
	for i := 0; i < int(l.DocFreq); i += 1 + int(l.DocFreq)/50 {
		if _, err := l.DocIDAt(i); err != nil {
			mustBeCorrupt(t, err)
		}
	}
	for _, jump := range []base.DocID{1, 300} {
		var cur postings.Cursor
		var positions postings.PositionReader
		cur.Reset(&l, nil)
		positions.Reset(&l)
		prev := int64(-1)
		for d := cur.Next(); d != base.NoDocID; d = cur.NextGEQ(d + min(jump, base.NoDocID-d)) {
			if int64(d) <= prev || d > l.LastDocID() {
				t.Fatalf("DocID %d after %d, of a list that ends at %d", d, prev, l.LastDocID())
			}
			prev = int64(d)
			cur.ShallowNextGEQ(d)
			cur.ShallowMax(d, d+1000)
			cur.Freq()
			if cur.Err() == nil && l.HasPositions() {
				if _, err := positions.Append(nil, cur.Ref(uint8(cur.BlockPos()))); err != nil {
					mustBeCorrupt(t, err)
				}
				if _, err := cur.Positions(nil); err != nil {
					mustBeCorrupt(t, err)
				}
			}
		}
		if err := cur.Err(); err != nil {
			mustBeCorrupt(t, err)
		}
	}
}

func mustBeCorrupt(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, base.ErrCorrupt) {
		t.Fatalf("error of another kind: %v", err)
	}
}

func TestFlippedBits(t *testing.T) {
	for _, c := range allCodecs(t) {
		t.Run(c.Name(), func(t *testing.T) { testFlippedBits(t, c) })
	}
}

func testFlippedBits(t *testing.T, c codec.Codec) {
	rng := rand.New(rand.NewPCG(13, 13))
	lengths := randomLengths(rng, 3000)
	for _, n := range []int{1, 128, 129, 500} {
		list := postingstest.RandomList(rng, postingstest.Clustered, n, len(lengths), true)
		opts := postings.Options{Codec: c, Saturation: saturation, Positions: true}
		ix := postingstest.Write(t, opts, lengths, 128, list)
		files := []*[]byte{&ix.Postings, &ix.Positions, &ix.Frontiers}
		for i, name := range []string{"postings", "positions", "frontiers"} {
			whole := *files[i]
			for range 250 {
				bit := rng.IntN(8 * len(whole))
				*files[i] = bytes.Clone(whole)
				(*files[i])[bit/8] ^= 1 << (bit % 8)
				var l postings.List
				err := l.Open(ix.Metas[0], opts.Codec, ix.Postings, ix.Positions, ix.Frontiers)
				if err == nil {
					err = l.Verify(lengths, saturation)
				}
				if err == nil && !stillValid(t, name, &l, list) {
					t.Fatalf("%d postings: bit %d of the %s flipped unnoticed", n, bit, name)
				}
				readEverything(t, ix.Metas[0], opts.Codec, ix.Postings, ix.Positions, ix.Frontiers, lengths)
				*files[i] = whole
			}
		}
	}
}

// Some changes of positions, or of frequencies and DocIDs without effect on bounds, need
// checksums.
func stillValid(t *testing.T, file string, l *postings.List, list []postingstest.Posting) bool {
	t.Helper()
	if file == "positions" {
		return true
	}
	var c postings.Cursor
	c.Reset(l, nil)
	same := true
	for _, p := range list {
		same = same && uint32(c.Next()) == p.DocID && c.Freq() == p.Freq
	}
	return file == "postings" && !same
}

func TestVerifyNotices(t *testing.T) {
	for _, c := range []codec.Codec{codec.SIMDBP{}, codectest.RawList{}, codec.PForDeltaRec{}} {
		t.Run(c.Name(), func(t *testing.T) { testVerifyNotices(t, c) })
	}
}

func testVerifyNotices(t *testing.T, c codec.Codec) {
	rng := rand.New(rand.NewPCG(17, 17))
	lengths := randomLengths(rng, 9000)
	list := postingstest.RandomList(rng, postingstest.Uniform, 2000, len(lengths), true)
	opts := postings.Options{Codec: c, Saturation: saturation, Positions: true}
	ix := postingstest.Write(t, opts, lengths, 128, list)
	good := ix.Metas[0]
	dir := len(ix.Postings) - 16*good.NumBlocks()
	for _, tt := range []struct {
		name  string
		meta  func(m *postings.Meta)
		bytes func(p []byte)
	}{
		{name: "CollFreq", meta: func(m *postings.Meta) { m.CollFreq++ }},
		{name: "Max", meta: func(m *postings.Meta) { m.Max-- }},
		{name: "Kth", meta: func(m *postings.Meta) { m.Kth[2]++ }},
		{name: "DocFreq", meta: func(m *postings.Meta) { m.DocFreq-- }},
		{name: "frontiers", meta: func(m *postings.Meta) { m.FrontierLength-- }},
		{name: "positions", meta: func(m *postings.Meta) { m.PosLength -= 4 }},
		{name: "First", bytes: func(p []byte) { p[dir+16]++ }},
		{name: "Last", bytes: func(p []byte) { p[dir+16+4]-- }},
		{name: "Offset", bytes: func(p []byte) { p[dir+16+8]++ }},
		{name: "Bound too high", bytes: func(p []byte) { p[dir+12]++ }},
		{name: "DocWidth", bytes: func(p []byte) { p[dir+14]++ }},
		{name: "FreqWidth", bytes: func(p []byte) { p[dir+15]++ }},
	} {
		m, p := good, bytes.Clone(ix.Postings)
		if tt.meta != nil {
			tt.meta(&m)
		} else {
			tt.bytes(p)
		}
		var l postings.List
		err := l.Open(m, opts.Codec, p, ix.Positions, ix.Frontiers)
		if err == nil {
			err = l.Verify(lengths, saturation)
		}
		if !errors.Is(err, base.ErrCorrupt) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	l := ix.Open(t, 0)
	other := slices.Clone(lengths)
	for i := range other {
		other[i]++
	}
	if err := l.Verify(other, saturation); !errors.Is(err, base.ErrCorrupt) {
		t.Errorf("other lengths: %v", err)
	}
	if err := l.Verify(lengths[:list[len(list)-1].DocID], saturation); !errors.Is(err, base.ErrCorrupt) {
		t.Errorf("a document less: %v", err)
	}
	if err := l.Verify(lengths, score.Saturation{BM25: score.BM25{K1: 2, B: 1}, AvgLen: 9}); !errors.Is(err, base.ErrCorrupt) {
		t.Errorf("other saturation: %v", err)
	}
}

func FuzzMeta(f *testing.F) {
	lengths, lists := collection(true)
	opts := postings.Options{Codec: codec.SIMDBP{}, Saturation: saturation, Positions: true}
	for _, m := range postingstest.Write(f, opts, lengths, 128, lists...).Metas {
		f.Add(m.Append(nil))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		m, n, err := postings.DecodeMeta(src)
		if err != nil {
			mustBeCorrupt(t, err)
			return
		}
		again, _, err := postings.DecodeMeta(m.Append(nil))
		if err != nil || again != m || n > len(src) {
			t.Fatalf("%+v (%d bytes) comes back as %+v, %v", m, n, again, err)
		}
	})
}

// Arbitrary records and bytes.
func FuzzList(f *testing.F) {
	rng := rand.New(rand.NewPCG(19, 19))
	codecs := allCodecs(f)
	lengths := randomLengths(rng, 1000)
	for _, n := range []int{1, 100, 129, 300} {
		list := postingstest.RandomList(rng, postingstest.Clustered, n, len(lengths), true)
		for i, c := range codecs {
			ix := postingstest.Write(f, postings.Options{Codec: c, Saturation: saturation, Positions: true}, lengths, 128, list)
			f.Add(ix.Metas[0].Append(nil), uint8(i), ix.Postings, ix.Positions, ix.Frontiers)
		}
	}
	f.Fuzz(func(t *testing.T, rec []byte, c uint8, p, pos, fr []byte) {
		m, _, err := postings.DecodeMeta(rec)
		if err != nil || m.DocFreq == 0 || m.DocFreq > 1<<16 {
			return
		}
		readEverything(t, m, codecs[int(c)%len(codecs)], p, pos, fr, lengths)
	})
}
