package griffin

import (
	"context"
	"testing"
	"time"
)

// Background work waits for the answer of a count and of an explanation to leave, as for that of a search.
func TestGateOfCountAndExplain(t *testing.T) {
	r := newTestRuntime(t, RuntimeOptions{})
	ix := newTestIndexWith(t, animals, Settings{}, Options{Runtime: r})
	q := Query{Text: "cat dog"}
	for name, do := range map[string]func(ctx context.Context) error{
		"Search": func(ctx context.Context) error {
			_, err := ix.Search(ctx, q)
			return err
		},
		"Count": func(ctx context.Context) error {
			_, err := Count(ctx, ix, q)
			return err
		},
		"Explain": func(ctx context.Context) error {
			_, err := ix.Explain(ctx, q, animals[0].ID)
			return err
		},
	} {
		waited := time.Duration(0)
		for range 50 { // the answer may have left before this goroutine goes on
			time.Sleep(10 * time.Millisecond) // the gate saves time
			if err := do(t.Context()); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			r.Yield()
			if waited = time.Since(began); waited > 50*time.Microsecond {
				break
			}
		}
		if waited <= 50*time.Microsecond {
			t.Errorf("%s: work waits for %v", name, waited)
		}
	}
}
