package segment

import (
	"context"
	"errors"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/sealed"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

// Payloads have valid checksums; parsers must return values or an error that wraps
// base.ErrCorrupt.

func wantCorrupt(t *testing.T, err error) {
	t.Helper()
	if err != nil && !errors.Is(err, base.ErrCorrupt) && !errors.Is(err, base.ErrVersion) {
		t.Fatalf("error is %v, want ErrCorrupt", err)
	}
}

func sealPayload(t testing.TB, kind string, payload []byte) *sealed.File {
	t.Helper()
	fs := vfstest.NewMem()
	w, err := sealed.Create(fs, kind, kind, 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(payload); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := sealed.Open(fs, kind, kind, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func payloadOf(t testing.TB, kind string, write func(w *sealed.Writer) error) []byte {
	t.Helper()
	fs := vfstest.NewMem()
	w, err := sealed.Create(fs, kind, kind, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := write(w); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := sealed.Open(fs, kind, kind, 1)
	if err != nil {
		t.Fatal(err)
	}
	return f.Bytes()
}

func FuzzMeta(f *testing.F) {
	f.Add([]byte(`{"format_version":1,"num_docs":2,"fields":[{"name":"","num_docs":1,"total_tokens":3,"num_terms":2,"num_postings":2,"avg_len":1.5}],` +
		`"codec":"simdbp","analyzer":"simple","bm25":{"K1":0.9,"B":0.4},"positions":true,"stored":true,"files":[{"name":"ids","size_bytes":1,"sum":2}]}`))
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, payload []byte) {
		m, err := parseMeta(payload)
		wantCorrupt(t, err)
		if err == nil && (m.NumDocs < 0 || len(m.Fields) == 0) {
			t.Fatalf("accepted %+v", m)
		}
	})
}

func FuzzBitmap(f *testing.F) {
	b := NewBitmap(70)
	b.Set(3)
	b.Set(69)
	f.Add(b.AppendTo(nil))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, src []byte) {
		b, err := DecodeBitmap(src)
		wantCorrupt(t, err)
		if err != nil {
			return
		}
		count := 0
		for i := range b.Len() {
			if b.Has(i) {
				count++
			}
		}
		if count != b.Count() || string(b.AppendTo(nil)) != string(src) {
			t.Fatal("bitmap is not what was decoded")
		}
	})
}

func FuzzStoredDoc(f *testing.F) {
	f.Add(appendStoredDoc(nil, new(corpus.Shared), "title", "text", nil))
	f.Add(appendStoredDoc(nil, new(corpus.Shared), "", "", []corpus.Field{{Name: "a", Value: "b"}, {}}))
	f.Add(appendStoredDoc(nil, new(corpus.Shared), "title", sharedText, []corpus.Field{{Name: "a", Value: "{" + sharedText + "}"}}))
	f.Add(appendStoredDoc(nil, new(corpus.Shared), "title", sharedText+"\n", []corpus.Field{{Name: "a", Value: "{" + sharedText + `\n}`}}))
	f.Fuzz(func(t *testing.T, src []byte) {
		var d StoredDoc
		if err := d.decode(src); err != nil {
			wantCorrupt(t, err)
			return
		}
		var extra []corpus.Field
		for _, e := range d.Extra {
			extra = append(extra, corpus.Field{Name: string(e.Name), Value: string(e.Value)})
		}
		var again StoredDoc
		if err := again.decode(appendStoredDoc(nil, new(corpus.Shared), string(d.Title), string(d.Text), extra)); err != nil || string(again.Text) != string(d.Text) {
			t.Fatalf("round trip: %v", err)
		}
	})
}

func FuzzStored(f *testing.F) {
	fs := vfstest.NewMem()
	w, err := NewStoredWriter(fs, fileStored)
	if err != nil {
		f.Fatal(err)
	}
	for range 300 {
		if err := w.Add("a title", "a text that is repeated again and again, again and again and again", nil); err != nil {
			f.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		f.Fatal(err)
	}
	file, err := sealed.Open(fs, fileStored, fileStored, storedVersion)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(file.Bytes())
	f.Add(make([]byte, storedTrailerLen))
	f.Fuzz(func(t *testing.T, payload []byte) {
		r, err := newStoredReader(sealPayload(t, fileStored, payload))
		if err != nil {
			wantCorrupt(t, err)
			return
		}
		var d StoredDoc
		for i := range min(r.NumDocs(), 50) {
			wantCorrupt(t, r.Get(base.DocID(i), &d))
		}
		wantCorrupt(t, r.verify(context.Background()))
	})
}

func FuzzIDs(f *testing.F) {
	ids := []string{"a", "", "doc-3", "doc-4"}
	f.Add(4, payloadOf(f, fileIDs, func(w *sealed.Writer) error {
		return writeWithTable(context.Background(), w, len(ids), func(i int) []byte { return []byte(ids[i]) })
	}))
	f.Add(0, make([]byte, 8))
	f.Fuzz(func(t *testing.T, numDocs int, payload []byte) {
		if numDocs < 0 || numDocs > len(payload) {
			return
		}
		table, err := newIDTable(sealPayload(t, fileIDs, payload), numDocs)
		if err != nil {
			wantCorrupt(t, err)
			return
		}
		for i := range uint64(min(numDocs, 50)) {
			id, err := table.id(i)
			wantCorrupt(t, err)
			if err == nil {
				_, _, err = table.lookup(id, HashID(id))
				wantCorrupt(t, err)
			}
		}
		if err := table.verify(context.Background()); err != nil {
			wantCorrupt(t, err)
			return
		}
		for i := range uint64(min(numDocs, 50)) {
			id, _ := table.id(i)
			if doc, ok, err := table.lookup(id, HashID(id)); !ok || err != nil || uint64(doc) != i {
				t.Fatalf("verified table leads from %q to %d, %v, %v, want %d", id, doc, ok, err, i)
			}
		}
	})
}

func FuzzDictionary(f *testing.F) {
	var terms, records []byte
	records = payloadOf(f, fileRecords, func(r *sealed.Writer) error {
		terms = payloadOf(f, fileTerms, func(w *sealed.Writer) error {
			d := newDictionaryWriter(w, r)
			for i, term := range []string{"a", "abc", "b", "bcd", "xyz"} {
				m := postings.Meta{DocFreq: 1, CollFreq: 2, Offset: uint64(i), Length: 4, First: 3, Last: 3, Max: 9, FrontierLength: 2}
				if err := d.add(base.FieldID(i/3), []byte(term), &m); err != nil {
					return err
				}
			}
			return d.finish()
		})
		return nil
	})
	f.Add(terms, records, "abc")
	f.Add([]byte{0, 1, 0, 0, 0, 0, 0, 0, 0}, []byte{}, "")
	f.Fuzz(func(t *testing.T, terms, records []byte, term string) {
		d, err := newDictionary(sealPayload(t, fileTerms, terms), sealPayload(t, fileRecords, records), 2)
		if err != nil {
			wantCorrupt(t, err)
			return
		}
		for field := range base.FieldID(2) {
			_, _, err := d.meta(field, []byte(term))
			wantCorrupt(t, err)
			it := d.iterator(field, nil)
			for n := 0; n < 1000 && it.Next(); n++ {
				_, err := it.Meta()
				wantCorrupt(t, err)
			}
			wantCorrupt(t, it.Err())
		}
	})
}
