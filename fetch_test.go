package griffin

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
)

// As many searches as may run may read documents; others wait, not longer than their
// context. Those that read none do not.
func TestReadingIsBounded(t *testing.T) {
	ix := newTestIndex(t, animals, WithConcurrency(2, 8))
	if cap(ix.reading) != 2 {
		t.Fatalf("room for %d", cap(ix.reading))
	}
	ix.reading <- struct{}{}
	ix.reading <- struct{}{}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := ix.Search(ctx, "cat"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	for _, query := range []string{"cat", "unfindable"} {
		opts := []SearchOption{WithIDsOnly()}
		if query == "unfindable" {
			opts = nil
		}
		if _, err := ix.Search(t.Context(), query, opts...); err != nil {
			t.Errorf("%s: %v", query, err)
		}
	}
	var waiting sync.WaitGroup
	waiting.Go(func() {
		if r, err := ix.Search(t.Context(), "cat"); err != nil || len(r.Hits) != 2 {
			t.Errorf("%+v, %v", r, err)
		}
	})
	<-ix.reading
	waiting.Wait()
	if newTestIndex(t, animals).reading != nil {
		t.Error("without limits reading is bounded")
	}
}
