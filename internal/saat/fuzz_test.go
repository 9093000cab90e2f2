package saat

import (
	"errors"
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/impact"
	"github.com/griffin-search/griffin/internal/sealed"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

func payloads(t testing.TB) [][]byte {
	t.Helper()
	var out [][]byte
	for _, name := range codec.Names() {
		fs := vfstest.NewMem()
		w, err := impact.Create(fs, "impacts", impact.Options{NumDocs: 700, Ranking: impact.Ranking{Name: impact.RankingExternal}, Codec: name, BitmapBits: 6})
		check(t, err)
		for i, gap := range []base.DocID{1, 3, 20, 200} {
			var postings []impact.Posting
			for d := base.DocID(0); d < 700; d += gap {
				postings = append(postings, impact.Posting{DocID: d, Impact: uint8(1 + d%2)})
			}
			check(t, w.Add([]byte{'a' + byte(i)}, postings))
		}
		check(t, w.Close())
		f, err := sealed.Open(fs, "impacts", "impacts", impact.FormatVersion)
		check(t, err)
		out = append(out, append([]byte(nil), f.Bytes()...))
		check(t, f.Close())
	}
	return out
}

// Valid checksums, arbitrary content: hits or an error. A valid file must still work
// afterwards.
func FuzzSearch(f *testing.F) {
	for i, p := range payloads(f) {
		f.Add(p, uint32(20*i), byte(0), byte(i))
		f.Add(p, uint32(20*i), byte(0x41), byte(i))
	}
	var names []Variant
	for _, v := range variants() {
		if !v.Counted && v.Accumulators != Array && v.Accumulators != PagedArray {
			names = append(names, v)
		}
	}
	f.Fuzz(func(t *testing.T, payload []byte, at uint32, flip, which byte) {
		if len(payload) > 1<<15 {
			t.Skip()
		}
		payload = append([]byte(nil), payload...)
		if int(at) < len(payload) {
			payload[at] ^= flip
		}
		fs := vfstest.NewMem()
		w, err := sealed.Create(fs, "impacts", "impacts", impact.FormatVersion)
		check(t, err)
		_, err = w.Write(payload)
		check(t, err)
		check(t, w.Close())
		x, err := impact.Open(fs, "impacts")
		if err != nil {
			return
		}
		defer x.Close()
		if x.NumDocs() > 1<<16 {
			t.Skip()
		}
		q := Query{Index: x, K: 5}
		for it := x.Lists(); it.Next() && len(q.Terms) < 8; {
			q.Terms = append(q.Terms, Term{List: *it.List(), Weight: 1})
		}
		e := newEngine(t, names[int(which)%len(names)])
		r, err := e.Search(t.Context(), &q, nil)
		if err != nil && !errors.Is(err, base.ErrCorrupt) && !errors.Is(err, base.ErrBadInput) {
			t.Fatalf("error is %v", err)
		}
		for _, h := range r.Hits {
			if int(h.DocID) >= x.NumDocs() {
				t.Fatalf("hit %v of %d documents", h, x.NumDocs())
			}
		}
	})
}
