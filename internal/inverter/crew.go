package inverter

import (
	"errors"
	"sync"

	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/turns"
	"github.com/griffin-search/griffin/internal/vfs"
)

// Crew inverts the documents of batches on several goroutines. It is safe for concurrent use.
type Crew struct {
	free chan *crewWorker
}

// crewWorker has the memory of an inverter.
type crewWorker struct {
	inverter *inverter
	layout   partialWriter
}

// NewCrew returns a crew of n workers.
func NewCrew(schema *Schema, n int) (*Crew, error) {
	c := &Crew{free: make(chan *crewWorker, n)}
	for range n {
		a, err := schema.NewAnalyzer()
		if err != nil {
			return nil, err
		}
		w := &crewWorker{inverter: newInverter(schema, a, nil, nil)}
		w.inverter.accepted, w.inverter.plain.enabled = true, true
		w.inverter.plain.reset()
		c.free <- w
	}
	return c, nil
}

// chunkBytes is the size of the documents that a worker inverts at once. More have fewer partial indexes, whose lists a
// segment joins, and fewer are inverted sooner after the last document.
func (o *Options) chunkBytes() int {
	const least, most = 64 << 10, 4 << 20
	return int(min(max(o.MemoryBytes/16, least), most))
}

// splitBytes is from which size on the last documents of a batch make two chunks, for two workers.
const splitBytes = 1 << 20

// CrewBatch is a Batch that a Crew inverts: consecutive documents make chunks, and a worker makes
// a partial index of each. It is for one goroutine.
type CrewBatch struct {
	crew     *Crew
	options  Options
	files    tempNames
	partials Partials
	deletes  map[string]docRef

	docs     []corpus.Document
	versions []segment.Version
	isNew    []bool // by document
	size     int
	reshaped docRef // the next document when the shape changed

	workers sync.WaitGroup
	mu      sync.Mutex // guards what the workers write
	err     error
}

// NewBatch returns an empty batch. The schema can have other fields than the crew's, which must be
// equal otherwise.
func (c *Crew) NewBatch(o Options) *CrewBatch {
	o.FS = vfs.Volatile(o.FS)
	b := &CrewBatch{crew: c, options: o, files: tempNames{dir: o.Dir}, deletes: map[string]docRef{}}
	b.partials.store = partialStore{fs: o.FS, files: &b.files, budget: o.MemoryBytes}
	return b
}

// Use changes the schema to one with further or changed fields, for later documents. Earlier ones have
// Document.Declared.
func (b *CrewBatch) Use(s *Schema) {
	if s.Revision() != b.options.Schema.Revision() {
		b.Dispatch()
	}
	if s.Shape() != b.options.Schema.Shape() {
		b.reshaped = makeRef(len(b.partials.list), uint32(len(b.docs)))
	}
	b.options.Schema = s
}

// Schema has the fields of the last document.
func (b *CrewBatch) Schema() *Schema { return b.options.Schema }

// Former counts the documents, after Partials, that were added before the last change of the shape
// (mapping.Mapping.Shape).
func (b *CrewBatch) Former() int { return b.partials.numBefore(b.reshaped) }

// Add adds a document, which must not change until Partials returns, and which Schema.Check accepted when it was
// written. A value that its field does not take today, because an earlier version checked it, is stored and not
// indexed. sizeBytes is about the size of its strings, where those that are parts of others do not count.
func (b *CrewBatch) Add(d *corpus.Document, v segment.Version, sizeBytes int) {
	b.isNew = append(b.isNew, false)
	b.add(d, v, sizeBytes)
}

// AddNew is Add for an id that neither this batch nor the index has, and no batch before this one that is not in
// the index yet.
func (b *CrewBatch) AddNew(d *corpus.Document, v segment.Version, sizeBytes int) {
	b.isNew = append(b.isNew, true)
	b.add(d, v, sizeBytes)
}

func (b *CrewBatch) add(d *corpus.Document, v segment.Version, sizeBytes int) {
	b.docs, b.versions = append(b.docs, *d), append(b.versions, v)
	if b.size += sizeBytes; b.size >= b.options.chunkBytes() {
		b.dispatch(len(b.docs))
	}
}

// Delete deletes earlier documents with an id, which Deletes returns.
func (b *CrewBatch) Delete(id string) {
	b.deletes[id] = makeRef(len(b.partials.list), uint32(len(b.docs)))
}

// Deletes returns the deleted ids.
func (b *CrewBatch) Deletes() map[string]struct{} {
	ids := make(map[string]struct{}, len(b.deletes))
	for id := range b.deletes {
		ids[id] = struct{}{}
	}
	return ids
}

// Dispatch begins to invert the documents that were added, and waits for workers.
func (b *CrewBatch) Dispatch() {
	if n := len(b.docs); n > 1 && cap(b.crew.free) > 1 && b.size >= splitBytes {
		b.dispatch(n / 2)
	}
	b.dispatch(len(b.docs))
}

// dispatch is Dispatch for the first n documents.
func (b *CrewBatch) dispatch(n int) {
	if n == 0 {
		return
	}
	docs, versions, isNew, schema, number := b.docs[:n:n], b.versions[:n:n], b.isNew[:n:n], b.options.Schema, len(b.partials.list)
	b.size -= int(int64(b.size) * int64(n) / int64(len(b.docs)))
	b.docs, b.versions, b.isNew = b.docs[n:], b.versions[n:], b.isNew[n:]
	if len(b.docs) == 0 {
		room := n + n/16
		b.docs, b.versions, b.isNew = make([]corpus.Document, 0, room), make([]segment.Version, 0, room), make([]bool, 0, room)
	} else { // the rest is in the next partial index
		for id, ref := range b.deletes {
			if ref.partial() == number && int(ref.doc()) > n {
				b.deletes[id] = makeRef(number+1, ref.doc()-uint32(n))
			}
		}
	}
	b.mu.Lock()
	b.partials.list = append(b.partials.list, nil)
	b.mu.Unlock()
	w := <-b.crew.free
	b.workers.Go(func() {
		defer func() { b.crew.free <- w }()
		var r *partial
		var err error
		turns.Long(func() { r, err = b.invert(w, schema, docs, versions) })
		if r != nil {
			r.isNew = isNew
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		b.partials.list[number], b.err = r, errors.Join(b.err, err)
	})
}

func (b *CrewBatch) invert(w *crewWorker, schema *Schema, docs []corpus.Document, versions []segment.Version) (r *partial, err error) {
	v := w.inverter
	v.fs, v.files = b.options.FS, &b.files
	v.use(schema)
	defer v.reset()
	if inMemory(docs) {
		v.storeInMemory()
	}
	// The documents were checked (Add). All are stored before the first is inverted, because compression and inversion
	// have tables that would displace each other from the processor's caches.
	for _, each := range []func(*corpus.Document) error{v.store, v.invert} {
		for i := range docs {
			b.options.Gate.Pass()
			if err := each(&docs[i]); err != nil {
				return nil, errors.Join(err, v.abort())
			}
		}
	}
	v.docs.versions = append(v.docs.versions[:0], versions...)
	w.layout.plain.gate = b.options.Gate
	if r, err = w.layout.finish(v); err != nil {
		return nil, err
	}
	spill := new(spillFile)
	if err := b.partials.store.keep(r, spill); err != nil {
		r.free()
		return nil, err
	}
	return r, spill.finish()
}

// inMemory reports whether documents are stored in memory: without a file, their blocks are written once, to the segment.
func inMemory(docs []corpus.Document) bool {
	const most = 16 << 20 // chunks are smaller, unless they have a large document
	size := 0
	for i := range docs {
		d := &docs[i]
		size += len(d.Title) + len(d.Text)
		for j := range d.Extra {
			size += len(d.Extra[j].Name) + len(d.Extra[j].Value)
		}
	}
	return size <= most
}

// Partials returns the documents without replaced and deleted ones, valid until Close, and the same
// when called again. It ends the batch. The error is of the file system.
func (b *CrewBatch) Partials() (*Partials, error) {
	b.Dispatch()
	b.workers.Wait()
	if b.err != nil {
		return nil, b.err
	}
	const mergeBytes = 32 << 20
	b.partials.setWindows(mergeBytes)
	if err := b.partials.dropOlder(b.deletes); err != nil {
		return nil, err
	}
	return &b.partials, nil
}

// Close waits for workers and closes the temporary files.
func (b *CrewBatch) Close() error {
	b.workers.Wait()
	return b.partials.Close()
}
