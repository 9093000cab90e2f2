package collection

import (
	"math"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/column"
)

// Documents have one value of each typed field: a rank's keyword has a share of one over the rank, days rise
// with the documents, and each number has the same share.
func TestTypedFields(t *testing.T) {
	source, log := testSource(t)
	p := testPreset()
	p.NumDocs = 20_000
	s, _ := generate(t, source, log, Options{Like: p, Order: Crawl, Seed: 1, Typed: true})
	view := &s.Segments[0]
	columns := map[string]*column.Column{}
	for _, name := range []string{FieldKind, FieldDay, FieldNumber} {
		c, ok, err := view.Column(name)
		if err != nil || !ok || c.NumWith() != view.NumDocs() || c.MultiValued() {
			t.Fatalf("%s: %v, %v", name, ok, err)
		}
		columns[name] = c
	}
	counts := make([]uint32, columns[FieldKind].NumTerms())
	if _, err := columns[FieldKind].CountOrdinals(nil, counts); err != nil {
		t.Fatal(err)
	}
	n := float64(view.NumDocs())
	first, tenth := float64(counts[0])/n, float64(counts[9])/n
	if len(counts) < 900 || math.Abs(first/0.1336-1) > 0.1 || math.Abs(tenth/0.01336-1) > 0.3 {
		t.Errorf("%d kinds, shares %.4f and %.4f of the first and the tenth", len(counts), first, tenth)
	}
	days := columns[FieldDay].Cursor()
	const month = 31 * 24 * 3600 * 1000
	for d := range view.NumDocs() {
		at, ok, err := days.Value(base.DocID(d))
		want := firstDay.UnixMilli() + int64(float64(lastDay.Sub(firstDay).Milliseconds())*float64(d)/n)
		if err != nil || !ok || at < want-month || at > want+month || at%(24*3600*1000) != 0 {
			t.Fatalf("document %d: day %d, want about %d: %v", d, at, want, err)
		}
	}
	words := make([]uint64, (view.NumDocs()+63)/64)
	if err := columns[FieldNumber].Range(0, 99, words); err != nil {
		t.Fatal(err)
	}
	some := 0
	for d := range view.NumDocs() {
		some += int(words[d/64] >> (d % 64) & 1)
	}
	if share := float64(some) / n; math.Abs(share-0.1) > 0.01 {
		t.Errorf("numbers below 100: %.3f of the documents", share)
	}
	if lo, hi := columns[FieldNumber].Bounds(); lo != 0 || hi != 999 {
		t.Errorf("numbers from %d to %d", lo, hi)
	}
}
