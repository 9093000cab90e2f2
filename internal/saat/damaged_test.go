package saat

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/impact"
	"github.com/griffin-search/griffin/internal/sealed"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

// A damaged list may repeat a document under several impacts, whose sum exceeds the highest
// impact and the accumulators' width.
func TestDocumentOfSeveralImpacts(t *testing.T) {
	fs := vfstest.NewMem()
	w, err := impact.Create(fs, "impacts", impact.Options{NumDocs: 700, Ranking: impact.Ranking{Name: impact.RankingExternal}, BitmapBits: -1})
	check(t, err)
	var postings []impact.Posting
	for i := range uint32(100) {
		postings = append(postings, impact.Posting{DocID: base.DocID(500 + i), Impact: uint8(1 + i)})
	}
	check(t, w.Add([]byte("a"), postings))
	check(t, w.Close())
	f, err := sealed.Open(fs, "impacts", "impacts", impact.FormatVersion)
	check(t, err)
	payload := append([]byte(nil), f.Bytes()...)
	check(t, f.Close())
	for i := range uint32(100) {
		raw := binary.LittleEndian.AppendUint32(nil, 500+i)
		payload = bytes.ReplaceAll(payload, raw, binary.LittleEndian.AppendUint32(nil, 500))
	}
	out, err := sealed.Create(fs, "damaged", "impacts", impact.FormatVersion)
	check(t, err)
	_, err = out.Write(payload)
	check(t, err)
	check(t, out.Close())
	x, err := impact.Open(fs, "damaged")
	check(t, err)
	defer x.Close()
	for _, v := range variants() {
		q := Query{Index: x, K: 5, Terms: make([]Term, 1)}
		q.Terms[0].Weight = 1
		if found, err := x.Find([]byte("a"), &q.Terms[0].List); !found || err != nil {
			t.Fatal(found, err)
		}
		_, err := newEngine(t, v).Search(t.Context(), &q, nil)
		if err == nil && !v.heaped() || err != nil && !errors.Is(err, base.ErrCorrupt) {
			t.Errorf("%v: error %v, want that the list is damaged", v, err)
		}
	}
}
