package segment

import (
	"fmt"
	"testing"

	"github.com/griffin-search/griffin/internal/sealed"
)

// Each id passes, and about a hundredth of others.
func TestIDFilter(t *testing.T) {
	for _, n := range []int{0, 1, 5, 1000, 100_000} {
		f := newIDFilter(uint64(n))
		for i := range n {
			f.add(HashID(fmt.Appendf(nil, "id-%d", i)))
		}
		for i := range n {
			if !f.has(HashID(fmt.Appendf(nil, "id-%d", i))) {
				t.Fatalf("%d ids: %d does not pass", n, i)
			}
		}
		passed := 0
		for i := range 100_000 {
			if f.has(HashID(fmt.Appendf(nil, "other-%d", i))) {
				passed++
			}
		}
		if passed > 2000 {
			t.Errorf("%d ids: %d of 100,000 others pass", n, passed)
		}
	}
}

// A table makes its filter after some lookups, and they have the same results.
func TestLookupWithFilter(t *testing.T) {
	const n = 1000
	id := func(doc int) []byte { return fmt.Appendf(nil, "id-%d", doc) }
	table, err := newIDTable(sealPayload(t, fileIDs, payloadOf(t, fileIDs, func(w *sealed.Writer) error {
		return writeWithTable(t.Context(), w, n, id)
	})), n)
	if err != nil {
		t.Fatal(err)
	}
	lookup := func() {
		for d := range 2 * n {
			doc, found, err := table.lookup(id(d), HashID(id(d)))
			if err != nil || found != (d < n) || found && int(doc) != d {
				t.Fatalf("document %d: %d, %t, %v", d, doc, found, err)
			}
		}
	}
	lookup()
	if table.once.made.Load() == nil {
		t.Fatal("no filter")
	}
	lookup()
}
