package living

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/griffin-search/griffin/internal/turns"
	"github.com/griffin-search/griffin/internal/vfs"
)

// maxHold is the longest time for which merges wait for a batch that is being published. Somebody may wait for
// that, and nobody for them.
const maxHold = 250 * time.Millisecond

// hold makes merges wait from begin to end, but maxHold at most.
type hold struct {
	mu    sync.Mutex
	since time.Time
	ended chan struct{} // nil: not held
}

func (h *hold) begin() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.since, h.ended = time.Now(), make(chan struct{})
}

func (h *hold) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended != nil {
		close(h.ended)
		h.ended = nil
	}
}

// wait gives the caller's turn back meanwhile.
func (h *hold) wait(t *turns.Turns, quit <-chan struct{}) {
	h.mu.Lock()
	ended, left := h.ended, maxHold-time.Since(h.since)
	h.mu.Unlock()
	if ended == nil || left <= 0 {
		return
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	t.Wait(func() {
		select {
		case <-ended:
		case <-timer.C:
		case <-quit:
		}
	})
}

// maxRest is the longest pause after a batch, so that a write is visible within a second also then.
const maxRest = 400 * time.Millisecond

// restAfter is the pause after a batch whose publication took a time. From three quarters of most segments on, the next batch
// waits while merges go on: not at all at first, and twice that time at most segments, where writes stop.
func restAfter(took time.Duration, numSegments, most int) time.Duration {
	quarter := max(most/4, 1)
	over := min(max(numSegments-(most-quarter), 0), quarter)
	return min(2*took*time.Duration(over)/time.Duration(quarter), maxRest)
}

// rest lets merges catch up, little by little. Without it, writes would continue at full speed until there are too many
// segments, and then stop until a merge ends.
func rest(pause time.Duration, quit <-chan struct{}) {
	if pause <= 0 {
		return
	}
	select {
	case <-time.After(pause):
	case <-quit:
	}
}

// mergeTurns bounds the goroutines of merges that compute at the same time: half of the processors, so
// that merges leave some to searches and new documents, or all when merges are behind or somebody waits for them.
type mergeTurns struct {
	*turns.Turns
	processors int
	mu         sync.Mutex
	wanted     int         // calls of Store.Merge
	isBehind   func() bool // there are so many segments that merges are behind
	behind     bool        // the last answer
}

// update asks whether merges are behind.
func (t *mergeTurns) update() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.behind = t.isBehind()
	t.apply()
}

func (t *mergeTurns) want(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wanted += n
	t.apply()
}

// apply is called with t.mu held.
func (t *mergeTurns) apply() {
	n := t.processors
	if !t.behind && t.wanted == 0 {
		n = max(n/2, 1)
	}
	t.SetLimit(n)
}

// slowFS is the file system of merges. It limits the rate of writes to its files, together. While merges are behind,
// the limit rises with the number of segments: otherwise writes would stop until a large merge ends.
type slowFS struct {
	vfs.FS
	perSecond int64        // 0: no limit
	doublings atomic.Int32 // of perSecond, by the present number of segments
	turns     *turns.Turns // of those who write; none is held in a pause
	held      hold
	quit      <-chan struct{}
	forgets   forgetting

	mu   sync.Mutex
	next time.Time // when the next byte may be written
}

func (f *slowFS) Create(name string) (vfs.File, error) {
	file, err := f.FS.Create(name)
	if err != nil {
		return nil, err
	}
	return &slowFile{File: file, fs: f, window: window{file: vfs.Pace(file), turns: f.turns, forgets: f.forgets.file(name)}}, nil
}

type slowFile struct {
	vfs.File
	fs     *slowFS
	window window
}

func (f *slowFile) Write(p []byte) (n int, err error) {
	f.fs.held.wait(f.fs.turns, f.fs.quit)
	if n, err = f.write(p); err == nil {
		err = f.window.wrote(int64(n))
	}
	return n, err
}

const (
	// windowBytes of a large file are on their way to the disk while the next windowBytes are written to memory.
	windowBytes = 4 << 20
	// A merge soon removes a smaller file, mostly before the system writes it.
	minPaced = 64 << 20
)

// window writes a large file to the disk in small steps. Else a commit, or the system by itself, writes
// gigabytes at once, and the log, and searches that read from the disk, wait in the same queue.
type window struct {
	file       vfs.Paced // nil: without
	turns      *turns.Turns
	forgets    bool // ranges on the disk leave the page cache
	size       int64
	started    int64 // so many bytes are on their way
	discharged int64 // so many are on the disk
}

// wrote counts written bytes. It waits for earlier ones without the caller's turn.
func (w *window) wrote(n int64) (err error) {
	w.size += n
	if w.file == nil || w.size < minPaced || w.size-w.started < windowBytes {
		return nil
	}
	if err := w.file.StartWriting(w.started, w.size-w.started); err != nil {
		return err
	}
	if w.started > w.discharged {
		w.turns.Wait(func() { err = w.file.AwaitWriting(w.discharged, w.started-w.discharged) })
		if err != nil {
			return err
		}
		if w.forgets {
			if err := w.file.Forget(w.discharged, w.started-w.discharged); err != nil {
				return err
			}
		}
	}
	w.discharged, w.started = w.started, w.size
	return nil
}

// maxDoublings of the limit are in force at three quarters of the segments that may be.
const maxDoublings = 8

// update raises the limit from half of most segments on.
func (f *slowFS) update(numSegments, most int) {
	half, quarter := most/2, max(most/4, 1)
	f.doublings.Store(int32(min(max((numSegments-half)*maxDoublings/quarter, 0), maxDoublings)))
}

func (f *slowFS) rate() int64 {
	return min(f.perSecond, math.MaxInt64>>maxDoublings) << f.doublings.Load()
}

// write writes small pieces, so that merges that run at the same time have equal shares of the rate.
func (f *slowFile) write(p []byte) (n int, err error) {
	const piecesPerSecond = 50
	if f.fs.perSecond == 0 {
		return f.File.Write(p)
	}
	for {
		most := int(max(f.fs.rate()/piecesPerSecond, 1))
		piece := p[n:min(len(p), n+most)]
		f.fs.pause(len(piece))
		written, err := f.File.Write(piece)
		if n += written; err != nil || n == len(p) {
			return n, err
		}
	}
}

func (f *slowFS) pause(n int) {
	f.mu.Lock()
	now := time.Now()
	if f.next.Before(now) {
		f.next = now
	}
	wait := f.next.Sub(now)
	f.next = f.next.Add(time.Duration(int64(n) * int64(time.Second) / f.rate()))
	f.mu.Unlock()
	if wait > 0 {
		f.turns.Wait(func() {
			select {
			case <-time.After(wait):
			case <-f.quit:
			}
		})
	}
}
