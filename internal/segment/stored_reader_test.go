package segment

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/sealed"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

// storedFile writes encoded documents; an empty one ends the block before it.
func storedFile(t *testing.T, docs ...[]byte) (payload []byte) {
	t.Helper()
	mem := vfstest.NewMem()
	w, err := NewStoredWriter(mem, "stored")
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range docs {
		err := w.addEncoded(doc)
		if len(doc) == 0 {
			w.numDocs--
			w.sizes = w.sizes[:len(w.sizes)-1]
			err = w.flush()
		}
		if err != nil {
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
	return bytes.Clone(r.file.Bytes())
}

func openPayload(t *testing.T, payload []byte) *StoredReader {
	t.Helper()
	r, err := newStoredReader(sealPayload(t, fileStored, payload))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Get and verify report which part of the file is corrupt, although all checksums are valid.
func TestStoredNamesCorruptPart(t *testing.T) {
	doc := func(text string) []byte { return appendStoredDoc(nil, new(corpus.Shared), "", text, nil) }
	good := storedFile(t, doc("one"), nil, doc("two"), doc("three"))
	last := len(good) - storedTrailerLen - storedEntryLen // entry of the second block
	set := func(at int, v uint32) []byte {
		b := bytes.Clone(good)
		binary.LittleEndian.PutUint32(b[at:], v)
		return b
	}
	var d StoredDoc
	for i, want := range []string{"one", "two", "three"} {
		if err := openPayload(t, good).Get(base.DocID(i), &d); err != nil || string(d.Text) != want {
			t.Fatalf("document %d: %q, %v", i, d.Text, err)
		}
	}
	frame := bytes.Clone(good)
	frame[binary.LittleEndian.Uint64(good[last:])] ^= 1 // its magic number
	for name, c := range map[string]struct {
		payload   []byte
		number    uint32 // of document 1 in the file
		get, read string
	}{
		"first block begins late":  {set(last-storedEntryLen+8, 1), 0, "no block holds it", "directory entry"},
		"first block is empty":     {set(last+8, 0), 1, "", "block 0: directory entry"},
		"number past the end":      {good, 3, "no block holds it", ""},
		"block of another length":  {set(last+12, 12), 1, "block 1: document 1: 16 bytes, want 12", "block 1: 16 bytes, want 12"},
		"block that is no frame":   {frame, 1, "block 1: document 1: invalid input: magic number mismatch", "block 1: invalid input: magic number mismatch"},
		"document that is cut":     {storedFile(t, doc("one"), nil, doc("two")[:3], doc("three")), 1, "stored document", "block 1: document 1: stored document"},
		"second document, the cut": {storedFile(t, doc("one"), nil, doc("two"), doc("three")[:3]), 2, "stored document", "block 1: document 2: stored document"},
	} {
		t.Run(name, func(t *testing.T) {
			r := openPayload(t, c.payload)
			numbers := binary.LittleEndian.AppendUint32(make([]byte, 4), c.number)
			r.order = &array{file: sealPayload(t, fileOrder, numbers), n: 2}
			if err := r.Get(1, &d); !errors.Is(err, base.ErrCorrupt) || !strings.Contains(err.Error(), c.get) {
				t.Errorf("Get: error %v, want ErrCorrupt with %q", err, c.get)
			}
			if err := r.verify(t.Context()); c.read == "" && err != nil || c.read != "" && (!errors.Is(err, base.ErrCorrupt) || !strings.Contains(err.Error(), c.read)) {
				t.Errorf("verify: error %v, want ErrCorrupt with %q", err, c.read)
			}
		})
	}
}

// The sizes at the start of a block must fit their documents.
func TestStoredBlockSizes(t *testing.T) {
	for name, c := range map[string]struct {
		sizes     []uint64
		docs      string
		each, one bool // eachDoc and doc of the first accept it
	}{
		"exact":           {[]uint64{2, 1}, "abc", true, true},
		"too long":        {[]uint64{2, 2}, "abc", false, true},
		"too short":       {[]uint64{2, 0}, "abc", false, true},
		"first too long":  {[]uint64{4, 0}, "abc", false, false},
		"beyond 31 bits":  {[]uint64{1 << 31, 0}, "", false, false},
		"a size too few":  {[]uint64{2}, "", false, false},
		"no bytes at all": {nil, "", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			var raw []byte
			for _, n := range c.sizes {
				raw = binary.AppendUvarint(raw, n)
			}
			raw = append(raw, c.docs...)
			b := &storedBlock{numDocs: 2}
			if err := b.eachDoc(raw, func(int, []byte) error { return nil }); c.each != (err == nil) || err != nil && !errors.Is(err, base.ErrCorrupt) {
				t.Errorf("all: error %v", err)
			}
			if doc, err := b.doc(raw, 0); c.one != (err == nil) || err != nil && !errors.Is(err, base.ErrCorrupt) || err == nil && string(doc) != "ab" {
				t.Errorf("first: %q, error %v", doc, err)
			}
		})
	}
}

// A directory of more than one chunk is checked before it is used.
func TestStoredDirectoryChecksum(t *testing.T) {
	docs := make([][]byte, 0, 2*6000)
	for range cap(docs) / 2 {
		docs = append(docs, appendStoredDoc(nil, new(corpus.Shared), "", "a", nil), nil)
	}
	good := storedFile(t, docs...)
	mem := vfstest.NewMem()
	w, err := sealed.Create(mem, "stored", fileStored, storedVersion)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(good); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var d StoredDoc
	dir := len(good) - storedTrailerLen - storedEntryLen*cap(docs)/2
	chunk := (len(good)-storedTrailerLen)/sealed.ChunkLen*sealed.ChunkLen - 1 // end of the last but one
	if dir < sealed.ChunkLen || chunk-2*storedEntryLen < dir {
		t.Fatalf("directory from %d to %d, the test needs more than one chunk, and frames before", dir, len(good))
	}
	for _, damage := range []bool{false, true} {
		if damage {
			data := mem.Get("stored")
			data[bytes.Index(data, good)+chunk] ^= 1
			mem.Set("stored", data)
		}
		r, err := OpenStored(mem, "stored")
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if err := r.Get(0, &d); damage != (err != nil) || damage && (!errors.Is(err, base.ErrCorrupt) || !strings.Contains(err.Error(), "checksum")) {
			t.Errorf("damaged: %t, error %v", damage, err)
		}
	}
}

// A stored file is closed by its reader, and after each error of OpenStored.
func TestOpenStoredClosesFile(t *testing.T) {
	mem := vfstest.NewMem()
	w, err := NewStoredWriter(mem, "stored")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Add("", "text", nil), w.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenStored(mem, "missing"); err == nil {
		t.Error("a missing file is opened")
	}
	whole := vfstest.NewFaulty(mem, vfstest.Plan{})
	r, err := OpenStored(whole, "stored")
	if err != nil || len(whole.StillOpen()) != 1 {
		t.Fatalf("%v, %q are open", err, whole.StillOpen())
	}
	opening := whole.Ops()
	if err := r.Close(); err != nil || len(whole.StillOpen()) != 0 {
		t.Errorf("%v, %q are still open", err, whole.StillOpen())
	}
	for at := 1; at <= opening; at++ {
		faulty := vfstest.NewFaulty(mem, vfstest.Plan{FailAt: at, Once: true})
		if _, err := OpenStored(faulty, "stored"); !errors.Is(err, vfstest.ErrInjected) || len(faulty.StillOpen()) != 0 {
			t.Errorf("%s fails: error %v, %q are still open", whole.Operations()[at-1], err, faulty.StillOpen())
		}
	}
}

// A block of at least half the usual length is copied as it is; smaller ones are merged.
func TestCopyStoredMergesSmallBlocks(t *testing.T) {
	for size, blocks := range map[int]int{storedBlockLen/2 - 1: 1, storedBlockLen / 2: 2} {
		payload := storedFile(t, appendStoredDoc(nil, new(corpus.Shared), "", strings.Repeat("a", size-6), nil)) // 6 bytes of lengths
		r := openPayload(t, payload)
		if b, err := r.block(0); err != nil || b.rawLen != size {
			t.Fatalf("block of %d bytes, %v, want %d", b.rawLen, err, size)
		}
		mem := vfstest.NewMem()
		w, err := NewStoredWriter(mem, "stored")
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := new(writer).copyStored(t.Context(), w, r, nil); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		out, err := OpenStored(mem, "stored")
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		if out.numBlocks() != blocks || out.NumDocs() != 2 {
			t.Errorf("blocks of %d bytes: %d blocks of %d documents, want %d of 2", size, out.numBlocks(), out.NumDocs(), blocks)
		}
	}
}

// The error of a document that is too large has its size and fields.
func TestStoredTooLargeNamesSize(t *testing.T) {
	w, err := NewStoredWriter(vfstest.NewMem(), "stored")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Abort() }()
	if err := w.Add("a", "bc", nil); err != nil {
		t.Fatal(err)
	}
	extra := slices.Repeat([]corpus.Field{{Name: "n", Value: "v"}}, corpus.MaxFields+1)
	err = w.Add("a", "bc", extra)
	want := fmt.Sprintf("document 1: %d bytes in %d fields", 3+2*len(extra), 2+len(extra))
	if !errors.Is(err, base.ErrBadInput) || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
}
