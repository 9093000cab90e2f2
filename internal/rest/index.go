package rest

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/griffin-search/griffin"
)

// Index is one index of a Directory.
type Index struct {
	name    string
	ix      *griffin.Index
	writer  *griffin.Writer
	refresh refresher
	err     error // it could not be opened
	absent  bool  // it does not exist: searches, which ignore that, find nothing

	now      atomic.Pointer[meta]
	changing sync.Mutex  // held while now is replaced
	damaged  atomic.Bool // a request met a damaged file
	// refusals is when it was logged last that writes are refused.
	refusals atomic.Int64
}

// logRefusal logs why writes are refused, at most every 10 seconds.
func (x *Index) logRefusal(log *slog.Logger, err error) {
	const pause = 10 * time.Second
	now, last := time.Now().UnixNano(), x.refusals.Load()
	if (last == 0 || now-last >= int64(pause)) && x.refusals.CompareAndSwap(last, now) {
		log.Error("writes are refused", "index", x.name, "error", err)
	}
}

func (x *Index) close(ctx context.Context) error {
	if x.writer == nil { // it could not be opened
		return nil
	}
	return errors.Join(x.writer.Close(ctx), x.ix.Close())
}

// refresher makes writes visible for requests with refresh=wait_for: requests of one interval share
// a refresh.
type refresher struct {
	writer   *griffin.Writer
	interval atomic.Int64 // a time.Duration

	mu   sync.Mutex
	next *sharedRefresh // not yet begun
}

type sharedRefresh struct {
	done chan struct{}
	err  error
}

// maxRefreshWait bounds the time of a wait.
const maxRefreshWait = time.Second

func refreshWait(interval time.Duration) time.Duration {
	if interval <= 0 {
		return maxRefreshWait
	}
	return min(interval, maxRefreshWait)
}

// wait returns when the writes before it are visible.
func (r *refresher) wait(ctx context.Context) error {
	r.mu.Lock()
	s := r.next
	if s == nil {
		s = &sharedRefresh{done: make(chan struct{})}
		r.next = s
		time.AfterFunc(time.Duration(r.interval.Load()), func() {
			r.mu.Lock()
			r.next = nil
			r.mu.Unlock()
			s.err = r.writer.Refresh(context.WithoutCancel(ctx))
			close(s.done)
		})
	}
	r.mu.Unlock()
	select {
	case <-s.done:
		return s.err
	case <-ctx.Done():
		return ctx.Err()
	}
}
