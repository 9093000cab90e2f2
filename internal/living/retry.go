package living

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"time"

	"github.com/griffin-search/griffin/internal/wal"
)

const (
	// The work that makes writes visible is repeated this often: writers wait for it.
	maxPublishWait = time.Second
	// Merges and flushes, which can read and write much before they fail, are repeated at longer
	// and longer intervals.
	maxWorkWait = time.Minute
	// hurriedWait is the longest wait while writers wait for a merge.
	hurriedWait = time.Second
	// minAgainWait is the shortest wait while a caller waits for documents to become visible. More requests do not shorten it.
	minAgainWait = 50 * time.Millisecond
	// A failure that lasts is reported at longer and longer intervals, up to this one.
	maxReportInterval = 10 * time.Minute
)

// retry repeats what fails, for example because the disk is full, until it succeeds or the store
// is closed. It waits most between attempts at the end, hurriedWait at most after a signal to hurry, and
// minAgainWait at most after a signal of again; both may be nil.
func (s *Store) retry(what string, most time.Duration, hurry, again <-chan struct{}, do func() error) error {
	r := reports{what: what, send: s.opts.OnError}
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, most) {
		err := do()
		if err == nil || s.work.ctx.Err() != nil || s.work.isClosing() {
			return err
		}
		r.failed(err)
		if !s.work.pause(wait, hurry, again) {
			return err
		}
	}
}

// pause waits; false: the store is closed.
func (w *background) pause(wait time.Duration, hurry, again <-chan struct{}) bool {
	whole, short, least := time.NewTimer(wait), time.NewTimer(min(wait, hurriedWait)), time.NewTimer(min(wait, minAgainWait))
	defer whole.Stop()
	defer short.Stop()
	defer least.Stop()
	var hurried, asked <-chan struct{}
	for {
		select {
		case <-w.ctx.Done():
			return false
		case <-w.closing:
			return false
		case <-whole.C:
			return true
		case <-short.C:
			hurried = hurry
		case <-least.C:
			asked = again
		case <-hurried:
			return true
		case <-asked:
			return true
		}
	}
}

func (w *background) isClosing() bool {
	select {
	case <-w.closing:
		return true
	default:
		return false
	}
}

// reports are of one piece of work that fails again and again.
type reports struct {
	what  string
	send  func(error)
	last  string // cause that was reported
	first time.Time
	next  time.Time // not before it, unless the error differs
	pause time.Duration
	count int
}

func (r *reports) failed(err error) {
	now := time.Now()
	if r.count++; r.count == 1 {
		r.first = now
	}
	cause := causeOf(err)
	switch {
	case cause != r.last:
		r.pause = time.Second
	case now.Before(r.next):
		return
	default:
		r.pause = min(2*r.pause, maxReportInterval)
	}
	r.last, r.next = cause, now.Add(r.pause)
	if r.count > 1 {
		err = fmt.Errorf("%w (%d failures in %v)", err, r.count, now.Sub(r.first).Round(time.Second))
	}
	r.send(fmt.Errorf("%s, which is repeated: %w", r.what, err))
}

// causeOf is the error of the system, or the text without numbers: each attempt has other files.
func causeOf(err error) string {
	if errno := syscall.Errno(0); errors.As(err, &errno) {
		return errno.Error()
	}
	text := err.Error()
	kept := make([]byte, 0, len(text))
	for i := range len(text) {
		if c := text[i]; c < '0' || c > '9' {
			kept = append(kept, c)
		}
	}
	return string(kept)
}

// busy is the error of a write that waited for room, or need not wait since publishing fails.
func (s *Store) busy(why string) error {
	err := fmt.Errorf("%s: %w", why, ErrBusy)
	if f := s.failures.latest(); f != nil {
		err = fmt.Errorf("%w: %w", err, f.err)
	}
	return err
}

// refused reports whether the disk takes no writes at present.
func refused(err error) bool {
	return errors.Is(err, ErrFull) || errors.Is(err, ErrReadOnly) || errors.Is(err, ErrDenied)
}

// explain adds a remedy to a lack of room or permission, and wraps ErrFull, ErrReadOnly or ErrDenied.
func (s *Store) explain(err error) error { return explain(s.ix.Dir(), err) }

func explain(dir string, err error) error {
	switch {
	case refused(err):
		return err
	case errors.Is(err, wal.ErrFull), errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("index %s: %w: %w", dir, ErrFull, err)
	case errors.Is(err, wal.ErrReadOnly), errors.Is(err, syscall.EROFS):
		return fmt.Errorf("index %s: %w: %w", dir, ErrReadOnly, err)
	case errors.Is(err, wal.ErrDenied), errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("index %s: %w: %w", dir, ErrDenied, err)
	}
	return err
}
