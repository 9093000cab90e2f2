package griffin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/living"
	"github.com/griffin-search/griffin/internal/mapping"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/vfs"
	"github.com/griffin-search/griffin/internal/wal"
)

// Writer takes writes while the index answers queries. Apply makes them durable in a log, Refresh
// visible, and Flush commits them; the last two also run in the background. All methods are safe
// for concurrent use. Until Close, it has the write lock, so that other writes of the index, such as
// Add, return ErrLocked.
type Writer struct {
	index *Index
	store *living.Kept
}

// Sync is when a write is durable.
type Sync string

const (
	// SyncRequest makes it durable before Apply returns.
	SyncRequest Sync = "request"
	// SyncAsync makes it durable soon after, in the background.
	SyncAsync Sync = "async"
	// SyncInterval makes it durable at intervals of WriterOptions.SyncInterval.
	SyncInterval Sync = "interval"
)

// WriterOptions configure a Writer. Zero values mean the defaults.
type WriterOptions struct {
	// Sync is SyncRequest by default. With the others, writes of the last moments are lost if the
	// machine loses power, but not if the process ends.
	Sync Sync
	// SyncInterval is for SyncInterval; 0: a second.
	SyncInterval time.Duration
	// RefreshInterval is the longest time until a write is visible; 0: a second. Negative: Refresh
	// makes writes visible, and the memory limit.
	RefreshInterval time.Duration
	// MemoryBytes bounds the documents that are not visible yet; 0: 48 MiB. Larger batches
	// take less work, and a refresh takes longer.
	MemoryBytes int64
	// FlushBytes is the size of the log at which it is flushed; 0: 256 MiB. After a loss of power, about this size is
	// indexed again. Less means more bytes written to the disk for each document.
	FlushBytes int64
	// MergeBytesPerSecond limits what merges write; 0: no limit. When more than 50 segments show that it is too low for the
	// writes, merges write faster, up to 256 times at 75, so that writes need not wait for them.
	MergeBytesPerSecond int64
	// OnError, if not nil, receives errors of work in the background, which is repeated.
	OnError func(error)

	tune func(*living.Options) // for options of tests; nil: none
}

func (o *WriterOptions) options() (living.Options, error) {
	mode, err := o.Sync.mode()
	switch {
	case err != nil:
		return living.Options{}, err
	case o.SyncInterval < 0, o.MemoryBytes < 0, o.FlushBytes < 0, o.MergeBytesPerSecond < 0:
		return living.Options{}, fmt.Errorf("writer: negative limits: %w", ErrBadInput)
	case o.MemoryBytes > 0 && o.MemoryBytes < minWriterMemory:
		return living.Options{}, fmt.Errorf("writer: %d bytes of memory, at least %d: %w", o.MemoryBytes, minWriterMemory, ErrBadInput)
	}
	return living.Options{
		Sync: mode, SyncInterval: o.SyncInterval, RefreshInterval: o.RefreshInterval, MemoryBytes: o.MemoryBytes,
		FlushBytes: o.FlushBytes, MergeBytesPerSecond: o.MergeBytesPerSecond, OnError: o.OnError,
	}, nil
}

func (s Sync) mode() (wal.Mode, error) {
	switch s {
	case "", SyncRequest:
		return wal.ModeRequest, nil
	case SyncAsync:
		return wal.ModeAsync, nil
	case SyncInterval:
		return wal.ModeInterval, nil
	}
	return 0, fmt.Errorf("sync %q: want %s, %s or %s: %w", s, SyncRequest, SyncAsync, SyncInterval, ErrBadInput)
}

const minWriterMemory = 4 << 20

// Writer takes the write lock. Writes that an earlier Writer acknowledged, but whose process ended
// before they were committed, are visible when it returns, unless there is no room for that now
// (ErrDown). A new index without a commit is committed. The error wraps ErrLocked if there is another
// writer, in any process, and ErrBadInput
// if an option is not valid.
func (ix *Index) Writer(ctx context.Context, o WriterOptions) (_ *Writer, err error) {
	defer vfs.RecoverFault(vfs.PanicOnFault(), &err)
	opts, err := o.options()
	if err != nil {
		return nil, err
	}
	ix.mu.Lock()
	defer ix.mu.Unlock()
	switch {
	case ix.closed:
		return nil, fmt.Errorf("index %s: %w", ix.ix.Dir(), ErrClosed)
	case ix.writer != nil:
		return nil, fmt.Errorf("index %s: there are uncommitted changes: %w", ix.ix.Dir(), ErrLocked)
	}
	snapshot, err := ix.ix.Snapshot()
	if err != nil {
		return nil, err
	}
	generation := snapshot.Generation
	snapshot.Release()
	if generation == 0 {
		w, err := ix.ix.Writer(index.WriterOptions{})
		if err == nil {
			err = errors.Join(w.Commit(ctx), w.Close())
		}
		if err != nil {
			return nil, err
		}
	}
	opts.Processors, opts.Gate = ix.runtime.processors, ix.runtime.gate
	if o.tune != nil {
		o.tune(&opts)
	}
	store, err := living.Keep(ctx, ix.ix.FS(), ix.ix, opts)
	if err != nil {
		return nil, err
	}
	return &Writer{index: ix, store: store}, nil
}

// WriteKind is the kind of a Write.
type WriteKind uint8

const (
	// WriteIndex adds a document, or replaces the one with its ID.
	WriteIndex WriteKind = iota
	// WriteCreate adds a document whose ID must be new.
	WriteCreate
	// WriteDelete deletes the document with the ID.
	WriteDelete
)

// Unnumbered is Write.IfSeqNo for a document with the SeqNo 0: the error is ErrConflict if a Writer has written it.
const Unnumbered = living.Unnumbered

// ExternalZero is Write.ExternalVersion for the Version 0.
const ExternalZero = living.ExternalZero

// Write is one change of an index.
type Write struct {
	Kind WriteKind
	// Document of a WriteDelete has an ID only.
	Document Document
	// IfSeqNo, if not 0, is the SeqNo that the document must have. Else the error is ErrConflict. Unnumbered is for a
	// document with the SeqNo 0, which no Writer wrote.
	IfSeqNo uint64
	// ExternalVersion, if not 0, becomes the Version of the document. It must be higher than
	// before, or at least equal with ExternalEqual. ExternalZero is for the Version 0. At 2^63-1, other Writes do not raise
	// the Version.
	ExternalVersion uint64
	ExternalEqual   bool
	// AddFields declares fields before the document is added, as Writer.AddFields does, unless they
	// are declared. If they cannot be, the Write fails.
	AddFields []string
	// AddMapping declares the fields of a mapping in the same way. Fields that the index has stay as they
	// are.
	AddMapping *Mapping
}

// WriteOutcome is the outcome of a Write.
type WriteOutcome string

const (
	// WriteFailed is the outcome of a Write with an error.
	WriteFailed WriteOutcome = ""
	// WriteCreated means that there was no document with the ID.
	WriteCreated WriteOutcome = "created"
	// WriteUpdated means that the document was replaced.
	WriteUpdated WriteOutcome = "updated"
	// WriteDeleted means that the document was deleted.
	WriteDeleted WriteOutcome = "deleted"
	// WriteNotFound means that there was no document to delete.
	WriteNotFound WriteOutcome = "not_found"
)

// WriteResult is the result of one Write.
type WriteResult struct {
	ID      string
	Outcome WriteOutcome
	// SeqNo numbers the writes of the index, with a gap after a crash that may have lost some; Version the writes of the ID. After a conflict
	// they belong to the document that exists.
	SeqNo, Version uint64
	// Err wraps ErrConflict, ErrTooManyFields, or ErrBadInput if the document cannot be indexed.
	Err error
}

var (
	// ErrConflict means that a condition of a Write does not hold.
	ErrConflict = living.ErrConflict
	// ErrBusy means that writes arrive faster than they can be indexed; try again later.
	ErrBusy = living.ErrBusy
	// ErrFull means that the disk has no room for writes. Searches go on, and so do writes when there
	// is room.
	ErrFull = living.ErrFull
	// ErrReadOnly means that the file system is read-only. Searches go on, and so do writes when it takes them.
	ErrReadOnly = living.ErrReadOnly
	// ErrDenied means that the process may not write to a file or folder of the index. Searches go on, and so do
	// writes when it may.
	ErrDenied = living.ErrDenied
	// ErrDown means that a Writer takes no writes because a sync failed, or because the disk has no room
	// to make the writes of the log visible. Searches go on, of the last commit. The Writer repeats
	// the attempt to open the log again.
	ErrDown = living.ErrDown
)

var outcomes = [...]WriteOutcome{
	living.Failed: WriteFailed, living.Created: WriteCreated, living.Updated: WriteUpdated, living.Deleted: WriteDeleted, living.NotFound: WriteNotFound,
}

// Apply makes writes durable, in their order, and returns a result for each: one can fail while
// others succeed. They are visible after the next refresh. If the error is not nil, none took
// effect; it wraps ErrBusy, ErrFull, ErrReadOnly, ErrDenied, ErrDown or ErrClosed, or is of the file system. If a
// sync failed, writes that were refused can be there later. Many writes in a call, and calls at the
// same time, share the time of a sync.
func (w *Writer) Apply(ctx context.Context, writes ...Write) ([]WriteResult, error) {
	ops := make([]living.Op, len(writes))
	for i := range writes {
		from := &writes[i]
		ops[i] = living.Op{
			Kind: living.Kind(from.Kind), Doc: from.Document.corpus(), IfSeq: from.IfSeqNo,
			External: from.ExternalVersion, ExternalEqual: from.ExternalEqual, Fields: mapping.Texts(from.AddFields),
		}
		if from.AddMapping != nil {
			ops[i].Fields = append(ops[i].Fields, from.AddMapping.m.Fields()...)
		}
		if from.Kind > WriteDelete {
			return nil, fmt.Errorf("write of kind %d: %w", from.Kind, ErrBadInput)
		}
	}
	results, err := w.store.Apply(ctx, ops)
	if err != nil {
		return nil, err
	}
	public := make([]WriteResult, len(results))
	for i, r := range results {
		public[i] = WriteResult{ID: writes[i].Document.ID, Outcome: outcomes[r.Outcome], SeqNo: r.Version.Seq, Version: r.Version.Number, Err: r.Err}
	}
	return public, nil
}

// AddFields declares further fields, durably, for documents of later calls of Apply. Queries can name
// them after the next refresh. Names that are declared have no effect. Documents that were added before
// are not found by a new field, even if they have a stored value for it: add them again. The error is
// as of Apply, or wraps ErrBadInput if a name is not valid, or ErrTooManyFields; then none is declared.
func (w *Writer) AddFields(ctx context.Context, names ...string) error {
	return w.store.AddFields(ctx, names...)
}

// corpus shares the texts.
func (d *Document) corpus() *corpus.Document {
	c := &corpus.Document{ID: d.ID, Title: d.Title, Text: d.Text, Vector: d.vector()}
	for _, f := range d.Fields {
		c.Extra = append(c.Extra, corpus.Field(f))
	}
	return c
}

// VersionedDocument is a document with its version. SeqNo is 0 if no Writer wrote it.
type VersionedDocument struct {
	Document
	SeqNo, Version uint64
}

// Get returns the latest acknowledged version of a document, also if it is not visible yet. The
// error wraps ErrNotFound if there is none.
func (w *Writer) Get(ctx context.Context, id string) (_ VersionedDocument, err error) {
	defer vfs.RecoverFault(vfs.PanicOnFault(), &err)
	doc, version, pending, err := w.store.Get(id)
	if err != nil {
		return VersionedDocument{}, err
	}
	v := VersionedDocument{SeqNo: version.Seq, Version: version.Number}
	switch {
	case pending && doc == nil:
		return VersionedDocument{}, notFound(id)
	case pending:
		v.Document = Document{ID: doc.ID, Title: doc.Title, Text: doc.Text}
		for _, f := range doc.Extra {
			v.Fields = append(v.Fields, Field(f))
		}
		return v, nil
	}
	v, err = w.index.versioned(ctx, id)
	return v, err
}

// versioned reads a visible document.
func (ix *Index) versioned(ctx context.Context, id string) (v VersionedDocument, err error) {
	snapshot, err := ix.ix.Snapshot()
	if err != nil {
		return v, err
	}
	defer snapshot.Release()
	view, local, found, err := snapshot.Lookup(id)
	if err == nil && !found {
		err = notFound(id)
	}
	if err != nil {
		return v, err
	}
	version, err := snapshot.Segments[view].Version(local)
	if err != nil {
		return v, err
	}
	var stored segment.StoredDoc
	v.SeqNo, v.Version = version.Seq, version.Count()
	v.Document, err = readDocument(ctx, &snapshot.Segments[view], local, &stored)
	return v, err
}

// Base is a number, up to 2^31-1, of a commit from when the Writer began. Documents with the SeqNo 0 are of this commit or of
// one before. An index that was built anew has other numbers.
// If a Writer has to open the log again and another process has written to the index meanwhile, Base changes.
func (w *Writer) Base() uint64 { return w.store.Base() }

// SetRefreshInterval changes WriterOptions.RefreshInterval. The error wraps ErrClosed.
func (w *Writer) SetRefreshInterval(interval time.Duration) error {
	return w.store.SetRefreshInterval(interval)
}

// SetSync changes WriterOptions.Sync and SyncInterval. With SyncRequest it also syncs the writes that were acknowledged
// before, unless a sync has failed and the log is not open again: then the error is nil, and later writes fail until it
// is. The error wraps ErrBadInput or ErrClosed, or is as of Apply.
func (w *Writer) SetSync(s Sync, interval time.Duration) error {
	mode, err := s.mode()
	if err == nil && interval < 0 {
		err = fmt.Errorf("sync at intervals of %v: want 0 or more: %w", interval, ErrBadInput)
	}
	if err != nil {
		return err
	}
	return w.store.SetSync(mode, interval)
}

// Refresh makes all acknowledged writes visible to searches of this process.
func (w *Writer) Refresh(ctx context.Context) error { return w.store.Refresh(ctx) }

// Flush commits all acknowledged writes: other processes see them, and the log gets shorter.
func (w *Writer) Flush(ctx context.Context) error { return w.store.Flush(ctx) }

// Merge makes all acknowledged writes visible, and joins segments until at most the given number is
// left, 0 meaning 1, without deleted documents. Writes and searches go on.
func (w *Writer) Merge(ctx context.Context, segments int) error {
	if segments < 0 {
		return fmt.Errorf("merge into %d segments: want 1 or more: %w", segments, base.ErrBadInput)
	}
	return w.store.Merge(ctx, segments)
}

// Close flushes and releases the write lock. Later calls do nothing.
func (w *Writer) Close(ctx context.Context) error { return w.store.Close(ctx) }
