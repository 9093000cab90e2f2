package segment

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/score"
	"github.com/griffin-search/griffin/internal/sealed"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

// damaged returns a segment with a changed byte in a file's payload, whose checksum is wrong
// then.
func damaged(t *testing.T, whole *vfstest.Mem, name string, at int) *Segment {
	t.Helper()
	mem := whole.Clone()
	path := filepath.Join("seg", name)
	data := mem.Get(path)
	payload := payloads(t, whole)[name]
	data[bytes.Index(data, payload)+at] ^= 1
	mem.Set(path, data)
	s, err := Open(mem, "seg")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// readLists reads all lists of a source and returns its first error.
func readLists(src Source) error {
	it, err := src.Lists()
	if err != nil {
		return err
	}
	defer it.Close()
	var b PostingBlock
	for it.Next() {
		for {
			if err := it.ReadBlock(&b); err != nil {
				return err
			}
			if b.N == 0 {
				break
			}
		}
	}
	return it.Err()
}

// readsOf returns all reads of a segment. They use the term "a", the id of the last document and
// the stored fields of the first.
func readsOf(t *testing.T) map[string]func(s *Segment) error {
	var l postings.List
	var d StoredDoc
	merge := func(s *Segment) error {
		src, err := s.Source(nil)
		if err != nil {
			return err
		}
		o := Options{Fields: []string{"", "title"}, Codec: "raw", Positions: true, Stored: true}
		_, err = Write(t.Context(), vfstest.NewMem(), "seg", o, []Source{src}, nil)
		return err
	}
	lists := func(s *Segment) error {
		src, err := s.Source(nil)
		if err != nil {
			return nil //nolint:nilerr // another case tests Source
		}
		return readLists(src)
	}
	last := func(s *Segment) base.DocID { return base.DocID(s.NumDocs() - 1) }
	return map[string]func(s *Segment) error{
		"ID":      func(s *Segment) error { _, err := s.ID(last(s)); return err },
		"Lookup":  func(s *Segment) error { _, _, err := s.Lookup(fmt.Append(nil, "id-", last(s))); return err },
		"Source":  func(s *Segment) error { _, err := s.Source(nil); return err },
		"lengths": func(s *Segment) error { return s.CheckLengths(1) },
		"Find":    func(s *Segment) error { _, err := s.Find(0, []byte("a"), &l); return err },
		"parts":   func(s *Segment) error { _, err := s.FindParts(0, []byte("a"), Positions|Frontiers, &l); return err },
		"lists":   lists,
		"Stored":  func(s *Segment) error { return s.Stored(0, &d) },
		"merge":   merge,
	}
}

// largeSegment has several chunks of ids and stored documents.
func largeSegment(t *testing.T) *vfstest.Mem {
	t.Helper()
	mem := vfstest.NewMem()
	w, err := NewStoredWriter(mem, "stored")
	if err != nil {
		t.Fatal(err)
	}
	s := &tinySource{docs: make([][2]string, 6200)}
	rng := rand.New(rand.NewPCG(7, 1))
	text := make([]byte, 24)
	for range s.docs {
		for i := range text {
			text[i] = byte(rng.Uint32())
		}
		if err := w.Add("", string(text), nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if s.stored, err = OpenStored(mem, "stored"); err != nil {
		t.Fatal(err)
	}
	s.docs[5] = [2]string{"a", ""}
	o := Options{Fields: []string{"", "title"}, Codec: "simdbp", BM25: score.DefaultBM25, Positions: true, Stored: true}
	if _, err := Write(t.Context(), mem, "seg", o, []Source{s}, nil); err != nil {
		t.Fatal(err)
	}
	return mem
}

// Each read reports a wrong checksum of the file that it uses, and names the segment.
func TestReadsOfDamagedFiles(t *testing.T) {
	small, large := smallSegment(t), largeSegment(t)
	for name, fails := range map[string][]string{
		fileIDs:       {"ID", "Lookup", "Source", "merge"},
		fileLengths:   {"Source", "lengths", "Find", "parts", "merge"},
		filePostings:  {"Find", "parts", "lists", "merge"},
		filePositions: {"parts", "lists", "merge"},
		fileFrontiers: {"parts"},
		fileRecords:   {"Find", "parts", "lists", "merge"},
		fileStored:    {"Stored", "merge"},
		fileOrder:     {"Stored", "merge"},
	} {
		whole, at := small, 1
		switch name { // Open reads the last chunk of stored documents, and the first of ids
		case fileStored:
			whole = large
		case fileIDs:
			whole, at = large, sealed.ChunkLen+1
		}
		for read, run := range readsOf(t) {
			t.Run(name+"/"+read, func(t *testing.T) {
				err := run(damaged(t, whole, name, at))
				if !slices.Contains(fails, read) {
					if err != nil {
						t.Errorf("error %v, but the read does not use the file", err)
					}
				} else if !errors.Is(err, base.ErrCorrupt) || !strings.Contains(err.Error(), name+": checksum") || !strings.Contains(err.Error(), "segment seg") {
					t.Errorf("error %v, want ErrCorrupt of the file's checksum", err)
				}
			})
		}
	}
}

// listOf decodes a list's blocks, as a plain reference.
func listOf(l *postings.List) (docIDs []uint32, numFreqs, posBytes int, err error) {
	for i := range l.NumBlocks() {
		var d, f [128]uint32
		size, err := l.DecodeDocIDs(i, &d)
		if err != nil {
			return nil, 0, 0, err
		}
		if err := l.DecodeFreqs(i, size, &f); err != nil {
			return nil, 0, 0, err
		}
		n := l.BlockSize(i)
		docIDs = append(docIDs, d[:n]...)
		for _, freq := range f[:n] {
			numFreqs += int(freq)
		}
		if !l.HasPositions() {
			continue
		}
		src, err := l.PositionBytes(i)
		if err != nil {
			return nil, 0, 0, err
		}
		at := 0
		for _, freq := range f[:n] {
			for range freq {
				end := bytes.IndexFunc(src[at:], func(r rune) bool { return r < 0x80 })
				if end < 0 {
					return nil, 0, 0, errors.New("positions end early")
				}
				at += end + 1
			}
		}
		posBytes += at
	}
	return docIDs, numFreqs, posBytes, nil
}

// TestSourceOfChangedLists changes each byte of the lists in ways that checksums do not
// detect. The source fails exactly for the lists that cannot be decoded, and otherwise gives
// their postings.
func TestSourceOfChangedLists(t *testing.T) {
	for kind, whole := range map[string]*vfstest.Mem{"small": smallSegment(t), "long": longList(t)} {
		for _, name := range []string{filePostings, filePositions} {
			t.Run(kind+"/"+name, func(t *testing.T) {
				payload := payloads(t, whole)[name]
				failed := 0
				for at := range payload {
					if len(payload) > 100 && at%8 != 0 && at < len(payload)-16 { // a directory is at the end
						continue
					}
					for _, flip := range []byte{1, 0x80, 0xff} {
						mem := whole.Clone()
						changed := bytes.Clone(payload)
						changed[at] ^= flip
						reseal(t, mem, name, changed)
						if checkChangedLists(t, mem, at) {
							failed++
						}
					}
				}
				if failed < 10 {
					t.Errorf("%d changes are errors, the test needs 10", failed)
				}
			})
		}
	}
}

// longList returns a segment with a list of three blocks.
func longList(t *testing.T) *vfstest.Mem {
	t.Helper()
	docs := make([][2]string, 290)
	list := &onlyList{terms: []string{"a"}, blocks: make([]PostingBlock, 3)}
	for i := range docs {
		b := &list.blocks[i/128]
		b.DocIDs[b.N], b.Freqs[b.N] = uint32(i), uint32(1+i%7/6)
		for p := range b.Freqs[b.N] {
			b.Positions = append(b.Positions, byte(p))
			docs[i][0] += "a"
		}
		b.N++
	}
	mem := vfstest.NewMem()
	o := Options{Fields: []string{"", "title"}, Codec: "ef", BM25: score.DefaultBM25, Positions: true}
	if _, err := Write(t.Context(), mem, "seg", o, []Source{listSource{&tinySource{docs: docs}, list}}, nil); err != nil {
		t.Fatal(err)
	}
	return mem
}

// checkChangedLists reports whether a list is broken.
func checkChangedLists(t *testing.T, mem *vfstest.Mem, at int) bool {
	t.Helper()
	s, err := Open(mem, "seg")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	src, err := s.Source(nil)
	if err != nil {
		t.Fatal(err)
	}
	it, _ := src.Lists()
	var l postings.List
	for f := range s.meta.Fields {
		for terms := s.Terms(base.FieldID(f), nil); terms.Next(); {
			_, want := s.FindParts(base.FieldID(f), terms.Term(), Positions, &l)
			if want != nil {
				if it.Next() || !errors.Is(it.Err(), base.ErrCorrupt) || it.Err().Error() != want.Error() {
					t.Errorf("byte %d: error %v, want %v", at, it.Err(), want)
				}
				return true
			}
			if !it.Next() || it.DocFreq() != int(l.DocFreq) {
				t.Fatalf("byte %d: list of term %q is missing: %v", at, terms.Term(), it.Err())
			}
			docIDs, freqs, posBytes, want := listOf(&l)
			gotIDs, gotFreqs, gotBytes, err := readList(it)
			if want != nil {
				if !errors.Is(err, base.ErrCorrupt) || !errors.Is(it.Err(), err) || !strings.Contains(err.Error(), want.Error()) {
					t.Errorf("byte %d: error %v, want %v", at, err, want)
				}
				return true
			}
			if err != nil || !slices.Equal(gotIDs, docIDs) || gotFreqs != freqs || gotBytes != posBytes {
				t.Errorf("byte %d: documents %d, %d positions in %d bytes, %v; want %d, %d, %d", at, gotIDs, gotFreqs, gotBytes, err, docIDs, freqs, posBytes)
			}
		}
	}
	return false
}

func readList(it ListIterator) (docIDs []uint32, numFreqs, posBytes int, err error) {
	var b PostingBlock
	for {
		if err := it.ReadBlock(&b); err != nil || b.N == 0 {
			return docIDs, numFreqs, posBytes, err
		}
		docIDs = append(docIDs, b.DocIDs[:b.N]...)
		for _, freq := range b.Freqs[:b.N] {
			numFreqs += int(freq)
		}
		posBytes += len(b.Positions)
	}
}

// The lists of a source end with the error of its dictionary.
func TestSourceOfBrokenTerms(t *testing.T) {
	mem := smallSegment(t)
	payload := payloads(t, mem)[fileTerms]
	payload[0] ^= 1 // the version of the first transducer
	reseal(t, mem, fileTerms, payload)
	s, err := Open(mem, "seg")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	src, err := s.Source(nil)
	if err != nil {
		t.Fatal(err)
	}
	_, findErr := s.Find(0, []byte("a"), new(postings.List))
	for what, err := range map[string]error{"lists": readLists(src), "Find": findErr} {
		if !errors.Is(err, base.ErrCorrupt) || !strings.Contains(err.Error(), `partition of field 0 from term "a"`) {
			t.Errorf("%s: error %v, want ErrCorrupt of the partition", what, err)
		}
	}
}

// Errors of Verify name the byte at fault.
func TestVerifyNamesBytes(t *testing.T) {
	whole := smallSegment(t)
	all := payloads(t, whole)
	mem := whole.Clone()
	reseal(t, mem, fileFrontiers, append(bytes.Clone(all[fileFrontiers]), make([]byte, 17)...))
	if err := resealedError(t, mem); err == nil || !strings.Contains(err.Error(), fileFrontiers+": 17 bytes after the last list") {
		t.Errorf("error %v, want 17 bytes", err)
	}
	f := sealPayload(t, filePostings, []byte{1, 0, 0, 7, 0})
	if err := zeros(f, 1, 5); !errors.Is(err, base.ErrCorrupt) || !strings.Contains(err.Error(), "byte 3 is 0x7") {
		t.Errorf("error %v, want byte 3", err)
	}
	if err := zeros(f, 1, 3); err != nil {
		t.Error(err)
	}
}

// Verify reports progress during its work, not only at the end.
func TestVerifyReportsEachPart(t *testing.T) {
	s := openSmall(t)
	calls, before := 0, int64(-1)
	if err := s.Verify(t.Context(), func(done, total int64) {
		if calls++; done < before || calls == 1 && done >= total {
			t.Errorf("call %d: %d of %d bytes after %d", calls, done, total, before)
		}
		before = done
	}); err != nil {
		t.Fatal(err)
	}
	if want := len(s.files) + 1 + int(s.dict.numTerms()) + 1; calls != want {
		t.Errorf("%d calls, want one for each of %d files, the columns and %d lists, and the last", calls, len(s.files), s.dict.numTerms())
	}
}
