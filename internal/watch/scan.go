package watch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
)

// change is a file that may have changed.
type change struct {
	first, due time.Time
	tried      bool // it was read, but not as a whole
	gone       bool // a listing did not have it
}

// place is a listed folder.
type place struct {
	folder int    // number in state.folders
	rel    string // below it, "" for itself
}

// changes are the files that are to be read.
type changes map[key]*change

func (c changes) hasUntried() bool {
	for _, one := range c {
		if !one.tried {
			return true
		}
	}
	return false
}

// isUnlisted reports whether the last listing did not have a file.
func (c changes) isUnlisted(k key) bool {
	one := c[k]
	return one != nil && one.gone
}

// scanning is when and what to list.
type scanning struct {
	due     time.Time
	at      time.Time     // of the last scan
	first   bool          // no scan has ended
	took    time.Duration // of the last scan
	folders map[string]place
	stale   map[string]bool      // folders that were renamed, removed or made since
	touched map[string]time.Time // folders to be listed soon, and when
	linked  bool                 // the last scan found links
	limited bool                 // changes of some folders are not reported
}

// scan lists all folders and finds the files that changed.
func (w *Watcher) scan() {
	began := w.now()
	w.scanned.at = began
	keep := map[string]bool{} // paths that cannot be read: their documents stay
	listed := map[key]bool{}
	failing := map[key]bool{}
	missing := false
	known := w.state.withDocs()
	w.scanned.linked = false
	for i, number := range w.state.active {
		root := w.roots[i]
		l, err := w.listRoot(number, root, known)
		if err != nil {
			w.fail(key{number, ""}, root, err)
			failing[key{number, ""}] = true
			keep[root], missing = true, true
			w.scanned.setFolders(number, root, "", nil)
			continue
		}
		w.scanned.setFolders(number, root, "", l.Folders)
		w.scanned.linked = w.scanned.linked || l.Linked
		for j := range l.Files {
			f := &l.Files[j]
			k := key{number, f.Rel}
			if f.Err != nil {
				w.fail(k, f.Path, f.Err)
				failing[k] = true
				if !isGone(f.Err) && !leadsNowhere(f.Path) {
					keep[f.Path] = true
				}
				continue
			}
			listed[k] = true
			w.compare(k, f)
		}
	}
	clear(w.scanned.stale)
	clear(w.scanned.touched)
	for k, f := range w.failures {
		if f.stamp == (stamp{}) && !failing[k] {
			delete(w.failures, k)
		}
	}
	for k := range w.state.files {
		if !listed[k] && (!w.follows(k) || !below(w.path(k), keep)) {
			w.pendGone(k)
		}
	}
	w.scanned.took, w.scanned.first = w.now().Sub(began), false
	w.scanned.due = w.now().Add(max(w.interval(), 50*w.scanned.took))
	if w.opts.Poll > 0 {
		w.scanned.due = began.Add(max(w.opts.Poll, 2*w.scanned.took))
	}
	if missing {
		w.scanSoon(time.Second)
	}
}

// list lists a folder after its changes are watched, so that none is missed.
func (w *Watcher) list(number int, root string) (*corpus.Listing, error) {
	ofOther := func(dir string) bool {
		p, ok := w.scanned.folders[dir]
		return ok && p.folder != number
	}
	stale := func(dir string) bool { return below(dir, w.scanned.stale) }
	const attempts = 10 // folders are made all the time: their events come later
	for n := 1; ; n++ {
		l, err := corpus.List(root)
		if err != nil {
			return nil, err
		}
		added, err := w.events.follow(root, l.Folders, ofOther, stale)
		stale = func(string) bool { return false }
		w.limit(err)
		if !added || n == attempts {
			return l, nil
		}
	}
}

// limit reports, once, that the system does not watch all folders.
func (w *Watcher) limit(err error) {
	if err != nil && !w.scanned.limited {
		w.report(Event{Kind: Limited, Err: fmt.Errorf("%w: changes are found every %s", err, limitedInterval)})
		w.scanSoon(limitedInterval)
	}
	w.scanned.limited = err != nil
}

// setFolders sets the listed folders at and below a path. rel is the one of the path below its root.
func (s *scanning) setFolders(number int, path, rel string, folders []string) {
	for dir, p := range s.folders {
		if p.folder == number && isBelow(dir, path) {
			delete(s.folders, dir)
		}
	}
	for _, dir := range folders {
		within, _ := filepath.Rel(path, dir) // it is below
		s.folders[dir] = place{number, join(rel, filepath.ToSlash(within))}
	}
}

// scanFolder lists a folder below a root that was made, renamed or removed.
func (w *Watcher) scanFolder(path string) {
	parent, ok := w.scanned.folders[filepath.Dir(path)]
	if !ok {
		w.scanSoon(w.opts.Quiet)
		return
	}
	if w.scanned.linked {
		w.scanSoon(w.opts.Quiet) // other links may lead to the same file, or was
	}
	number, rel := parent.folder, join(parent.rel, filepath.Base(path))
	if !isFolder(path) {
		w.forgetFolder(number, path, rel, nil)
		return
	}
	l, err := w.list(number, path)
	if err != nil || l.Linked {
		w.scanSoon(w.opts.Quiet)
		return
	}
	listed := map[string]bool{}
	for i := range l.Files {
		f := &l.Files[i]
		k := key{number, join(rel, f.Rel)}
		if f.Err != nil {
			w.scanSoon(w.opts.Quiet)
			return
		}
		listed[k.rel] = true
		w.compare(k, f)
	}
	w.scanned.setFolders(number, path, rel, l.Folders)
	w.forgetFolder(number, path, rel, listed)
}

// forgetFolder has files looked at that are below a folder and not listed. Without a listing the
// folder is gone.
func (w *Watcher) forgetFolder(number int, path, rel string, listed map[string]bool) {
	if listed == nil {
		w.scanned.setFolders(number, path, rel, nil)
		_, err := w.events.follow(path, nil, func(string) bool { return false }, func(string) bool { return false })
		w.limit(err)
	}
	for k := range w.state.files {
		if k.folder == number && strings.HasPrefix(k.rel, rel+"/") && !listed[k.rel] {
			w.pendGone(k)
		}
	}
}

// scanFolders lists the folders whose time has come.
func (w *Watcher) scanFolders() {
	now := w.now()
	for path, due := range w.scanned.touched {
		if !due.After(now) {
			delete(w.scanned.touched, path)
			w.scanned.at = now
			w.scanFolder(path)
			delete(w.scanned.stale, path)
		}
	}
}

func isFolder(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}

// join joins relative paths with slashes; "" and "." are the root.
func join(dir, rel string) string {
	switch {
	case rel == "." || rel == "":
		return dir
	case dir == "":
		return rel
	}
	return dir + "/" + rel
}

// limitedInterval is the one of scans if the system cannot report the changes of all folders.
const limitedInterval = 5 * time.Second

func (w *Watcher) interval() time.Duration {
	if w.scanned.limited || w.events == nil {
		return limitedInterval
	}
	return w.opts.Rescan
}

// scanSoon lists the folders after a delay, but not all the time.
func (w *Watcher) scanSoon(delay time.Duration) {
	if due := w.now().Add(max(delay, 3*w.scanned.took)); due.Before(w.scanned.due) {
		w.scanned.due = due
	}
}

// compare finds out whether a listed file changed.
func (w *Watcher) compare(k key, listed *corpus.ListedFile) {
	now, seen := w.now(), stampOf(listed.Info)
	if f := w.state.files[k]; f != nil && f.complete && f.stamp == seen && (f.settled || !w.scanned.first && seen.age(now) < settledAge) {
		return
	}
	if failed, ok := w.failures[k]; ok && failed.stamp == seen {
		return
	}
	due := now
	if age := seen.age(now); age >= 0 && age < w.opts.Quiet {
		due = now.Add(w.opts.Quiet - age)
	}
	w.pend(k, due)
}

// pend has a file read when due, unless it is to be read already.
func (w *Watcher) pend(k key, due time.Time) {
	if _, ok := w.pending[k]; !ok {
		w.pending[k] = &change{first: w.scanned.at, due: due}
	}
}

// pendGone has a file that is not listed removed.
func (w *Watcher) pendGone(k key) {
	w.pend(k, w.scanned.at)
	w.pending[k].gone = true
}

// touch has a file read when it has been quiet for a while.
func (w *Watcher) touch(k key) {
	now := w.now()
	c, ok := w.pending[k]
	if !ok {
		c = &change{first: now}
		w.pending[k] = c
	}
	c.due, c.gone = now.Add(w.opts.Quiet), false
	if limit := c.first.Add(maxQuiet); c.due.After(limit) {
		c.due = limit
	}
	if f := w.state.files[k]; f != nil && f.notBefore.After(c.due) {
		c.due = f.notBefore
	}
}

// maxQuiet is how long a file that is written all the time is not read.
const maxQuiet = 5 * time.Second

// observe handles the events since the last call.
func (w *Watcher) observe() {
	paths, err := w.events.take()
	if err != nil {
		if !errors.Is(err, fsnotify.ErrEventOverflow) {
			w.report(Event{Kind: Failed, Err: err})
		}
		w.scanSoon(w.opts.Quiet)
	}
	for path, op := range paths {
		w.changed(path, op)
	}
}

func (w *Watcher) changed(path string, op fsnotify.Op) {
	if op.Has(fsnotify.Create) || op.Has(fsnotify.Rename) || op.Has(fsnotify.Remove) {
		if _, ok := w.scanned.folders[path]; ok {
			w.scanned.stale[path] = true
		}
	}
	dir, name := filepath.Split(path)
	p, ok := w.scanned.folders[filepath.Clean(dir)]
	switch {
	case !ok: // a root
		w.scanSoon(w.opts.Quiet)
		return
	case name == base.ManifestName: // the folder may be an index of Griffin now
		w.scanSoon(w.opts.Quiet)
		return
	case corpus.IsHidden(name):
		return
	}
	k := key{p.folder, join(p.rel, name)}
	info, err := os.Lstat(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode()&fs.ModeSymlink != 0 {
		w.scanSoon(w.opts.Quiet) // links depend on other links and folders
		return
	}
	if _, was := w.scanned.folders[path]; was || err == nil && info.IsDir() {
		if _, ok := w.scanned.touched[path]; !ok {
			w.scanned.touched[path] = w.now().Add(w.opts.Quiet)
		}
	}
	if err == nil && info.Mode().IsRegular() || w.state.files[k] != nil || w.pending[k] != nil {
		w.touch(k)
	}
}

// leadsNowhere reports whether a path is a link that cannot be followed to a file, such as one to itself.
func leadsNowhere(path string) bool {
	_, err := os.Stat(path)
	return isGone(err)
}

// below reports whether a path is one of paths, or in one of them.
func below(path string, paths map[string]bool) bool {
	if len(paths) == 0 {
		return false
	}
	for {
		if paths[path] {
			return true
		}
		parent := filepath.Dir(path)
		if parent == path {
			return false
		}
		path = parent
	}
}

// isBelow reports whether a path is root, or below it.
func isBelow(path, root string) bool {
	rest, ok := strings.CutPrefix(path, root)
	return ok && (rest == "" || rest[0] == filepath.Separator || strings.HasSuffix(root, string(filepath.Separator))) || root == "." && !filepath.IsAbs(path)
}
