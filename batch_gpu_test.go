package griffin

import (
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/sampletest"
	"github.com/griffin-search/griffin/internal/sched"
)

// Results and errors are the same as on the CPU, also with a limit.
func TestSearchBatchOnGPU(t *testing.T) {
	t.Setenv("GRIFFIN_CUDA_LIBRARY", gputest.Library(t).Path())
	supported := sampletest.UnderRace(100, 20)
	for _, limits := range []*Limits{nil, {Running: 1}} {
		t.Run(fmt.Sprintf("limited=%t", limits != nil), func(t *testing.T) {
			r := newTestRuntime(t, RuntimeOptions{GPU: GPUOptions{Device: "0", Memory: MemorySize{Bytes: 4 << 20}}, Limits: limits})
			ix := newTestIndexWith(t, truncationDocs(), Settings{}, Options{Runtime: r})
			var queries []Query
			for i := range supported {
				queries = append(queries, Query{
					Text: fmt.Sprintf("w%d w%d", i%40, i%7), Mode: []Mode{ModeOr, ModeAnd, ModeAndOr}[i%3], K: 1 + i%20, Offset: i % 3, Count: i%2 == 0, Load: Load(i % 4),
				})
			}
			queries = append(queries, Query{Text: `"w1 w2"`, SnippetLength: 80}, Query{Text: "(w1"}, Query{Text: "w1", K: -1}, Query{})
			for range 2 {
				got, err := ix.SearchBatch(t.Context(), queries)
				if err != nil || len(got) != len(queries) {
					t.Fatalf("%d results, %v", len(got), err)
				}
				onGPU := 0
				for i, q := range queries {
					q.Policy = PolicyCPU
					want, err := ix.Search(t.Context(), q)
					if fmt.Sprint(got[i].Err) != fmt.Sprint(err) {
						t.Fatalf("%+v: error %v, want %v", q, got[i].Err, err)
					}
					if err != nil {
						continue
					}
					if got[i].Traversal == "gpu" {
						onGPU++
					}
					want.Took, got[i].Took, want.Traversal = 0, 0, got[i].Traversal
					if !reflect.DeepEqual(&got[i].Results, want) {
						t.Fatalf("%+v:\n got %+v\nwant %+v", q, got[i].Results, *want)
					}
				}
				if onGPU < supported || onGPU == len(queries) {
					t.Errorf("%d of %d queries on the GPU", onGPU, len(queries))
				}
			}
		})
	}
}

func TestSearchBatchPublicErrors(t *testing.T) {
	b := batch{results: make([]BatchResult, 1)}
	b.Fail(0, fmt.Errorf("query: %w", &sched.Overload{Reason: sched.TooLate, RetryAfter: time.Second}))
	var o *Overload
	if err := b.results[0].Err; !errors.As(err, &o) || o.Reason != ReasonTooLate || o.RetryAfter != time.Second {
		t.Errorf("error %#v, want *Overload", err)
	}
}
