package watch

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/vfs"
)

// Write is a change of the index.
type Write struct {
	Delete bool
	Doc    *corpus.Document // of a deletion, only the id counts
}

// Outcome is the outcome of a Write.
type Outcome uint8

// Outcomes of writes.
const (
	Created Outcome = iota
	Replaced
	Deleted
	NotFound // there was nothing to delete
)

// Result is the result of a Write.
type Result struct {
	Outcome Outcome
	Seq     uint64 // number of the write; it rises
	Err     error  // why the Target rejects the document
}

// Target is an index. Its methods are not called concurrently.
type Target interface {
	// Apply makes writes durable, in their order, and returns a result for each. After an error,
	// each may have taken effect or not; a later call may succeed.
	Apply(ctx context.Context, writes []Write) ([]Result, error)
	// Publish makes applied writes visible to searches, and returns a token. While Token
	// returns the same later, all that was published is in the index.
	Publish(ctx context.Context) (token string, err error)
	Token(ctx context.Context) (string, error)
	// Seqs returns the numbers of the last writes of documents, 0 for those that are not there.
	Seqs(ctx context.Context, ids []string) ([]uint64, error)
	// Close is the last Publish.
	Close(ctx context.Context) (token string, err error)
}

// Options of Open. Zero values mean the defaults.
type Options struct {
	// Folders to follow. With several, ids begin with the paths.
	Folders []string
	// ChangeFolders permits other folders than before: documents of files that are in none of
	// the new ones are deleted.
	ChangeFolders bool
	// AllowEmpty permits folders that have no files any more, or that are on another device and lack
	// most of their files: their documents are deleted. Otherwise they stay, with an event
	// of ErrEmptied, until the files are back.
	AllowEmpty bool
	// Recheck compares all documents with the index at the start, also if its token is the same.
	Recheck bool
	// Corpus is how files are read.
	Corpus corpus.Options
	// Quiet is how long a file has to stay unchanged before it is read; 0: 150 ms. A file that
	// is written for longer than five seconds is read meanwhile, too.
	Quiet time.Duration
	// Rescan is the time between scans of all folders, which find what events do not report;
	// 0: a minute. Scans of large folders are rarer, so that they take at most 2 % of the time.
	Rescan time.Duration
	// Poll, if not 0, is the time between scans that replace events, for network file systems.
	Poll time.Duration
	// Once ends Run when the index has all that was in the folders.
	Once bool
	// Report receives what happened, in the goroutine of Run.
	Report func(Event)
	// Progress receives the number of files already read, and the number of files known
	// to need reading. It may be nil.
	Progress func(done, total int64)
}

// Kind is what an Event reports.
type Kind string

// Kinds of events.
const (
	// Indexed: the documents of a file are in the index, durable and visible, and others of the file
	// are not.
	Indexed Kind = "file"
	// Removed: the documents of a file that is gone are not in the index any more.
	Removed Kind = "removed"
	// Ready: the index has all that was in the folders at the start.
	Ready Kind = "ready"
	// Failed: a file, a folder or a record cannot be read. The index keeps its documents of a file.
	Failed Kind = "error"
	// Delayed: the index or the state of the files cannot be written; it is tried again.
	Delayed Kind = "delayed"
	// Limited: the system does not report the changes of all folders. Scans find them.
	Limited Kind = "limited"
)

// Event reports what happened.
type Event struct {
	Kind Kind
	File string // path as the user gave it
	// Added, Replaced and Deleted count documents.
	Added, Replaced, Deleted int64
	// Files and Docs, with Ready, count the followed files and their documents.
	Files, Docs int64
	Err         error
}

// Watcher follows folders.
type Watcher struct {
	opts     Options
	roots    []string // as the user gave them, in the order of state.active
	target   Target
	journal  *journal
	state    *state
	events   *events // nil: only scans
	now      func() time.Time
	scanned  scanning
	followed roots
	pending  changes
	failures map[key]failure
	publishing
	progress struct{ done, total int64 }
	ready    bool
}

// failure is why a file, of this stamp, could not be read.
type failure struct {
	stamp   stamp
	message string
}

// publishing is what searches do not see yet.
type publishing struct {
	applied  bool // something was, since the last Publish
	last     time.Time
	took     time.Duration
	reports  []Event // of what is not visible yet
	retry    time.Time
	attempts int
}

// Open reads the state in the folder dir, or begins one. The error wraps base.ErrLocked if another Watcher
// uses it, base.ErrCorrupt if it is damaged, and base.ErrBadInput if the folders are other ones than
// before.
func Open(ctx context.Context, fsys vfs.FS, dir string, target Target, o Options) (_ *Watcher, err error) {
	w := &Watcher{opts: o, target: target, now: time.Now, pending: changes{}, failures: map[key]failure{}, followed: newRoots()}
	w.scanned = scanning{first: true, folders: map[string]place{}, stale: map[string]bool{}, touched: map[string]time.Time{}}
	w.opts.setDefaults()
	folders, err := w.folders()
	if err != nil {
		return nil, err
	}
	if w.journal, err = openJournal(fsys, dir); err != nil {
		return nil, fmt.Errorf("state of the files: %w", err)
	}
	w.state = w.journal.state
	defer func() {
		if err != nil {
			err = errors.Join(err, w.Close())
		}
	}()
	if err := w.configure(folders); err != nil {
		return nil, err
	}
	if err := w.verify(ctx); err != nil {
		return nil, err
	}
	if w.opts.Poll == 0 && !w.opts.Once {
		if w.events, err = newEvents(); err != nil {
			w.opts.Report(Event{Kind: Limited, Err: err})
			err = nil
		}
	}
	return w, err
}

func (o *Options) setDefaults() {
	if o.Quiet <= 0 {
		o.Quiet = 150 * time.Millisecond
	}
	if o.Rescan <= 0 {
		o.Rescan = time.Minute
	}
	if o.Report == nil {
		o.Report = func(Event) {}
	}
	if o.Progress == nil {
		o.Progress = func(int64, int64) {}
	}
}

// folders checks the options, and sets the roots.
func (w *Watcher) folders() ([]Folder, error) {
	if len(w.opts.Folders) == 0 {
		return nil, fmt.Errorf("no folder was given to follow: %w", base.ErrBadInput)
	}
	var folders []Folder
	for _, given := range w.opts.Folders {
		if _, err := corpus.List(given); err != nil {
			return nil, err
		}
		abs, err := filepath.Abs(given)
		if err != nil {
			return nil, err
		}
		f := Folder{Path: abs}
		if len(w.opts.Folders) > 1 {
			f.Prefix = filepath.Clean(given)
		}
		if !slices.Contains(folders, f) {
			folders, w.roots = append(folders, f), append(w.roots, filepath.Clean(given))
		}
	}
	return folders, nil
}

// configure compares the folders and the options with the state's.
func (w *Watcher) configure(folders []Folder) error {
	before := slices.Clone(w.state.active)
	c := &w.opts.Corpus
	options := fmt.Sprintf("%q", []any{c.Format, c.IDField, c.TitleField, c.TextField, c.ExtraFields, c.Weights})
	if c.PDFToText != "" { // files that were skipped without it are read
		options += " pdf"
	}
	changed := w.state.follow(folders)
	if changed && !w.opts.ChangeFolders {
		var paths []string
		for _, i := range before {
			paths = append(paths, w.state.folders[i].Path)
		}
		return fmt.Errorf("the index follows other folders, %s: %w", strings.Join(paths, ", "), ErrFolders)
	}
	if w.state.options == options && slices.Equal(before, w.state.active) {
		return nil
	}
	anew := w.state.options != options
	w.state.options = options
	if anew {
		for _, f := range w.state.files {
			f.complete = false
			w.journal.begin(f)
			if err := w.journal.commitIfFull(); err != nil {
				return err
			}
		}
	}
	w.journal.config() // last: until then the files are begun again
	return w.journal.commit()
}

// ErrFolders means that the folders are other ones than before. It wraps base.ErrBadInput.
var ErrFolders = fmt.Errorf("the folders have changed: %w", base.ErrBadInput)

// verify finds documents of the state that are not in the index as they were written.
func (w *Watcher) verify(ctx context.Context) error {
	token, err := w.target.Token(ctx)
	if err != nil {
		return err
	}
	if token == w.state.token && !w.opts.Recheck || len(w.state.docs) == 0 {
		return nil
	}
	const batch = 1000
	ids := make([]string, 0, batch)
	begun := map[*file]bool{}
	check := func() error {
		seqs, err := w.target.Seqs(ctx, ids)
		if err != nil {
			return err
		}
		for i, id := range ids {
			f := w.state.docs[id].file
			if seqs[i] != 0 && seqs[i] <= w.state.seq {
				continue
			}
			w.state.doubt(id)
			if f.complete = false; !begun[f] {
				begun[f] = true
				w.journal.begin(f)
			}
			w.journal.entry(f, entryOwned, id, 0)
		}
		ids = ids[:0]
		return w.journal.commitIfFull()
	}
	for _, f := range w.state.sorted() {
		for _, id := range f.ids {
			if w.state.docs[id].file != f {
				continue // a shadow
			}
			if ids = append(ids, id); len(ids) == batch {
				if err := check(); err != nil {
					return err
				}
			}
		}
	}
	if err := check(); err != nil {
		return err
	}
	w.state.token = token
	w.journal.token()
	return w.journal.commit()
}

// path is the path of a file of a folder that is followed.
func (w *Watcher) path(k key) string {
	i := slices.Index(w.state.active, k.folder)
	if i < 0 {
		return filepath.Join(w.state.folders[k.folder].Path, filepath.FromSlash(k.rel))
	}
	return filepath.Join(w.roots[i], filepath.FromSlash(k.rel))
}

func (w *Watcher) follows(k key) bool { return slices.Contains(w.state.active, k.folder) }

// report reports at once.
func (w *Watcher) report(e Event) { w.opts.Report(e) }

// fail reports a file that cannot be read, once.
func (w *Watcher) fail(k key, path string, err error) { w.failAt(k, path, stamp{}, err) }

func (w *Watcher) failAt(k key, path string, s stamp, err error) {
	message := err.Error()
	if before, ok := w.failures[k]; !ok || before.message != message {
		w.report(Event{Kind: Failed, File: path, Err: err})
	}
	w.failures[k] = failure{s, message}
}

func (w *Watcher) recovered(k key) { delete(w.failures, k) }

// Run follows the folders until ctx ends, which is no error: documents that were read are in the index
// then. Errors
// are of the state, or wrap base.ErrRemoved; other errors of the Target, of files and of a disk that is full are reported, and
// tried again.
func (w *Watcher) Run(ctx context.Context) error {
	w.scanned.due = w.now()
	for ctx.Err() == nil {
		w.observe()
		if !w.now().Before(w.scanned.due) {
			w.scan()
			if _, err := w.delayed(ctx, w.journal.commit()); err != nil {
				return w.end(ctx, err)
			}
		}
		w.scanFolders()
		worked, err := w.step(ctx)
		if err != nil {
			return w.end(ctx, err)
		}
		if err := w.publishIfDue(ctx, worked); err != nil {
			return w.end(ctx, err)
		}
		if w.opts.Once && w.ready {
			break
		}
		if !worked {
			w.wait(ctx)
		}
	}
	return w.end(ctx, nil)
}

// end publishes the applied writes.
func (w *Watcher) end(ctx context.Context, err error) error {
	if ends(err) {
		_, closeErr := w.target.Close(context.WithoutCancel(ctx))
		return errors.Join(err, closeErr)
	}
	return errors.Join(err, w.published(w.target.Close(context.WithoutCancel(ctx))))
}

// Close releases the state.
func (w *Watcher) Close() error {
	return errors.Join(w.events.close(), w.journal.close())
}

// Docs is the number of documents that are followed, and of their files.
func (w *Watcher) Docs() (docs, files int64) {
	return int64(len(w.state.docs)), int64(len(w.state.files))
}

// wait waits for an event or for the next time at which there is something to do.
func (w *Watcher) wait(ctx context.Context) {
	next := w.scanned.due
	for _, c := range w.pending {
		if c.due.Before(next) {
			next = c.due
		}
	}
	for _, due := range w.scanned.touched {
		if due.Before(next) {
			next = due
		}
	}
	if w.applied && w.nextPublish().Before(next) {
		next = w.nextPublish()
	}
	if w.journal.refused && w.retry.Before(next) {
		next = w.retry
	}
	if w.retry.After(next) {
		next = w.retry
	}
	timer := time.NewTimer(max(next.Sub(w.now()), time.Millisecond))
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-w.events.ready():
		// Changes come in groups; the files of the first must be quiet anyway.
		time.Sleep(2 * time.Millisecond)
	}
}

const publishInterval = 500 * time.Millisecond

func (w *Watcher) nextPublish() time.Time {
	return w.last.Add(max(publishInterval, 10*w.took))
}

func (w *Watcher) publish(ctx context.Context) error {
	began := w.now()
	token, err := w.target.Publish(ctx)
	w.last = w.now()
	w.took = w.last.Sub(began)
	return w.published(token, err)
}

func (w *Watcher) published(token string, err error) error {
	if err != nil {
		return err
	}
	w.state.token = token
	w.journal.token()
	if err := w.journal.commit(); err != nil {
		return err // the next Publish reports
	}
	w.applied, w.attempts = false, 0
	if err := w.journal.tidy(); err != nil && !refuses(err) {
		return err
	}
	for _, e := range w.reports {
		w.report(e)
	}
	w.reports = nil
	return nil
}

// delayed has the Target and the journal left alone for a while after an error, unless it ends Run: then it is
// returned.
func (w *Watcher) delayed(ctx context.Context, err error) (late bool, _ error) {
	if err == nil || ends(err) || w.opts.Once && ctx.Err() == nil {
		return false, err
	}
	if ctx.Err() == nil { // otherwise the end publishes again
		w.report(Event{Kind: Delayed, Err: err})
		w.retry = w.now().Add(min(time.Second<<min(w.attempts, 5), 30*time.Second))
		w.attempts++
	}
	return true, nil
}

// ends reports whether an error ends Run: it is of the state, or the index is not there any more.
func ends(err error) bool { return errors.Is(err, errState) || errors.Is(err, base.ErrRemoved) }

// publishIfDue publishes when there is nothing else to do, and in intervals.
func (w *Watcher) publishIfDue(ctx context.Context, worked bool) error {
	now := w.now()
	if w.applied && !now.Before(w.retry) && (!worked || !now.Before(w.nextPublish())) {
		if _, err := w.delayed(ctx, w.publish(ctx)); err != nil {
			return err
		}
	}
	if !w.ready && !worked && !w.applied && !w.pending.hasUntried() {
		w.ready = true
		docs, files := w.Docs()
		w.report(Event{Kind: Ready, Docs: docs, Files: files})
	}
	return nil
}
