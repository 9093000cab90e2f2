package wal

import (
	"fmt"
	"sync"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/vfs"
)

// syncer syncs in the background.
type syncer struct {
	wake    sync.Cond // there is something to sync, or the log closes
	running bool      // the goroutine was started, which closes done
	stop    chan struct{}
	done    chan struct{}
	changed chan struct{} // closed and replaced by SetMode
	count   uint64        // of syncs of records
	modes   sync.Mutex    // of SetMode and Close, before Dir.mu
}

// SetMode changes when appended records become durable. With ModeRequest it syncs all acknowledged records. interval is as
// in Options. A log without room or permission keeps its mode.
func (l *Dir) SetMode(mode Mode, interval time.Duration) error {
	l.syncer.modes.Lock()
	defer l.syncer.modes.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	if mode != ModeRequest {
		if _, err := resource(l.setUnsynced(true)); err != nil {
			return err
		}
	}
	before := l.opts
	l.change(mode, interval)
	if mode == ModeRequest {
		if err := l.syncWritten(); err != nil {
			if l.failed == nil {
				l.change(before.Mode, before.Interval)
				l.syncer.wake.Signal()
			}
			return err
		}
		_ = l.setUnsynced(false) // or the next Open begins a new term
		return nil
	}
	if !l.syncer.running {
		l.syncer.running = true
		go l.run()
	}
	l.syncer.wake.Signal()
	return nil
}

// change sets the mode. l.mu is held.
func (l *Dir) change(mode Mode, interval time.Duration) {
	l.opts.Mode, l.opts.Interval = mode, interval
	l.opts.setDefaults()
	close(l.syncer.changed)
	l.syncer.changed = make(chan struct{})
}

// run is the goroutine of ModeAsync and ModeInterval. It waits while the mode is ModeRequest.
func (l *Dir) run() {
	defer close(l.syncer.done)
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		for !l.closed && l.failed == nil && (l.opts.Mode == ModeRequest || l.durable == l.written.seq || l.files.current == nil) {
			l.syncer.wake.Wait()
		}
		if l.closed || l.failed != nil {
			return
		}
		if l.opts.Mode == ModeInterval && !l.pause() {
			return
		}
		_ = l.syncWritten() // it stops the log
	}
}

// pause waits for the interval, or until SetMode changes it. It reports false if the log closes.
func (l *Dir) pause() bool {
	timer, changed := time.NewTimer(l.opts.Interval), l.syncer.changed
	l.mu.Unlock()
	defer l.mu.Lock()
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-changed:
		return true
	case <-l.syncer.stop:
		return false
	}
}

// Sync implements Log.
func (l *Dir) Sync() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	return l.syncWritten()
}

// syncWritten makes all that was written durable. l.mu is held, and released for a time.
func (l *Dir) syncWritten() error {
	if l.durable == l.written.seq {
		return nil
	}
	l.acquireFile()
	defer l.releaseFile()
	switch {
	case l.failed != nil:
		return l.failed
	case l.durable == l.written.seq: // a new file was begun meanwhile
		return nil
	case l.files.current == nil:
		retry, err := resource(l.finishRepair())
		if err != nil && !retry {
			return l.fail(err)
		}
		return err
	}
	return l.syncFile(l.written.seq)
}

// sync makes the current file's records up to target durable. l.mu is held, and released for a
// time. An error stops the log.
func (l *Dir) sync(target Seq) error {
	l.acquireFile()
	defer l.releaseFile()
	if l.failed != nil {
		return l.failed
	}
	return l.syncFile(target)
}

// syncFile is sync for the owner of the file.
func (l *Dir) syncFile(target Seq) error {
	f, counted := l.files.current, l.files.counted
	l.mu.Unlock()
	err := f.Sync()
	removed := err == nil && counted && vfs.IsRemoved(f) // 2 µs, beside 200 µs of the sync
	l.mu.Lock()
	l.syncer.count++
	if removed { // the records are lost when it is closed
		return l.fail(fmt.Errorf("%s: %w", l.files.name(l.dir), base.ErrRemoved))
	}
	if err != nil {
		err = vfs.PathError("sync", l.files.name(l.dir), err)
		return l.fail(fmt.Errorf("records from %d on may not be durable: %w", l.durable+1, err))
	}
	l.durable = max(l.durable, target)
	return nil
}

// acquireFile gets the right to sync or replace the current file; l.mu is held.
func (l *Dir) acquireFile() {
	for l.files.busy {
		l.files.released.Wait()
	}
	l.files.busy = true
}

func (l *Dir) releaseFile() {
	l.files.busy = false
	l.files.released.Broadcast()
}
