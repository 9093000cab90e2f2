package inverter

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/inverter/invertertest"
	"github.com/griffin-search/griffin/internal/vfs"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

// chunkReader gives batches of one document, whose size is a chunk's share.
type chunkReader struct {
	corpus.Reader
	docs               []corpus.Document
	size               int64
	fail, failsToClose error
	before             func(at int)
	parsing            func(file string)
	at, closed         int
	parsed             chan struct{} // closed after the first Close
}

func (r *chunkReader) Next() (*corpus.Batch, error) {
	if r.before != nil {
		r.before(r.at)
	}
	if r.at == len(r.docs) {
		if r.fail != nil {
			return nil, r.fail
		}
		return nil, io.EOF
	}
	d := &r.docs[r.at]
	r.at++
	return &corpus.Batch{SizeBytes: r.size, Parse: func(doc func(*corpus.Document) error, bad func(*corpus.RecordError) error) error {
		if r.parsing != nil {
			r.parsing(d.Source.File)
		}
		if d.Text == "bad" {
			return bad(&corpus.RecordError{Location: d.Source, Err: errInjected})
		}
		return doc(d)
	}}, nil
}

func (r *chunkReader) Close() error {
	if r.closed++; r.closed == 1 && r.parsed != nil {
		close(r.parsed)
	}
	return r.failsToClose
}

func invertOptions(t *testing.T, fsys vfs.FS) Options {
	schema := testSchema()
	schema.Stored = true
	return Options{Schema: schema, FS: fsys, Dir: t.TempDir(), Threads: 2, Counts: new(Counts)}
}

// A chunk ends with the batch that reaches its size.
func TestChunks(t *testing.T) {
	docs := invertertest.RandomDocs(40, 8, false)
	for size, want := range map[int64]int{minChunkBytes: 8, minChunkBytes - 1: 4, minChunkBytes / 2: 4, minChunkBytes / 4: 2, 0: 1} {
		o := invertOptions(t, vfs.OS)
		reader := &chunkReader{docs: docs, size: size}
		p, err := Invert(t.Context(), reader, o)
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, src := range p.Sources() {
			for d := range src.NumDocs() {
				ids = append(ids, string(src.ID(d)))
			}
		}
		for i := range ids {
			if len(ids) != len(docs) || ids[i] != docs[i].ID {
				t.Fatalf("documents %q", ids)
			}
		}
		if p.Len() != want || reader.closed != 1 || o.Counts.Docs.Load() != 8 || o.Counts.Bytes.Load() != 8*size {
			t.Errorf("batches of %d bytes: %d partial indexes, want %d; %d times closed; %d documents of %d bytes",
				size, p.Len(), want, reader.closed, o.Counts.Docs.Load(), o.Counts.Bytes.Load())
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestPipelineMemory(t *testing.T) {
	for _, c := range []struct {
		memory  int64
		threads int
		chunk   int64
	}{
		{0, 1, minChunkBytes},
		{1 << 30, 1, 1 << 29 / 18},
		{1 << 30, 4, 1 << 29 / 54},
		{1 << 40, 1, maxChunkBytes},
	} {
		p := newPipeline(nil, Options{MemoryBytes: c.memory, Threads: c.threads})
		if p.chunkBytes != c.chunk || p.inverterBytes != 8*c.chunk || p.partials.store.budget != c.memory/2*2/3 || p.Counts == nil {
			t.Errorf("%d bytes, %d threads: chunks of %d, inverters of %d, budget %d", c.memory, c.threads, p.chunkBytes, p.inverterBytes, p.partials.store.budget)
		}
	}
	b := NewBatch(Options{Schema: testSchema(), MemoryBytes: 600}, nil)
	if b.partials.store.budget != 200 {
		t.Errorf("batch: budget %d, want 200", b.partials.store.budget)
	}
}

// The reader is closed once. Its errors and the errors of Close are returned.
func TestInvertReaderErrors(t *testing.T) {
	docs := invertertest.RandomDocs(41, 3, false)
	errClose := errors.New("injected into Close")
	for _, fail := range []error{nil, errInjected} {
		for _, failsToClose := range []error{nil, errClose} {
			reader := &chunkReader{docs: docs, size: minChunkBytes, fail: fail, failsToClose: failsToClose}
			p, err := Invert(t.Context(), reader, invertOptions(t, vfs.OS))
			if (fail != nil || failsToClose != nil) != (err != nil) || !errors.Is(err, fail) && fail != nil || !errors.Is(err, failsToClose) && failsToClose != nil || reader.closed != 1 {
				t.Errorf("reader fails with %v, its Close with %v: error %v, %d times closed", fail, failsToClose, err, reader.closed)
			}
			if err == nil {
				err = p.Close()
			} else if p != nil {
				t.Error("a result with an error")
			}
			if err != nil && fail == nil && failsToClose == nil {
				t.Error(err)
			}
		}
	}
	// Cancelled while the reader waits for input.
	ctx, cancel := context.WithCancel(t.Context())
	let := make(chan struct{})
	reader := &chunkReader{docs: docs, size: minChunkBytes, parsed: make(chan struct{}), before: func(at int) {
		if at == 2 {
			cancel()
			<-let
		}
	}}
	if _, err := Invert(ctx, reader, invertOptions(t, vfs.OS)); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want Canceled", err)
	}
	close(let)
	<-reader.parsed
}

// Each file operation fails while documents are inverted and read back.
func TestInvertFaults(t *testing.T) {
	t.Parallel()
	docs := invertertest.RandomDocs(42, 6, false)
	run := func(plan vfstest.Plan) (*vfstest.Faulty, error) {
		faulty := vfstest.NewFaulty(vfs.OS, plan)
		o := invertOptions(t, faulty)
		o.Threads = 1
		p, err := Invert(t.Context(), &chunkReader{docs: docs, size: minChunkBytes}, o)
		if err != nil {
			return faulty, err
		}
		if p.Spilled() != 6 {
			t.Errorf("%d partial indexes were spilled, want 6", p.Spilled())
		}
		for _, src := range p.Sources() {
			src.ID(0)
			err = errors.Join(err, p.Err(), readLists(src), readStored(src))
		}
		return faulty, errors.Join(err, p.Close())
	}
	whole, err := run(vfstest.Plan{})
	if err != nil || whole.Ops() < 20 {
		t.Fatalf("%d operations, %v", whole.Ops(), err)
	}
	for at := 1; at <= whole.Ops(); at++ {
		for _, once := range []bool{true, false} {
			faulty, err := run(vfstest.Plan{FailAt: at, Once: once})
			if !errors.Is(err, vfstest.ErrInjected) {
				t.Errorf("%s fails, once: %t: error %v", whole.Operations()[at-1], once, err)
			}
			if open := faulty.StillOpen(); len(open) > 0 {
				t.Errorf("%s fails, once: %t: %q are still open", whole.Operations()[at-1], once, open)
			}
		}
	}
}

// The first bad record of the corpus counts, and documents that cannot be indexed are bad, too.
func TestBadRecords(t *testing.T) {
	p := newPipeline(nil, Options{MaxErrors: 2})
	var told []string
	p.OnBadRecord = func(e *corpus.RecordError) { told = append(told, e.Location.File) }
	for i, c := range []struct {
		chunk   int
		first   string
		tooMany bool
	}{{5, "5", false}, {3, "3", false}, {3, "3", true}, {4, "3", true}} {
		err := p.badRecord(c.chunk, &corpus.RecordError{Location: corpus.Location{File: fmt.Sprint(c.chunk)}, Err: errInjected})
		var tooMany *TooManyErrors
		if errors.As(err, &tooMany) != c.tooMany || p.first.Location.File != c.first || len(told) != i+1 || p.Counts.BadRecords.Load() != int64(i+1) {
			t.Errorf("bad record %d: error %v, the first in chunk %s, told of %d", i, err, p.first.Location.File, len(told))
		}
		if c.tooMany {
			if got := p.failure(err); !errors.Is(got, base.ErrBadInput) || tooMany.Limit != 2 || tooMany.First.Location.File != "3" {
				t.Errorf("failure %v of %+v", got, tooMany)
			}
		}
	}
	if got := p.failure(errInjected); !errors.Is(got, errInjected) {
		t.Errorf("failure %v", got)
	}
	unlimited := newPipeline(nil, Options{MaxErrors: -1})
	if err := unlimited.badRecord(0, &corpus.RecordError{}); err != nil {
		t.Errorf("without a limit: %v", err)
	}

	docs := invertertest.RandomDocs(43, 5, false)
	docs[1].ID, docs[3].Text = "", "bad"
	o := invertOptions(t, vfs.OS)
	o.MaxErrors = 2
	partials, err := Invert(t.Context(), &chunkReader{docs: docs, size: 1}, o)
	if err != nil {
		t.Fatal(err)
	}
	if partials.NumDocs() != 3 || o.Counts.Docs.Load() != 3 || o.Counts.BadRecords.Load() != 2 {
		t.Errorf("%d documents, counted %d and %d bad records", partials.NumDocs(), o.Counts.Docs.Load(), o.Counts.BadRecords.Load())
	}
	if err := partials.Close(); err != nil {
		t.Error(err)
	}
	o.MaxErrors, o.Counts = 1, nil
	if _, err := Invert(t.Context(), &chunkReader{docs: docs, size: 1}, o); !errors.Is(err, base.ErrBadInput) || !errors.Is(err, errInjected) && err == nil {
		t.Errorf("one error too many: %v", err)
	}
	o.Schema = &Schema{Analyzer: "klingon", Fields: []string{""}}
	if _, err := Invert(t.Context(), &chunkReader{docs: docs, size: 1}, o); err == nil || errors.Is(err, errInjected) {
		t.Errorf("unknown analyzer: %v", err)
	}
}

// A worker may reach the limit of bad records while another one has not come to an earlier bad record.
func TestFirstBadRecord(t *testing.T) {
	docs := invertertest.RandomDocs(45, 3, false)
	for i := range docs {
		docs[i].Source = corpus.Location{File: fmt.Sprint(i)}
	}
	docs[1].Text, docs[2].Text = "bad", "bad"
	o := invertOptions(t, vfs.OS)
	late := make(chan struct{})
	o.OnBadRecord = func(e *corpus.RecordError) {
		if e.Location.File == "2" {
			close(late)
		}
	}
	// Documents 0 and 1 are a chunk, whose worker waits for the bad record of the next one and some time more.
	reader := &chunkReader{docs: docs, size: minChunkBytes / 2, parsing: func(file string) {
		if file == "0" {
			<-late
			time.Sleep(10 * time.Millisecond)
		}
	}}
	_, err := Invert(t.Context(), reader, o)
	var tooMany *TooManyErrors
	if !errors.As(err, &tooMany) || tooMany.First.Location.File != "1" {
		t.Errorf("error %v, want the bad record 1", err)
	}
}

func TestTooManyErrorsText(t *testing.T) {
	first := &corpus.RecordError{Location: corpus.Location{File: "f"}, Err: errInjected}
	for limit, want := range map[int]string{0: "bad record: ", 1: "more than 1 bad record, the first: ", 2: "more than 2 bad records, the first: "} {
		if got, want := (&TooManyErrors{Limit: limit, First: first}).Error(), want+first.Error(); got != want {
			t.Errorf("limit %d: %q, want %q", limit, got, want)
		}
	}
}

// A worker ends its partial index when its memory is used.
func TestBatchMemory(t *testing.T) {
	docs := invertertest.RandomDocs(44, 3, false)
	schema := testSchema()
	for _, more := range []int64{0, -1} {
		b := NewBatch(Options{Schema: schema, FS: vfs.OS, Dir: t.TempDir(), MemoryBytes: 1 << 30}, analyzerOf(t, schema))
		if err := b.Add(&docs[0]); err != nil {
			t.Fatal(err)
		}
		b.MemoryBytes = 6*b.inverter.usedBytes() + more
		if err := b.Add(&docs[1]); err != nil {
			t.Fatal(err)
		}
		if got := len(b.partials.list); got != int(-more) {
			t.Errorf("limit and %d bytes: %d partial indexes are finished", more, got)
		}
		p, err := b.Partials()
		if err != nil || p.NumDocs() != 2 {
			t.Errorf("%d documents, %v", p.NumDocs(), err)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
	// Only documents before Delete are deleted.
	b := NewBatch(Options{Schema: schema, FS: vfs.OS, Dir: t.TempDir(), MemoryBytes: 1 << 30}, analyzerOf(t, schema))
	a, z := corpus.Document{ID: "a", Text: "x"}, corpus.Document{ID: "z", Text: "y"}
	if err := errors.Join(b.Add(&a), b.Add(&z)); err != nil {
		t.Fatal(err)
	}
	b.Delete("a")
	b.Delete("z")
	if err := b.Add(&z); err != nil {
		t.Fatal(err)
	}
	p, err := b.Partials()
	if err != nil {
		t.Fatal(err)
	}
	drop := p.Sources()[0].Dropped()
	if got := []bool{drop.Has(0), drop.Has(1), drop.Has(2)}; !slices.Equal(got, []bool{true, true, false}) || len(b.Deletes()) != 2 {
		t.Errorf("dropped: %v; deletes %v", got, b.Deletes())
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}
