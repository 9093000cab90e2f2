package server

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/griffin-search/griffin"
)

type refreshed struct {
	changed bool
	err     error
}

// followLog is a log that Follow writes while the test reads it.
type followLog struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *followLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *followLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// followed runs Follow with a backend that returns the answers in turn, then no change. Read
// the log after synctest.Wait.
func followed(t *testing.T, o FollowOptions, answers ...refreshed) (*Handler, *followLog) {
	t.Helper()
	b := fakeBackend()
	b.refresh = func() (bool, error) {
		if len(answers) == 0 {
			return false, nil
		}
		a := answers[0]
		answers = answers[1:]
		return a.changed, a.err
	}
	var log followLog
	h := newHandler(Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}, b)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); h.Follow(ctx, o) }()
	t.Cleanup(func() { cancel(); <-done })
	return h, &log
}

func TestFollow(t *testing.T) {
	broken, gone := errors.New("the manifest is broken"), errors.New("the folder is gone")
	metric := func(t *testing.T, h *Handler, want string) {
		t.Helper()
		if body := get(t, h, "/metrics").Body.String(); !strings.Contains(body, want+"\n") {
			t.Errorf("the metrics do not have %q", want)
		}
	}
	lines := func(t *testing.T, log *followLog, text string, want int) {
		t.Helper()
		if got := strings.Count(log.String(), text); got != want {
			t.Errorf("%q is logged %d times, want %d:\n%s", text, got, want, log.String())
		}
	}

	t.Run("a new commit is logged, counted and announced", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			announced := 0
			h, log := followed(t, FollowOptions{Every: DefaultRefresh, Changed: func() { announced++ }}, refreshed{}, refreshed{changed: true})
			time.Sleep(10 * DefaultRefresh)
			synctest.Wait()
			lines(t, log, `msg="a new commit is served" generation=7 documents=3 segments=2`, 1)
			metric(t, h, `griffin_index_refreshes_total{result="changed"} 1`)
			metric(t, h, `griffin_index_refreshes_total{result="failed"} 0`)
			if announced != 1 {
				t.Errorf("announced %d times", announced)
			}
		})
	})
	t.Run("an error is logged once", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			h, log := followed(t, FollowOptions{Every: DefaultRefresh}, refreshed{err: broken}, refreshed{err: broken}, refreshed{err: broken}, refreshed{err: gone})
			time.Sleep(4*DefaultRefresh + DefaultRefresh/2)
			synctest.Wait()
			lines(t, log, "the manifest is broken", 1)
			lines(t, log, "the folder is gone", 1)
			lines(t, log, "refreshed again", 0)
			metric(t, h, "griffin_index_refresh_failing 1")
			metric(t, h, `griffin_index_refreshes_total{result="failed"} 4`)
			time.Sleep(2 * DefaultRefresh)
			synctest.Wait()
			lines(t, log, "refreshed again", 1)
			metric(t, h, "griffin_index_refresh_failing 0")
		})
	})
	t.Run("the same error after success is logged again", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			_, log := followed(t, FollowOptions{Every: DefaultRefresh}, refreshed{err: broken}, refreshed{}, refreshed{err: broken})
			time.Sleep(10 * DefaultRefresh)
			synctest.Wait()
			lines(t, log, "the manifest is broken", 2)
		})
	})
	t.Run("a signal refreshes at once", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			now := make(chan os.Signal)
			h, _ := followed(t, FollowOptions{Now: now}, refreshed{changed: true})
			now <- os.Interrupt
			synctest.Wait()
			metric(t, h, `griffin_index_refreshes_total{result="changed"} 1`)
		})
	})
	t.Run("it ends when the index is closed", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := fakeBackend()
			b.refresh = func() (bool, error) { return false, griffin.ErrClosed }
			h := newHandler(Options{Logger: quiet()}, b)
			h.Follow(t.Context(), FollowOptions{Every: DefaultRefresh})
		})
	})
}
