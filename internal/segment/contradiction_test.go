package segment

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/blevesearch/vellum"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/sealed"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

// Two blocks; the second has one large incompressible document.
func storedPayload(t *testing.T) []byte {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 9))
	large := make([]byte, 200_000)
	for i := range large {
		large[i] = byte(rng.Uint32())
	}
	mem := vfstest.NewMem()
	w, err := NewStoredWriter(mem, "stored")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{strings.Repeat("small ", storedBlockLen), string(large)} {
		if err := w.Add("", text, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := OpenStored(mem, "stored")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if r.numBlocks() != 2 {
		t.Fatalf("%d blocks, the test needs 2", r.numBlocks())
	}
	return bytes.Clone(r.file.Bytes())
}

func TestStoredDirectory(t *testing.T) {
	good := storedPayload(t)
	last := len(good) - storedTrailerLen - storedEntryLen // of the second block
	for _, test := range []struct {
		name   string
		at     int // of a number of 32 bits
		number uint32
	}{
		{"first block: longer than its frame can expand to", last - storedEntryLen + 12, 1 << 30},
		{"second block: longer than a document can be", last + 12, 1<<32 - 1},
		{"second block: begins after the file", last, 1 << 31},
		{"second block: first document", last + 8, 7},
		{"first block: first document", last - storedEntryLen + 8, 1},
		{"first block: offset", last - storedEntryLen, 3},
	} {
		t.Run(test.name, func(t *testing.T) {
			payload := bytes.Clone(good)
			binary.LittleEndian.PutUint32(payload[test.at:], test.number)
			r, err := newStoredReader(sealPayload(t, fileStored, payload))
			if err != nil {
				t.Fatal(err)
			}
			failed := error(nil)
			for i := range r.numBlocks() {
				if _, err := r.block(i); err != nil {
					failed = err
				}
			}
			if !errors.Is(failed, base.ErrCorrupt) || !strings.Contains(fmt.Sprint(failed), "directory entry") {
				t.Errorf("error %v, want ErrCorrupt of a directory entry", failed)
			}
		})
	}
}

func TestMetaUnknownField(t *testing.T) {
	payload := []byte(`{"format_version":1,"num_docs":2,"fields":[{"name":"","num_docs":1,"total_tokens":3,"num_terms":2,"num_postings":2,"avg_len":1.5}],` +
		`"codec":"simdbp","analyzer":"simple","bm25":{"K1":0.9,"B":0.4},"positions":false,"stored":false,"files":[]}`)
	if m, err := parseMeta(payload); err != nil || m.NumDocs != 2 {
		t.Fatalf("%+v, %v", m, err)
	}
	unknown := bytes.Replace(payload, []byte("{"), []byte(`{"compression": "new",`), 1)
	if _, err := parseMeta(unknown); !errors.Is(err, base.ErrCorrupt) {
		t.Errorf("error %v, want ErrCorrupt", err)
	}
}

// TestStoredBlockLimits: the length of a block is limited by its frame's and by documents'.
func TestStoredBlockLimits(t *testing.T) {
	mem := vfstest.NewMem()
	w, err := NewStoredWriter(mem, "stored")
	if err != nil {
		t.Fatal(err)
	}
	large := make([]byte, 200_000) // incompressible
	rng := rand.New(rand.NewPCG(2, 9))
	for i := range large {
		large[i] = byte(rng.Uint32())
	}
	for _, text := range []string{strings.Repeat("small ", storedBlockLen), strings.Repeat("other ", storedBlockLen), string(large)} {
		if err := w.Add("", text, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := OpenStored(mem, "stored")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	good := bytes.Clone(r.file.Bytes())
	for i, limit := range []int64{1 << 15, 1 << 15, 2 * maxStoredDoc} {
		b, err := r.block(i)
		if err != nil {
			t.Fatal(err)
		}
		if i < 2 {
			limit *= int64(len(b.frame))
		}
		for more := range int64(2) {
			payload := bytes.Clone(good)
			at := len(good) - storedTrailerLen - storedEntryLen*(r.numBlocks()-i)
			binary.LittleEndian.PutUint32(payload[at+12:], uint32(limit+more))
			changed, err := newStoredReader(sealPayload(t, fileStored, payload))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := changed.block(i); more == 0 && err != nil || more == 1 && !errors.Is(err, base.ErrCorrupt) {
				t.Errorf("block %d of %d bytes, the limit is %d: error %v", i, limit+more, limit, err)
			}
		}
	}
}

// TestStoredBlockOfTooManyDocs: each document has a size of a byte or more.
func TestStoredBlockOfTooManyDocs(t *testing.T) {
	r, err := newStoredReader(sealPayload(t, fileStored, storedPayload(t)))
	if err != nil {
		t.Fatal(err)
	}
	b, err := r.block(0)
	if err != nil {
		t.Fatal(err)
	}
	var scratch []byte
	b.numDocs = b.rawLen
	if _, err := b.decode(&scratch); err != nil {
		t.Errorf("as many documents as bytes: %v", err)
	}
	b.numDocs++
	if _, err := b.decode(&scratch); !errors.Is(err, base.ErrCorrupt) {
		t.Errorf("more documents than bytes: error %v, want ErrCorrupt", err)
	}
}

// TestBrokenFST changes each byte of a transducer. If vellum returns an error, meta does.
func TestBrokenFST(t *testing.T) {
	term := []byte("bcd")
	var terms []byte
	records := payloadOf(t, fileRecords, func(r *sealed.Writer) error {
		terms = payloadOf(t, fileTerms, func(w *sealed.Writer) error {
			d := newDictionaryWriter(w, r)
			for _, term := range []string{"a", "abc", "b", "bcd", "bcf", "xyz"} {
				if err := d.add(0, []byte(term), &postings.Meta{DocFreq: 1, CollFreq: 1, Length: 4, Max: 1, FrontierLength: 2}); err != nil {
					return err
				}
			}
			return d.finish()
		})
		return nil
	})
	d, err := newDictionary(sealPayload(t, fileTerms, terms), sealPayload(t, fileRecords, records), 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, found, err := d.meta(0, term); !found || err != nil {
		t.Fatalf("whole: found %t, %v", found, err)
	}
	errorOf := func(data []byte) (err error) { // nil if vellum panics
		defer func() { _ = recover() }()
		fst, err := vellum.Load(data)
		if err == nil {
			_, _, err = fst.Get(term)
		}
		return err
	}
	broken := 0
	for i := range d.partitions[0].fstLen {
		for bit := range 8 {
			damaged := bytes.Clone(terms)
			damaged[i] ^= 1 << bit
			want := errorOf(damaged[:d.partitions[0].fstLen])
			if want == nil {
				continue
			}
			broken++
			d, err := newDictionary(sealPayload(t, fileTerms, damaged), sealPayload(t, fileRecords, records), 1)
			if err != nil {
				t.Fatal(err)
			}
			if _, found, err := d.meta(0, term); found || !errors.Is(err, base.ErrCorrupt) || !strings.Contains(err.Error(), want.Error()) {
				t.Errorf("byte %d, bit %d: found %t, %v, want %v", i, bit, found, err, want)
			}
		}
	}
	if broken < 20 {
		t.Errorf("%d damages give an error, the test needs 20", broken)
	}
}
