package griffin

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
)

// Limits.Running bounds the searches that read documents; others wait until their context ends.
func TestReadingIsBounded(t *testing.T) {
	ix := newTestIndexWith(t, animals, Settings{}, Options{Runtime: newTestRuntime(t, RuntimeOptions{Limits: &Limits{Running: 2, Waiting: 8}})})
	reading := ix.runtime.reading
	if cap(reading) != 2 {
		t.Fatalf("room for %d", cap(reading))
	}
	reading <- struct{}{}
	reading <- struct{}{}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := ix.Search(ctx, Query{Text: "cat"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	for _, q := range []Query{{Text: "cat", Load: LoadIDs}, {Text: "unfindable"}} {
		if _, err := ix.Search(t.Context(), q); err != nil {
			t.Errorf("%s: %v", q.Text, err)
		}
	}
	var waiting sync.WaitGroup
	waiting.Go(func() {
		if r, err := ix.Search(t.Context(), Query{Text: "cat"}); err != nil || len(r.Hits) != 2 {
			t.Errorf("%+v, %v", r, err)
		}
	})
	<-reading
	waiting.Wait()
	if newTestIndex(t, animals).runtime.reading != nil {
		t.Error("without limits reading is bounded")
	}
}
