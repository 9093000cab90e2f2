package inverter

import (
	"encoding/binary"
	"errors"
	"sort"

	"github.com/griffin-search/griffin/internal/analysis"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/vfs"
)

// Batch inverts single documents, among ids to delete, for one goroutine.
type Batch struct {
	Options
	files    tempNames
	inverter *inverter
	layout   partialWriter
	partials Partials
	spill    spillFile
	// The next document when an id was deleted: earlier ones are deleted, later ones are not.
	deletes map[string]docRef
	// reshaped is the next document when the shape changed.
	reshaped docRef
}

// NewBatch returns an empty batch. analyzer is the schema's.
func NewBatch(o Options, analyzer analysis.Analyzer) *Batch {
	o.FS = vfs.Volatile(o.FS)
	b := &Batch{Options: o, files: tempNames{dir: o.Dir}, deletes: map[string]docRef{}}
	b.inverter = newInverter(o.Schema, analyzer, o.FS, &b.files)
	b.partials.store = partialStore{fs: o.FS, files: &b.files, budget: o.MemoryBytes / 2 * 2 / 3}
	return b
}

// Use changes the schema to one with further fields, for later documents.
func (b *Batch) Use(s *Schema) {
	if s.Shape() != b.Schema.Shape() {
		b.reshaped = makeRef(len(b.partials.list), uint32(b.inverter.numDocs()))
	}
	b.Schema = s
	b.inverter.use(s)
}

// Former counts the documents, after Partials, that were added before the last change of the shape
// (mapping.Mapping.Shape).
func (b *Batch) Former() int { return b.partials.numBefore(b.reshaped) }

// Add adds a document. If the error wraps base.ErrBadInput, it cannot be indexed and was not
// added; after any other, the batch can only be closed.
func (b *Batch) Add(d *corpus.Document) error {
	if b.inverter.full() || b.inverter.usedBytes() > b.MemoryBytes/2/3 {
		if err := b.finishPartial(); err != nil {
			return err
		}
	}
	return b.inverter.add(d)
}

// AddVersion is Add for a document with a version. All documents of a batch have one, or none.
func (b *Batch) AddVersion(d *corpus.Document, v segment.Version) error {
	if err := b.Add(d); err != nil {
		return err
	}
	b.inverter.docs.versions = append(b.inverter.docs.versions, v)
	return nil
}

// Delete deletes earlier documents with an id, which Deletes returns.
func (b *Batch) Delete(id string) {
	b.deletes[id] = makeRef(len(b.partials.list), uint32(b.inverter.numDocs()))
}

// Deletes returns the deleted ids.
func (b *Batch) Deletes() map[string]struct{} {
	ids := make(map[string]struct{}, len(b.deletes))
	for id := range b.deletes {
		ids[id] = struct{}{}
	}
	return ids
}

// Partials returns the documents without replaced and deleted ones, valid until the next Add or
// Close, and the same if nothing has changed.
func (b *Batch) Partials() (*Partials, error) {
	if err := errors.Join(b.finishPartial(), b.spill.finish()); err != nil {
		return nil, err
	}
	const mergeBytes = 32 << 20
	b.partials.setWindows(mergeBytes)
	if err := b.partials.dropOlder(b.deletes); err != nil {
		return nil, err
	}
	return &b.partials, nil
}

// dropOlder drops documents with a later one's id, and those before the deletion of their id.
func (p *Partials) dropOlder(deletes map[string]docRef) error {
	if _, err := dropDuplicates(p.list); err != nil {
		return err
	}
	for id, before := range deletes {
		for i, r := range p.list {
			doc, found, err := r.find(id)
			if err != nil {
				return err
			}
			if found && makeRef(i, doc) < before {
				r.drop(int(doc))
			}
		}
	}
	return nil
}

// Close closes the temporary files.
func (b *Batch) Close() error { return errors.Join(b.inverter.abort(), b.partials.Close()) }

func (b *Batch) finishPartial() error {
	if b.inverter.numDocs() == 0 {
		return nil
	}
	r, err := b.layout.finish(b.inverter)
	if err == nil {
		err = b.partials.store.keep(r, &b.spill)
	}
	if err != nil {
		return err
	}
	b.partials.list = append(b.partials.list, r)
	b.inverter.reset()
	return nil
}

func (r *partial) find(id string) (doc uint32, found bool, err error) {
	hash := hashID([]byte(id))
	entry := func(i int) (keyed, error) {
		b, err := r.hashes.bytes(int64(i)*idHashBytes, idHashBytes)
		if err != nil {
			return keyed{}, err
		}
		return keyed{Key: binary.LittleEndian.Uint64(b), Number: binary.LittleEndian.Uint32(b[8:])}, nil
	}
	first := sort.Search(r.numDocs, func(i int) bool {
		e, entryErr := entry(i)
		err = errors.Join(err, entryErr)
		return e.Key >= hash
	})
	for i := first; i < r.numDocs && err == nil; i++ {
		var e keyed
		if e, err = entry(i); err != nil || e.Key != hash {
			break
		}
		var other string
		if other, err = r.readID(e.Number); err == nil && other == id {
			doc, found = e.Number, true
		}
	}
	return doc, found, err
}
