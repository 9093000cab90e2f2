package segment

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/column"
	"github.com/griffin-search/griffin/internal/score"
	"github.com/griffin-search/griffin/internal/sealed"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

// tinySource has documents of two fields; a term is a letter.
type tinySource struct {
	docs   [][2]string
	stored *StoredReader
}

func (s *tinySource) Order() ([]uint32, error) { return nil, nil }

func (s *tinySource) NumDocs() int                   { return len(s.docs) }
func (s *tinySource) Dropped() *Bitmap               { return nil }
func (s *tinySource) ID(doc int) []byte              { return fmt.Append(nil, "id-", doc) }
func (s *tinySource) Stored() (*StoredReader, error) { return s.stored, nil }
func (s *tinySource) Lists() (ListIterator, error) {
	return &tinyLists{s: s, term: []byte{'a' - 1}}, nil
}

// The first field's letters, and their number.
func (s *tinySource) Columns() (*column.Set, error) {
	var file bytes.Buffer
	w := column.NewWriter(&file, len(s.docs), column.Temp{})
	letters, err := w.Ordinals("letters")
	if err != nil {
		return nil, err
	}
	for doc, d := range s.docs {
		var values [][]byte
		for i := range d[0] {
			values = append(values, []byte(d[0][i:i+1]))
		}
		if err := letters.Add(base.DocID(doc), values); err != nil {
			return nil, err
		}
	}
	if err := letters.Close(); err != nil {
		return nil, err
	}
	number, err := w.Numbers("number")
	if err != nil {
		return nil, err
	}
	for doc, d := range s.docs {
		if err := number.Add(base.DocID(doc), []int64{int64(len(d[0]))}); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(number.Close(), w.Close()); err != nil {
		return nil, err
	}
	return column.Open(column.Memory(file.Bytes()), len(s.docs))
}

func (s *tinySource) Lengths(field base.FieldID) (lengths []uint32) {
	for _, d := range s.docs {
		lengths = append(lengths, uint32(len(d[field])))
	}
	return lengths
}

type tinyLists struct {
	s     *tinySource
	field int
	term  []byte
	block PostingBlock
}

func (l *tinyLists) Next() bool {
	for {
		if l.term[0]++; l.term[0] > 'z' {
			if l.field++; l.field == 2 {
				return false
			}
			l.term[0] = 'a'
		}
		l.block = PostingBlock{}
		for doc, d := range l.s.docs {
			last := 0
			for at, c := range []byte(d[l.field]) {
				if c != l.term[0] {
					continue
				}
				if n := l.block.N; n == 0 || l.block.DocIDs[n-1] != uint32(doc) {
					l.block.DocIDs[n], l.block.N, last = uint32(doc), n+1, 0
				}
				l.block.Freqs[l.block.N-1]++
				l.block.Positions = append(l.block.Positions, byte(at-last))
				last = at
			}
		}
		if l.block.N > 0 {
			return true
		}
	}
}

func (l *tinyLists) Field() base.FieldID { return base.FieldID(l.field) }
func (l *tinyLists) Term() []byte        { return l.term }
func (l *tinyLists) DocFreq() int        { return l.block.N }
func (l *tinyLists) Err() error          { return nil }
func (l *tinyLists) Close() error        { return nil }

func (l *tinyLists) ReadBlock(b *PostingBlock) error {
	*b = l.block
	l.block.N = 0
	return nil
}

// smallSegment has all files, in folder seg.
func smallSegment(t *testing.T) *vfstest.Mem {
	t.Helper()
	mem := vfstest.NewMem()
	w, err := NewStoredWriter(mem, "stored")
	if err != nil {
		t.Fatal(err)
	}
	s := &tinySource{docs: [][2]string{{"abcabc", "x"}, {"bcd", "xy"}, {"eaaa", ""}, {"", "z"}, {"fgh", "xyz"}}}
	for _, d := range s.docs {
		if err := w.Add(d[1], d[0], nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if s.stored, err = OpenStored(mem, "stored"); err != nil {
		t.Fatal(err)
	}
	o := Options{Fields: []string{"", "title"}, Codec: "simdbp", BM25: score.DefaultBM25, Positions: true, Stored: true, Order: []base.DocID{2, 0, 1, 4, 3}}
	if _, err := Write(t.Context(), mem, "seg", o, []Source{s}, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.stored.Close(); err != nil {
		t.Fatal(err)
	}
	return mem
}

// reseal replaces a file's payload; all checksums are valid again.
func reseal(t *testing.T, mem *vfstest.Mem, name string, payload []byte) {
	t.Helper()
	path := filepath.Join("seg", name)
	w, err := sealed.Create(mem, path, name, versions[name])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(payload); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	m, err := loadMeta(mem, "seg")
	if err != nil {
		t.Fatal(err)
	}
	for i := range m.Files {
		if m.Files[i].Name == name {
			m.Files[i].SizeBytes, m.Files[i].Sum = w.SizeBytes(), w.Sum()
		}
	}
	if err := saveMeta(mem, "seg", m); err != nil {
		t.Fatal(err)
	}
}

func payloads(t *testing.T, mem *vfstest.Mem) map[string][]byte {
	t.Helper()
	s, err := Open(mem, "seg")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	out := map[string][]byte{}
	for _, f := range s.files {
		out[filepath.Base(f.Name())] = bytes.Clone(f.Bytes())
	}
	return out
}

// resealedError opens and verifies a segment.
func resealedError(t *testing.T, mem *vfstest.Mem) error {
	t.Helper()
	s, err := Open(mem, "seg")
	if err != nil {
		return err
	}
	defer s.Close()
	return s.Verify(t.Context(), nil)
}

// Verify finds changes that no checksum shows: of each byte of the files whose content follows
// from others, and of all lengths.
func TestResealed(t *testing.T) {
	t.Parallel()
	whole := smallSegment(t)
	all := payloads(t, whole)
	if err := resealedError(t, whole); err != nil {
		t.Fatal(err)
	}
	// Other texts, positions, terms and values are as good.
	most := map[string]int{fileStored: 93, filePositions: 67, fileTerms: 145, fileColumns: 70}
	for name, payload := range all {
		unnoticed := 0
		for at := range payload {
			for _, flip := range []byte{1, 2, 0x10, 0x80} {
				mem := whole.Clone()
				changed := bytes.Clone(payload)
				changed[at] ^= flip
				reseal(t, mem, name, changed)
				err := resealedError(t, mem)
				if err == nil {
					unnoticed++
				} else if !errors.Is(err, base.ErrCorrupt) && !errors.Is(err, base.ErrVersion) {
					t.Errorf("%s: byte %d: error %v, want ErrCorrupt", name, at, err)
				}
			}
		}
		if unnoticed > most[name] {
			t.Errorf("%s: %d changes are not noticed, at most %d", name, unnoticed, most[name])
		}
		for _, changed := range [][]byte{
			payload[:len(payload)-1], payload[:len(payload)-4], payload[1:], payload[:len(payload)/2], nil,
			append(bytes.Clone(payload), 1), append(bytes.Clone(payload), make([]byte, 16)...), append([]byte{0}, payload...),
		} {
			mem := whole.Clone()
			reseal(t, mem, name, changed)
			if err := resealedError(t, mem); !errors.Is(err, base.ErrCorrupt) && !errors.Is(err, base.ErrVersion) {
				t.Errorf("%s of %d bytes instead of %d: error %v, want ErrCorrupt", name, len(changed), len(payload), err)
			}
		}
	}
	// Zeros for alignment may follow the lists.
	for _, name := range []string{filePostings, filePositions, fileFrontiers} {
		mem := whole.Clone()
		reseal(t, mem, name, append(bytes.Clone(all[name]), make([]byte, 15)...))
		if err := resealedError(t, mem); err != nil {
			t.Errorf("%s with 15 zeros: %v", name, err)
		}
	}
}

// Open refuses metadata that name other files or counts than there are.
func TestMetaContradictsFiles(t *testing.T) {
	whole := smallSegment(t)
	m, err := loadMeta(whole, "seg")
	if err != nil {
		t.Fatal(err)
	}
	without := func(name string) func(m *Meta) {
		return func(m *Meta) { m.Files = slices.DeleteFunc(m.Files, func(f FileMeta) bool { return f.Name == name }) }
	}
	changes := map[string]func(m *Meta){
		"codec":          func(m *Meta) { m.Codec = "none" },
		"unknown file":   func(m *Meta) { m.Files[len(m.Files)-1].Name = "terms2" },
		"size":           func(m *Meta) { m.Files[0].SizeBytes++ },
		"sum":            func(m *Meta) { m.Files[0].Sum++ },
		"no positions":   func(m *Meta) { m.Positions = false },
		"nothing stored": func(m *Meta) { m.Stored = false },
		"documents": func(m *Meta) {
			m.NumDocs++
			m.Fields[0].AvgLen = m.Fields[0].avgLen(m.NumDocs)
			m.Fields[1].AvgLen = m.Fields[1].avgLen(m.NumDocs)
		},
		"another field":    func(m *Meta) { m.Fields = append(m.Fields, FieldMeta{Name: "more"}) },
		"one field fewer":  func(m *Meta) { m.Fields = m.Fields[:1] },
		"terms of a field": func(m *Meta) { m.Fields[1].NumTerms-- },
		"postings":         func(m *Meta) { m.Fields[1].NumPostings++ },
		"documents of one": func(m *Meta) { m.Fields[1].NumDocs-- },
		"BM25":             func(m *Meta) { m.BM25.K1 = 2 },
		"weights":          func(m *Meta) { m.Weights = true },
	}
	for _, f := range m.Files {
		if f.Name != fileOrder && f.Name != fileColumns {
			changes["without "+f.Name] = without(f.Name)
		}
	}
	for name, change := range changes {
		mem := whole.Clone()
		m, err := loadMeta(mem, "seg")
		if err != nil {
			t.Fatal(err)
		}
		change(m)
		if err := saveMeta(mem, "seg", m); err != nil {
			t.Fatal(err)
		}
		if err := resealedError(t, mem); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	// Without the order, stored documents have another.
	mem := whole.Clone()
	m, err = loadMeta(mem, "seg")
	if err != nil {
		t.Fatal(err)
	}
	without(fileOrder)(m)
	without(fileInverse)(m)
	if err := saveMeta(mem, "seg", m); err != nil {
		t.Fatal(err)
	}
	if err := resealedError(t, mem); err != nil {
		t.Errorf("without an order: %v", err)
	}
}

// Each file operation fails while a segment is opened and read: the error is returned and all
// files are closed.
func TestOpenFaults(t *testing.T) {
	whole := smallSegment(t)
	run := func(plan vfstest.Plan) (*vfstest.Faulty, error) {
		faulty := vfstest.NewFaulty(whole, plan)
		s, err := Open(faulty, "seg")
		if err != nil {
			return faulty, err
		}
		return faulty, errors.Join(s.Verify(t.Context(), nil), s.Close())
	}
	count, err := run(vfstest.Plan{})
	if err != nil || count.Ops() < 9 {
		t.Fatalf("%d operations, %v", count.Ops(), err)
	}
	for at := 1; at <= count.Ops(); at++ {
		faulty, err := run(vfstest.Plan{FailAt: at, Once: true})
		if !errors.Is(err, vfstest.ErrInjected) || len(faulty.StillOpen()) > 0 {
			t.Errorf("%s fails: error %v, %q are still open", count.Operations()[at-1], err, faulty.StillOpen())
		}
	}
	// The same for damaged files.
	for _, name := range whole.Names() {
		mem := whole.Clone()
		mem.Set(name, mem.Get(name)[:len(mem.Get(name))-1])
		faulty := vfstest.NewFaulty(mem, vfstest.Plan{})
		if _, err := Open(faulty, "seg"); strings.HasPrefix(name, "seg/") && !errors.Is(err, base.ErrCorrupt) || len(faulty.StillOpen()) > 0 && err != nil {
			t.Errorf("%s is cut: error %v, %q are still open", name, err, faulty.StillOpen())
		}
	}
}
