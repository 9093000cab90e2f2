package segment

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/blevesearch/vellum"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/sealed"
	"github.com/griffin-search/griffin/internal/vfs"
)

// dictionaryPayloads returns the files of a dictionary whose partitions hold the terms of one
// field each; list i has metas[i].
func dictionaryPayloads(t *testing.T, fields [][]string, metas ...postings.Meta) (terms, records []byte) {
	t.Helper()
	records = payloadOf(t, fileRecords, func(r *sealed.Writer) error {
		terms = payloadOf(t, fileTerms, func(w *sealed.Writer) error {
			d, n := newDictionaryWriter(w, r), 0
			for f, of := range fields {
				for _, term := range of {
					m := postings.Meta{DocFreq: 1, CollFreq: 1, Length: 4, Max: 1, FrontierLength: 2}
					if n < len(metas) {
						m = metas[n]
					}
					if err := d.add(base.FieldID(f), []byte(term), &m); err != nil {
						return err
					}
					n++
				}
			}
			return d.finish()
		})
		return nil
	})
	return terms, records
}

func openDictionary(t *testing.T, terms, records []byte, numFields int) *dictionary {
	t.Helper()
	d, err := newDictionary(sealPayload(t, fileTerms, terms), sealPayload(t, fileRecords, records), numFields)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// iterateFST returns up to limit terms from the prefix on, as vellum gives them.
func iterateFST(data, prefix []byte, limit int) (n int, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	fst, err := vellum.Load(data[:len(data):len(data)])
	if err != nil {
		return 0, err
	}
	it, err := fst.Iterator(prefix, nil)
	for ; err == nil && n < limit; n++ {
		term, _ := it.Current()
		if term == nil {
			return n, errors.New("term") // it is none
		}
		if !bytes.HasPrefix(term, prefix) {
			return n, nil
		}
		err = it.Next()
	}
	if errors.Is(err, vellum.ErrIteratorDone) {
		err = nil
	}
	return n, err
}

// TestTermsOfBrokenFST changes each bit of a transducer. If vellum returns an error, panics, or
// gives too many terms, so does the iterator, with ErrCorrupt.
func TestTermsOfBrokenFST(t *testing.T) {
	names := []string{"a", "abc", "b", "bcd", "bcf", "xyz"}
	terms, records := dictionaryPayloads(t, [][]string{names})
	size := openDictionary(t, terms, records, 1).partitions[0].fstLen
	failed, tooMany := 0, 0
	for _, prefix := range []string{"", "bc"} {
		for i := range size {
			for bit := range 8 {
				damaged := bytes.Clone(terms)
				damaged[i] ^= 1 << bit
				n, want := iterateFST(damaged[:size], []byte(prefix), len(names)+1)
				it := openDictionary(t, damaged, records, 1).iterator(0, []byte(prefix))
				got := 0
				for it.Next() {
					got++
				}
				switch err := it.Err(); {
				case want != nil:
					failed++
					if !errors.Is(err, base.ErrCorrupt) {
						t.Errorf("byte %d, bit %d, prefix %q: error %v, want %v", i, bit, prefix, err, want)
					}
				case n > len(names):
					tooMany++
					if !errors.Is(err, base.ErrCorrupt) || got > len(names) {
						t.Errorf("byte %d, bit %d, prefix %q: %d terms, %v, want %d and an error", i, bit, prefix, got, err, len(names))
					}
				case err == nil && got != n:
					t.Errorf("byte %d, bit %d, prefix %q: %d terms, want %d", i, bit, prefix, got, n)
				}
			}
		}
	}
	if failed < 20 || tooMany == 0 {
		t.Errorf("%d damages give an error, %d too many terms; the test needs 20 and 1", failed, tooMany)
	}
}

// A partition with more terms than the table says is corrupt.
func TestTermsBeyondTable(t *testing.T) {
	terms, records := dictionaryPayloads(t, [][]string{{"a", "b", "c"}})
	d := openDictionary(t, terms, records, 1)
	d.partitions[0].numTerms = 2
	it := d.iterator(0, nil)
	for n := range 2 {
		if !it.Next() {
			t.Errorf("term %d is missing: %v", n, it.Err())
		}
	}
	if it.Next() || !errors.Is(it.Err(), base.ErrCorrupt) || !strings.Contains(it.Err().Error(), "term 3 of 2") {
		t.Errorf("error %v, want ErrCorrupt of term 3", it.Err())
	}
}

// The error of a damaged record names its place in the file.
func TestEmptyListIsCorrupt(t *testing.T) {
	good := postings.Meta{DocFreq: 1, CollFreq: 1, Length: 4, Max: 1, FrontierLength: 2}
	terms, records := dictionaryPayloads(t, [][]string{{"a"}, {"a", "b"}}, good, good, postings.Meta{})
	d := openDictionary(t, terms, records, 2)
	at := uint64(2 * len(good.Append(nil)))
	if len(d.partitions) != 2 || uint64(len(records)) != at+1 {
		t.Fatalf("%d partitions, %d bytes of records", len(d.partitions), len(records))
	}
	_, found, err := d.meta(1, []byte("b"))
	if want := fmt.Sprintf("record at %d: empty list", at); found || !errors.Is(err, base.ErrCorrupt) || !strings.Contains(err.Error(), want) {
		t.Errorf("found %t, error %v, want ErrCorrupt with %q", found, err, want)
	}
}

// A panic of vellum names the partition, one of an inaccessible file the file.
func TestRecoverFST(t *testing.T) {
	terms, records := dictionaryPayloads(t, [][]string{{"a"}})
	d := openDictionary(t, terms, records, 1)
	run := func(value any) (err error) {
		defer d.recoverFST(&d.partitions[0], &err)
		if value != nil {
			panic(value)
		}
		return nil
	}
	if err := run(nil); err != nil {
		t.Errorf("no panic: %v", err)
	}
	if err := run("index out of range"); !errors.Is(err, base.ErrCorrupt) || !strings.Contains(err.Error(), `from term "a": index out of range`) {
		t.Errorf("panic: error %v", err)
	}
	fault := &vfs.Fault{Name: "terms", Offset: 7}
	var got *vfs.Fault
	if err := run(fault); !errors.As(err, &got) || got != fault || strings.Contains(err.Error(), "partition") {
		t.Errorf("inaccessible file: error %v", err)
	}
}
