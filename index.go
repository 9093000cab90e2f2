package griffin

import (
	"context"
	"errors"
	"time"
)

// Index is an index in a folder. All methods may be called by any number of
// goroutines at the same time.
type Index struct{}

var errIncomplete = errors.New("griffin: in construction")

// Create makes a new, empty index in the folder dir, which is made if it does
// not exist. ErrExists if there is an index in it already.
func Create(dir string, opts ...Option) (*Index, error) { return nil, errIncomplete }

// Open opens the index in the folder dir. It reads next to nothing: files are
// mapped and checked where a search touches them first.
func Open(dir string, opts ...Option) (*Index, error) { return nil, errIncomplete }

// Close releases the index. What was not committed is lost. Searches that run
// are let end; later calls return ErrClosed.
func (ix *Index) Close() error { return errIncomplete }

// Add adds documents, replacing those with the same IDs. They are seen by
// searches after Commit. The first Add or Delete after Open, Commit or
// Rollback takes the index's write lock: ErrLocked if another process has it.
func (ix *Index) Add(ctx context.Context, docs ...Document) error { return errIncomplete }

// Delete removes the documents with the given IDs, as of the next Commit. IDs
// that the index does not have are no error.
func (ix *Index) Delete(ctx context.Context, ids ...string) error { return errIncomplete }

// Commit makes everything since the last Commit durable and visible, all of it
// or, if it returns an error, nothing. It gives the write lock back.
func (ix *Index) Commit(ctx context.Context) error { return errIncomplete }

// Rollback forgets everything since the last Commit and gives the write lock back.
func (ix *Index) Rollback() error { return errIncomplete }

// Refresh makes visible what other processes committed, and tells whether
// there was anything.
func (ix *Index) Refresh() (changed bool, err error) { return false, errIncomplete }

// Document returns the stored document with the given id. found is false if
// the index has none.
func (ix *Index) Document(ctx context.Context, id string) (doc Document, found bool, err error) {
	return Document{}, false, errIncomplete
}

// FilesOptions say how IndexFiles reads its input. The zero value recognises
// everything by itself.
type FilesOptions struct {
	// Format is one of Formats; "" recognises it.
	Format string
	// IDField, TitleField and TextField name the parts of JSON records.
	IDField, TitleField, TextField string
	// ExtraFields names the further fields of records to keep; nil keeps all.
	ExtraFields []string
	// MaxErrors is how many bad records are passed over before indexing ends
	// with an error; -1: any number.
	MaxErrors int
	// Reorder is "none" (the default) or "bp": documents are renumbered so that
	// similar ones are neighbours, which makes the index smaller and faster.
	Reorder string
	// Progress, if set, is called a few times a second and at the end.
	Progress func(Progress)
	// OnBadRecord, if set, is called for each record that could not be used;
	// the error tells file and line.
	OnBadRecord func(error)
	// OnDuplicate, if set, is called for each document that replaces an earlier
	// one of the same input; earlier and later are places such as "a.jsonl:7".
	OnDuplicate func(id, earlier, later string)
}

// Progress is how far IndexFiles has come.
type Progress struct {
	// Phase is "read", "reorder" or "merge".
	Phase string
	// Done and Total are bytes of input while reading and units of work
	// otherwise; Total is 0 if it is not known.
	Done, Total int64
	// Docs were indexed so far, of Bytes of uncompressed input.
	Docs, Bytes int64
	BadRecords  int64 // passed over so far
	Elapsed     time.Duration
}

// FilesReport is what IndexFiles did.
type FilesReport struct {
	Docs       int64         `json:"docs"`        // indexed
	InputBytes int64         `json:"input_bytes"` // of the records, uncompressed
	BadRecords int64         `json:"bad_records"` // passed over
	Duplicates int64         `json:"duplicates"`  // replaced by a later document of the same ID
	Skipped    int64         `json:"skipped"`     // files without text, and records without a document
	Took       time.Duration `json:"took_ns"`
}

// IndexFiles adds the documents of files and folders, "-" being standard
// input, and commits them: all at once, at the end. It reads in parallel and
// keeps within the memory of WithMemory.
func (ix *Index) IndexFiles(ctx context.Context, paths []string, opts FilesOptions) (FilesReport, error) {
	return FilesReport{}, errIncomplete
}

// Verify reads every byte of the index and checks every checksum and
// invariant. progress, if not nil, is called now and then with bytes.
func (ix *Index) Verify(ctx context.Context, progress func(done, total int64)) error {
	return errIncomplete
}
