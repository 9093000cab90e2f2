package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
)

// Limits of a pass and of a call of Apply.
const (
	maxPassFiles  = 1000
	maxPassBytes  = 8 << 20
	maxBatchDocs  = 5000
	maxBatchBytes = 4 << 20
)

// step reads some of the files that are due. It reports whether there were any.
func (w *Watcher) step(ctx context.Context) (worked bool, err error) {
	now := w.now()
	if now.Before(w.retry) {
		return false, nil
	}
	if w.journal.refused { // without it, passes would add more and more records
		if late, err := w.delayed(ctx, w.journal.commit()); late || err != nil {
			return late, err
		}
	}
	present, gone := w.due(now)
	switch {
	case len(present) > 0:
		err = w.pass(ctx, present)
	case len(gone) > 0:
		err = w.pass(ctx, gone)
	default:
		return false, nil
	}
	_, err = w.delayed(ctx, err)
	return true, err
}

// reading is a file that is read, or that is gone.
type reading struct {
	*file
	path   string
	listed corpus.ListedFile
	before stamp
	gone   bool

	seen    map[string]struct{}
	begun   bool // in the journal
	failed  error
	unquiet bool // it changed while it was read
	bad     int  // records
	event   Event
}

// due takes files for a pass: the ones that are there, or, if there are none, the ones that are gone.
func (w *Watcher) due(now time.Time) (present, gone []*reading) {
	var keys []key
	for k, c := range w.pending {
		if !c.due.After(now) {
			keys = append(keys, k)
		}
	}
	base.Sort(keys, func(a, b key) int {
		return cmp.Or(w.pending[a].first.Compare(w.pending[b].first)*-1, cmp.Compare(a.folder, b.folder), cmp.Compare(a.rel, b.rel))
	})
	size := int64(0)
	for _, k := range keys {
		if len(present) == maxPassFiles || len(gone) == maxPassFiles || size > maxPassBytes {
			break
		}
		r := w.look(k)
		switch {
		case r == nil:
			delete(w.pending, k)
		case r.gone:
			gone = append(gone, r)
		case len(present) > 0 && size+r.before.size > maxPassBytes:
		default:
			size += r.before.size
			present = append(present, r)
		}
	}
	sort := func(all []*reading) {
		base.Sort(all, func(a, b *reading) int { return w.state.compare(a.file, b.file) })
	}
	present, gone = w.inPlace(present), w.inPlace(gone)
	sort(present)
	sort(gone)
	return present, gone
}

// look returns nil if there is nothing to do.
func (w *Watcher) look(k key) *reading {
	r := &reading{file: w.state.files[k], path: w.path(k)}
	info, err := os.Stat(r.path)
	known := r.file != nil
	switch {
	case !w.follows(k), w.pending.isUnlisted(k), isGone(err):
		r.gone = true
		if !known {
			return nil
		}
		return r
	case err != nil:
		w.fail(k, r.path, err)
		return nil
	case !info.Mode().IsRegular():
		if known {
			r.gone = true // scans find what is there now
			return r
		}
		return nil
	}
	if !known {
		r.file = &file{key: k}
	}
	r.before = stampOf(info)
	r.listed = corpus.ListedFile{Path: r.path, Rel: k.rel, Info: info}
	return r
}

// pass reads files and writes their documents.
type pass struct {
	w      *Watcher
	ctx    context.Context
	byPath map[string]*reading
	writes []Write
	of     []*reading // of writes
	bytes  int
	heirs  []*file
}

func (w *Watcher) pass(ctx context.Context, files []*reading) error {
	p := &pass{w: w, ctx: ctx, byPath: map[string]*reading{}}
	began := w.now()
	for _, r := range files {
		c := w.pending[r.key]
		c.tried = true
		r.event = Event{Kind: Indexed, File: r.path}
		if r.gone {
			r.event.Kind = Removed
		}
		if r.number == 0 {
			r.file = w.state.add(r.key, w.state.next)
			r.begun = true
			w.journal.begin(r.file)
		}
		r.seen = map[string]struct{}{}
		p.byPath[r.path] = r
	}
	err := p.read(files)
	if err == nil {
		err = p.finish(files, began)
	}
	if err != nil {
		p.forget()
	}
	w.progress.total = w.progress.done + int64(len(w.pending))
	w.opts.Progress(w.progress.done, w.progress.total)
	return err
}

// read reads files and writes their documents, file by folder.
func (p *pass) read(files []*reading) error {
	for len(files) > 0 && !files[0].gone {
		n := 1
		for n < len(files) && files[n].folder == files[0].folder {
			n++
		}
		listed := make([]corpus.ListedFile, n)
		for i := range listed {
			listed[i] = files[i].listed
		}
		folder := &p.w.state.folders[files[0].folder]
		reader, err := corpus.OpenListed(listed, folder.Prefix, p.w.opts.Corpus)
		if err != nil {
			return fmt.Errorf("%w: %w", errState, err) // an option is wrong
		}
		if err := errors.Join(p.readAll(reader), reader.Close()); err != nil {
			return err
		}
		files = files[n:]
	}
	return p.flush()
}

func (p *pass) readAll(reader corpus.Reader) error {
	for {
		b, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = b.Parse(p.document, p.bad)
		}
		if err != nil {
			return err
		}
	}
}

// bad takes a record without a document, or a file that cannot be read.
func (p *pass) bad(rec *corpus.RecordError) error {
	if err := p.ctx.Err(); err != nil {
		return err
	}
	r := p.byPath[rec.File]
	var cannot *fs.PathError
	if errors.As(rec.Err, &cannot) {
		r.failed = rec
		return nil
	}
	p.reject(r, rec)
	return nil
}

// maxReported bounds the bad records of a file that are reported each time that it is read.
const maxReported = 20

func (p *pass) reject(r *reading, rec *corpus.RecordError) {
	if r.bad++; r.bad <= maxReported {
		p.w.report(Event{Kind: Failed, File: r.path, Err: rec})
	}
}

func (p *pass) document(d *corpus.Document) error {
	if err := p.ctx.Err(); err != nil {
		return err
	}
	r, s := p.byPath[d.Source.File], p.w.state
	r.seen[d.ID] = struct{}{}
	if s.shadowed(d.ID, r.file) {
		if !slices.Contains(s.shadows[d.ID], r.file) {
			p.begin(r)
			p.w.journal.entry(r.file, entryShadow, d.ID, 0)
			s.shadow(d.ID, r.file)
		}
		return p.bound()
	}
	hash, now := hashOf(d), s.docs[d.ID]
	if now.file == r.file && now.hash == hash {
		return nil
	}
	p.begin(r)
	p.w.journal.entry(r.file, entryOwned, d.ID, hash)
	s.take(d.ID, r.file, hash)
	if now.hash == hash {
		return p.bound() // from another file
	}
	return p.write(r, Write{Doc: d})
}

// begin has the file read again if the process ends now.
func (p *pass) begin(r *reading) {
	if !r.begun {
		r.begun, r.complete = true, false
		p.w.journal.begin(r.file)
	}
}

// bound flushes the pending writes when the journal is full, so that the journal never
// has much to write at once.
func (p *pass) bound() error {
	if !p.w.journal.isFull() {
		return nil
	}
	return p.flush()
}

func (p *pass) write(r *reading, w Write) error {
	p.writes, p.of = append(p.writes, w), append(p.of, r)
	p.bytes += len(w.Doc.ID) + len(w.Doc.Title) + len(w.Doc.Text)
	for _, x := range w.Doc.Extra {
		p.bytes += len(x.Value)
	}
	if len(p.writes) < maxBatchDocs && p.bytes < maxBatchBytes {
		return nil
	}
	return p.flush()
}

// flush writes to the journal, then to the index.
func (p *pass) flush() error {
	if err := p.w.journal.commit(); err != nil {
		return err
	}
	if len(p.writes) == 0 {
		return nil
	}
	results, err := p.w.target.Apply(p.ctx, p.writes)
	if err != nil {
		return err
	}
	p.w.applied = true
	for i, result := range results {
		if err := p.applied(p.of[i], &p.writes[i], result); err != nil {
			return err
		}
	}
	p.writes, p.of, p.bytes = p.writes[:0], p.of[:0], 0
	return nil
}

func (p *pass) applied(r *reading, w *Write, result Result) error {
	s := p.w.state
	s.seq = max(s.seq, result.Seq)
	switch {
	case result.Err != nil && w.Delete:
		return result.Err
	case result.Err != nil:
		// The earlier version is deleted with the documents that are no longer in the file.
		s.doubt(w.Doc.ID)
		delete(r.seen, w.Doc.ID)
		p.reject(r, &corpus.RecordError{Location: w.Doc.Source, Err: result.Err})
	case result.Outcome == Created:
		r.event.Added++
	case result.Outcome == Replaced:
		r.event.Replaced++
	case result.Outcome == Deleted:
		r.event.Deleted++
	}
	return nil
}

// forget is for writes that may be in the index or not.
func (p *pass) forget() {
	for i := range p.writes {
		p.w.state.doubt(p.writes[i].Doc.ID)
	}
	p.w.applied = p.w.applied || len(p.writes) > 0
}

// finish deletes the documents that the files have no longer.
func (p *pass) finish(files []*reading, began time.Time) error {
	if err := p.ctx.Err(); err != nil {
		return err
	}
	var whole []*reading
	for _, r := range files {
		if p.check(r); r.failed != nil || r.unquiet {
			p.again(r, began)
			continue
		}
		whole = append(whole, r)
	}
	deleted := make([][]string, len(whole))
	// Shadowed documents go first: afterwards, an id without shadows is in no other file.
	for _, isShadow := range []bool{true, false} {
		for i, r := range whole {
			var err error
			if deleted[i], err = p.deletions(r, isShadow); err != nil {
				return err
			}
		}
	}
	if err := p.flush(); err != nil {
		return err
	}
	for i, r := range whole {
		if err := p.drop(r, deleted[i]); err != nil {
			return err
		}
	}
	for _, r := range whole {
		if !slices.Contains(p.heirs, r.file) {
			p.done(r, began)
		}
		p.report(r)
	}
	p.w.journal.token()
	return p.w.journal.commit()
}

// deletions drops the ids that the file has no longer, if they are shadows or not. It writes the
// deletions of those that no other file has, and returns them, to be dropped when that is durable.
func (p *pass) deletions(r *reading, shadows bool) (deleted []string, err error) {
	s := p.w.state
	var dropped []string
	for _, id := range r.ids {
		if _, ok := r.seen[id]; ok || (s.docs[id].file != r.file) != shadows {
			continue
		}
		if !s.last(id, r.file) {
			dropped = append(dropped, id)
			continue
		}
		deleted = append(deleted, id)
		p.begin(r)
		p.w.journal.entry(r.file, entryOwned, id, 0)
		s.doubt(id)
		if err := p.write(r, Write{Delete: true, Doc: &corpus.Document{ID: id}}); err != nil {
			return nil, err
		}
	}
	return deleted, p.drop(r, dropped)
}

func (p *pass) drop(r *reading, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	p.begin(r)
	err := p.w.journal.drop(r.file, ids)
	for _, heir := range p.w.state.drop(r.file, ids) { // also after an error: the records stay in the journal
		p.heirs = append(p.heirs, heir)
		p.w.pend(heir.key, p.w.now())
	}
	return err
}

// check finds out whether a file stayed the same while it was read.
func (p *pass) check(r *reading) {
	if r.failed != nil || r.gone {
		return
	}
	info, err := os.Stat(r.path)
	r.unquiet = err != nil || stampOf(info) != r.before
}

// again is for a file that could not be read as a whole.
func (p *pass) again(r *reading, began time.Time) {
	w, now := p.w, p.w.now()
	if r.failed != nil {
		delete(w.pending, r.key)
		w.failAt(r.key, r.path, r.before, r.failed)
		return
	}
	r.notBefore = now.Add(4 * now.Sub(began))
	w.pending[r.key] = &change{first: now, due: later(now.Add(w.opts.Quiet), r.notBefore), tried: true}
	p.report(r)
}

// done records that the index has the present documents of the file.
func (p *pass) done(r *reading, began time.Time) {
	w := p.w
	delete(w.pending, r.key)
	w.recovered(r.key)
	w.progress.done++
	if r.gone {
		w.journal.gone(r.file)
		w.state.remove(r.file)
		return
	}
	r.stamp, r.complete = r.before, true
	r.settled = r.before.age(began) >= settledAge
	r.notBefore = w.now().Add(4 * w.now().Sub(began))
	w.journal.done(r.file)
}

// report reports a change when it is visible.
func (p *pass) report(r *reading) {
	if more := r.bad - maxReported; more > 0 {
		p.w.report(Event{Kind: Failed, File: r.path, Err: fmt.Errorf("%d more bad records: %w", more, base.ErrBadInput)})
	}
	if e := r.event; e.Added+e.Replaced+e.Deleted > 0 {
		p.w.reports = append(p.w.reports, e)
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// isGone reports whether an error says that there is no file: none of the name, a file where a folder of the path was, or
// a link that leads to itself.
func isGone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP)
}
