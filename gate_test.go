package griffin

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// Background work waits until the answer of a search, a count or an explanation is sent.
func TestGateOfCountAndExplain(t *testing.T) {
	q := Query{Text: "cat dog", Load: LoadIDs}
	for name, do := range map[string]func(ctx context.Context, ix *Index) error{
		"Search": func(ctx context.Context, ix *Index) error {
			_, err := ix.Search(ctx, q)
			return err
		},
		"Count": func(ctx context.Context, ix *Index) error {
			_, err := Count(ctx, ix, q)
			return err
		},
		"Explain": func(ctx context.Context, ix *Index) error {
			_, err := ix.Explain(ctx, q, animals[0].ID)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newTestRuntime(t, RuntimeOptions{})
				ix := newTestIndexWith(t, animals, Settings{NoStored: true}, Options{Runtime: r})
				time.Sleep(time.Second) // the gate saves time
				r.Yield()               // there is work
				if err := do(t.Context(), ix); err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				r.Yield()
				if time.Since(began) == 0 {
					t.Error("work does not wait")
				}
			})
		})
	}
}
