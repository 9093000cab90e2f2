package watch

import (
	"errors"
	"io/fs"
	"sync"

	"github.com/fsnotify/fsnotify"
)

// events collects the reports of the operating system, so that its queue stays short. A nil *events
// reports nothing.
type events struct {
	watcher *fsnotify.Watcher
	signal  chan struct{}
	ended   chan struct{}

	mu    sync.Mutex
	paths map[string]fsnotify.Op
	err   error // of the system: events may be lost
}

func newEvents() (*events, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	e := &events{watcher: w, signal: make(chan struct{}, 1), ended: make(chan struct{}), paths: map[string]fsnotify.Op{}}
	go e.collect()
	return e, nil
}

func (e *events) collect() {
	defer close(e.ended)
	for {
		select {
		case event, ok := <-e.watcher.Events:
			if !ok {
				return
			}
			e.mu.Lock()
			e.paths[event.Name] |= event.Op
			e.mu.Unlock()
		case err, ok := <-e.watcher.Errors:
			if !ok {
				return
			}
			e.mu.Lock()
			e.err = errors.Join(e.err, err)
			e.mu.Unlock()
		}
		select {
		case e.signal <- struct{}{}:
		default:
		}
	}
}

// ready receives after new events.
func (e *events) ready() <-chan struct{} {
	if e == nil {
		return nil
	}
	return e.signal
}

// take returns the paths with events since the last call. After an error some may be missing.
func (e *events) take() (paths map[string]fsnotify.Op, err error) {
	if e == nil {
		return nil, nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.paths) == 0 && e.err == nil {
		return nil, nil
	}
	paths, err = e.paths, e.err
	e.paths, e.err = map[string]fsnotify.Op{}, nil
	return paths, err
}

// follow watches these folders, and no others below root but those to keep. Watches of folders that
// are, or are below, stale are made anew. It reports whether some are new, and the first error: changes
// in the folders after it are not reported.
func (e *events) follow(root string, folders []string, keep, stale func(string) bool) (added bool, err error) {
	if e == nil {
		return false, nil
	}
	wanted := make(map[string]bool, len(folders))
	for _, f := range folders {
		wanted[f] = true
	}
	watched := map[string]bool{}
	for _, f := range e.watcher.WatchList() {
		switch {
		case !stale(f) && wanted[f]:
			watched[f] = true
		case stale(f), isBelow(f, root) && !keep(f):
			_ = e.watcher.Remove(f) // it fails if the folder is gone
		}
	}
	for _, f := range folders {
		if watched[f] {
			continue
		}
		err := e.watcher.Add(f)
		switch {
		case err == nil:
			added = true
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission): // the next listing shows it
		default:
			return added, err
		}
	}
	return added, nil
}

func (e *events) close() error {
	if e == nil {
		return nil
	}
	err := e.watcher.Close()
	<-e.ended
	return err
}
