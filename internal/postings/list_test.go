package postings_test

import (
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/postings/postingstest"
)

func TestListDoesNotAllocate(t *testing.T) {
	lengths, lists := collection(false)
	for _, codec := range allCodecs(t) {
		opts := postings.Options{Codec: codec, Saturation: saturation}
		ix := postingstest.Write(t, opts, lengths, 128, lists...)
		var c postings.Cursor
		var l postings.List
		if n := testing.AllocsPerRun(5, func() {
			for _, m := range ix.Metas {
				if err := l.Open(m, opts.Codec, ix.Postings, nil, nil); err != nil {
					t.Fatal(err)
				}
				c.Reset(&l, nil)
				for d := c.Next(); d != base.NoDocID; d = c.NextGEQ(d + 50) {
					c.Freq()
				}
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations by a cursor", codec.Name(), n)
		}
		at := 0
		if n := testing.AllocsPerRun(1000, func() {
			at = (at + 77) % int(l.DocFreq)
			if _, err := l.DocIDAt(at); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations to read a DocID alone", codec.Name(), n)
		}
	}
}
