package segment

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/blevesearch/vellum"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/column"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/sealed"
	"github.com/griffin-search/griffin/internal/vfs"
)

// Segment is an open segment; all methods but Close are safe for concurrent use. Returned
// slices point into mapped files and are valid until Close.
type Segment struct {
	dir    string
	meta   Meta
	codec  codec.Codec
	fields map[string]base.FieldID

	files                          []*sealed.File // in the order of Meta.Files
	postings, positions, frontiers *sealed.File   // positions may be nil
	dict                           *dictionary
	lists                          *listCache
	ids                            *idTable
	lengths                        []fieldLengths
	stored                         *StoredReader // nil: none
	order, inverse                 *array        // nil: DocIDs are in the order of writing
	written                        writtenOrder
	versions                       *sealed.File // nil: none
	columns                        func() (*column.Set, error)
}

// Open validates metadata and that files are complete and belong together; content is checked
// at first use (or by Verify). The error wraps base.ErrCorrupt, base.ErrVersion or a
// file-system error.
func Open(fs vfs.FS, dir string) (*Segment, error) {
	meta, err := loadMeta(fs, dir)
	if err != nil {
		return nil, fmt.Errorf("segment: %w", err)
	}
	s := &Segment{dir: dir, meta: *meta, fields: make(map[string]base.FieldID, len(meta.Fields))}
	for i, f := range meta.Fields {
		s.fields[f.Name] = base.FieldID(i)
	}
	if err := s.open(fs); err != nil {
		return nil, errors.Join(fmt.Errorf("segment %s: %w", dir, err), s.Close())
	}
	return s, nil
}

// The newest readable versions.
var versions = map[string]uint32{
	fileTerms:     dictionaryVersion,
	fileRecords:   dictionaryVersion,
	filePostings:  postingsVersion,
	filePositions: postingsVersion,
	fileFrontiers: postingsVersion,
	fileLengths:   arrayVersion,
	fileIDs:       idsVersion,
	fileStored:    storedVersion,
	fileOrder:     arrayVersion,
	fileInverse:   arrayVersion,
	fileVersions:  arrayVersion,
	fileColumns:   column.FormatVersion,
}

const (
	postingsVersion = 1
	arrayVersion    = 1
)

func (s *Segment) open(fs vfs.FS) (err error) {
	if s.codec, err = codec.Lookup(s.meta.Codec); err != nil {
		return err
	}
	byName := map[string]*sealed.File{}
	for _, want := range s.meta.Files {
		version, known := versions[want.Name]
		switch {
		case known:
		case want.Optional:
			continue
		default:
			return fmt.Errorf("%s: file %q, which this program does not know: %w", fileMeta, want.Name, base.ErrVersion)
		}
		f, err := sealed.Open(fs, filepath.Join(s.dir, want.Name), want.Name, version)
		if err != nil {
			return err
		}
		s.files = append(s.files, f)
		byName[want.Name] = f
		if f.SizeBytes() != want.SizeBytes || f.Sum() != want.Sum {
			return fmt.Errorf("%s: of another segment, or an older one: %w", f.Name(), base.ErrCorrupt)
		}
	}
	if err := s.checkFiles(byName); err != nil {
		return err
	}
	s.postings, s.positions, s.frontiers = byName[filePostings], byName[filePositions], byName[fileFrontiers]
	if s.dict, err = newDictionary(byName[fileTerms], byName[fileRecords], len(s.meta.Fields)); err != nil {
		return err
	}
	s.lists = newListCache(s.dict.numTerms())
	if s.ids, err = newIDTable(byName[fileIDs], s.meta.NumDocs); err != nil {
		return err
	}
	if err := s.openLengths(byName[fileLengths]); err != nil {
		return err
	}
	if err := s.openOrder(byName[fileOrder], byName[fileInverse]); err != nil {
		return err
	}
	if s.versions = byName[fileVersions]; s.versions != nil && s.versions.Len() != versionBytes*uint64(s.meta.NumDocs) {
		return fmt.Errorf("%s: %d bytes for %d documents: %w", s.versions.Name(), s.versions.Len(), s.meta.NumDocs, base.ErrCorrupt)
	}
	s.columns = sync.OnceValues(func() (*column.Set, error) { return openColumns(byName[fileColumns], s.meta.NumDocs) })
	return s.openStored(byName[fileStored])
}

func (s *Segment) checkFiles(byName map[string]*sealed.File) error {
	need := []string{fileTerms, fileRecords, filePostings, fileFrontiers, fileLengths, fileIDs}
	if s.meta.Positions {
		need = append(need, filePositions)
	}
	if s.meta.Stored {
		need = append(need, fileStored)
	}
	for _, name := range need {
		if byName[name] == nil {
			return fmt.Errorf("%s: file %q is missing: %w", fileMeta, name, base.ErrCorrupt)
		}
	}
	order, inverse := byName[fileOrder] != nil, byName[fileInverse] != nil
	known := len(need)
	if order && (inverse || s.meta.Stored && s.meta.FormatVersion == 1) {
		known++
	}
	if order && inverse {
		known++
	}
	for _, name := range []string{fileVersions, fileColumns} {
		if byName[name] != nil {
			known++
		}
	}
	if n := len(byName); n != known {
		return fmt.Errorf("%s: %d files, want %d: %w", fileMeta, n, len(need), base.ErrCorrupt)
	}
	return nil
}

// openOrder maps the order of the documents and its inverse, both nil if DocIDs are that order.
func (s *Segment) openOrder(order, inverse *sealed.File) error {
	for _, f := range []*sealed.File{order, inverse} {
		if f != nil && f.Len() != 4*uint64(s.meta.NumDocs) {
			return fmt.Errorf("%s: %d bytes for %d documents: %w", f.Name(), f.Len(), s.meta.NumDocs, base.ErrCorrupt)
		}
	}
	if order != nil {
		s.order = &array{file: order, n: s.meta.NumDocs}
	}
	if inverse != nil {
		s.inverse = &array{file: inverse, n: s.meta.NumDocs}
	}
	return nil
}

func (s *Segment) openStored(stored *sealed.File) (err error) {
	if stored == nil {
		return nil
	}
	if s.stored, err = newStoredReader(stored); err != nil {
		return err
	}
	if s.stored.NumDocs() != s.meta.NumDocs {
		return fmt.Errorf("%s: %d documents, want %d: %w", stored.Name(), s.stored.NumDocs(), s.meta.NumDocs, base.ErrCorrupt)
	}
	s.stored.order = s.order
	return nil
}

// MakeReady makes and verifies what the first lookups of ids and the first searches need of the whole segment: the filter of
// its ids and the lengths of its documents. It calls pass often. The error wraps base.ErrCorrupt.
func MakeReady(s *Segment, pass func()) error {
	s.ids.once.mu.Lock()
	defer s.ids.once.mu.Unlock()
	if s.ids.once.made.Load() == nil {
		if _, err := s.ids.makeFilter(pass); err != nil {
			return fmt.Errorf("segment %s: %w", s.dir, err)
		}
	}
	for f := range s.lengths {
		if err := s.CheckLengths(base.FieldID(f)); err != nil {
			return err
		}
		pass()
	}
	return nil
}

// Close unmaps the files; returned slices become invalid.
func (s *Segment) Close() error {
	var errs []error
	for _, f := range s.files {
		errs = append(errs, f.Close())
	}
	s.files = nil
	return errors.Join(errs...)
}

// Dir is the segment's folder.
func (s *Segment) Dir() string { return s.dir }

// Meta returns the metadata, which must not be changed.
func (s *Segment) Meta() *Meta { return &s.meta }

// NumDocs includes deleted documents.
func (s *Segment) NumDocs() int { return s.meta.NumDocs }

// Codec is the posting lists'.
func (s *Segment) Codec() codec.Codec { return s.codec }

// FieldID returns a field's number; "" is the default.
func (s *Segment) FieldID(name string) (base.FieldID, bool) {
	f, ok := s.fields[name]
	return f, ok
}

// Parts selects what FindParts opens besides DocIDs and frequencies.
type Parts uint8

const (
	// Positions serve phrases, if present.
	Positions Parts = 1 << iota
	// Frontiers give bounds for other K1 or B.
	Frontiers
)

// Find opens a term's DocIDs and frequencies and reports whether it exists. It verifies the
// list and the field's lengths on first use; only caching the list allocates. The error wraps
// base.ErrCorrupt. l is undefined unless found.
func (s *Segment) Find(f base.FieldID, term []byte, l *postings.List) (found bool, err error) {
	return s.FindParts(f, term, 0, l)
}

// FindParts is Find with further parts.
func (s *Segment) FindParts(f base.FieldID, term []byte, parts Parts, l *postings.List) (found bool, err error) {
	if parts == 0 {
		shared, err := FindShared(s, f, term)
		if shared != nil {
			*l = *shared
		}
		return shared != nil, err
	}
	m, found, err := s.dict.meta(f, term)
	if err == nil && found {
		err = s.openList(f, &m, parts, l)
	}
	if err != nil {
		return false, s.listError(f, term, err)
	}
	return found, nil
}

// FindShared is Find without a copy: nobody may change the list, which the segment keeps for others. It returns nil if
// the segment does not have the term.
func FindShared(s *Segment, f base.FieldID, term []byte) (*postings.List, error) {
	hash := s.lists.hash(f, term)
	if l := s.lists.get(hash, f, term); l != nil {
		return l, nil
	}
	var l postings.List
	shared, _, err := open(s, f, term, hash, 1, &l)
	return shared, err
}

// FindCounted is Find for the words of deleted documents. Their rare words would fill the cache of each segment:
// it gets the lists of a thousandth of the documents, which most words have.
func FindCounted(s *Segment, f base.FieldID, term []byte, l *postings.List) (found bool, err error) {
	shared, found, err := find(s, f, term, max(s.meta.NumDocs/1000, 1), l)
	if shared != nil {
		*l = *shared
	}
	return found, err
}

// find returns the list of the cache, which gets it if it has at least cached documents. Others are only in l.
func find(s *Segment, f base.FieldID, term []byte, cached int, l *postings.List) (shared *postings.List, found bool, err error) {
	hash := s.lists.hash(f, term)
	if shared = s.lists.get(hash, f, term); shared != nil {
		return shared, true, nil
	}
	return open(s, f, term, hash, cached, l)
}

// open is find of a list that is not in the cache.
func open(s *Segment, f base.FieldID, term []byte, hash uint64, cached int, l *postings.List) (shared *postings.List, found bool, err error) {
	m, found, err := s.dict.meta(f, term)
	if err == nil && found {
		err = s.openList(f, &m, 0, l)
	}
	switch {
	case err != nil:
		return nil, false, s.listError(f, term, err)
	case found && int(l.DocFreq) >= cached:
		shared = s.lists.put(hash, f, term, l)
	}
	return shared, found, nil
}

func (s *Segment) listError(f base.FieldID, term []byte, err error) error {
	name := ""
	if int(f) < len(s.meta.Fields) {
		name = s.meta.Fields[f].Name
	}
	return fmt.Errorf("segment %s: field %q: term %q: %w", s.dir, name, term, err)
}

func (s *Segment) openList(f base.FieldID, m *postings.Meta, parts Parts, l *postings.List) error {
	if int64(m.DocFreq) > int64(s.meta.NumDocs) {
		return fmt.Errorf("list of %d documents in a segment of %d: %w", m.DocFreq, s.meta.NumDocs, base.ErrCorrupt)
	}
	if err := s.CheckLengths(f); err != nil {
		return err
	}
	if err := s.postings.Check(m.Offset, m.Length); err != nil {
		return err
	}
	var positions, frontiers []byte
	if parts&Positions != 0 && s.positions != nil {
		if err := s.positions.Check(m.PosOffset, m.PosLength); err != nil {
			return err
		}
		positions = s.positions.Bytes()
	}
	if parts&Frontiers != 0 {
		if err := s.frontiers.Check(m.FrontierOffset, m.FrontierLength); err != nil {
			return err
		}
		frontiers = s.frontiers.Bytes()
	}
	if err := l.Open(*m, s.codec, s.postings.Bytes(), positions, frontiers); err != nil {
		return err
	}
	// A valid directory's last DocID bounds all, so none exceeds the lengths.
	if last := l.LastDocID(); int64(last) >= int64(s.meta.NumDocs) {
		return fmt.Errorf("DocID %d in a segment of %d: %w", last, s.meta.NumDocs, base.ErrCorrupt)
	}
	return nil
}

// Terms iterates over a field's terms with the prefix.
func (s *Segment) Terms(f base.FieldID, prefix []byte) *TermIterator {
	return s.dict.iterator(f, prefix)
}

// TermsFrom iterates over a field's terms in s that are not less than start.
func TermsFrom(s *Segment, f base.FieldID, start []byte) *TermIterator {
	return s.dict.iteratorFrom(f, start)
}

// TermsMatching iterates over a field's terms in s that begin with prefix, with which all matches of a
// begin, and that a matches.
func TermsMatching(s *Segment, f base.FieldID, prefix []byte, a vellum.Automaton) *TermIterator {
	it := s.Terms(f, prefix)
	it.filter = a
	return it
}

// OpenList opens the DocIDs and frequencies of the current term of an iterator over s.
func OpenList(s *Segment, it *TermIterator, l *postings.List) error {
	m, err := it.Meta()
	if err == nil {
		err = s.openList(it.field, &m, 0, l)
	}
	if err != nil {
		return s.listError(it.field, it.term, err)
	}
	return nil
}

// ID returns the external id of a document in [0, NumDocs).
func (s *Segment) ID(doc base.DocID) ([]byte, error) {
	if int64(doc) >= int64(s.meta.NumDocs) {
		return nil, fmt.Errorf("segment %s: document %d of %d: %w", s.dir, doc, s.meta.NumDocs, base.ErrBadInput)
	}
	id, err := s.ids.id(uint64(doc))
	if err != nil {
		return nil, fmt.Errorf("segment %s: %w", s.dir, err)
	}
	return id, nil
}

// Lookup returns the document of an external id, deleted or not, in about half a microsecond; if it has been called
// often, less for an id of no document.
func (s *Segment) Lookup(id []byte) (doc base.DocID, found bool, err error) {
	return HashID(id).Lookup(s, id)
}

// HasStored reports whether documents are stored.
func (s *Segment) HasStored() bool { return s.stored != nil }

// Stored reads stored fields into d; without, the error wraps base.ErrBadInput.
func (s *Segment) Stored(doc base.DocID, d *StoredDoc) error {
	if s.stored == nil {
		return fmt.Errorf("segment %s: index has no stored documents: %w", s.dir, base.ErrBadInput)
	}
	if err := s.stored.Get(doc, d); err != nil {
		return fmt.Errorf("segment %s: %w", s.dir, err)
	}
	return nil
}
