package inverter

import (
	"errors"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/inverter/invertertest"
)

// TestForward: the forward index has the terms that are neither rare nor in every document, and
// respects the memory limit.
func TestForward(t *testing.T) {
	src := invertAll(t, invertertest.RandomDocs(19, 2000, false), testSchema(), 2000, false)[0]
	if _, err := Forward(t.Context(), src, 1000, 2); !errors.Is(err, base.ErrBadInput) || !strings.Contains(err.Error(), "MiB more than the limit") {
		t.Errorf("error %v, want ErrBadInput with the missing amount", err)
	}
	f, err := Forward(t.Context(), src, 1<<30, 2)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Validate(); err != nil {
		t.Fatal(err)
	}
	docs := invertertest.DumpSource(t, src, 2, true)
	docFreqs := map[string]int{}
	for i := range docs {
		for term := range docs[i].Terms[0] {
			docFreqs[term]++
		}
	}
	for i := range docs {
		n := 0
		for term := range docs[i].Terms[0] {
			if docFreqs[term] >= minReorderFreq && docFreqs[term] < len(docs) {
				n++
			}
		}
		if len(f.Doc(uint32(i))) != n {
			t.Fatalf("document %d has %d terms in the forward index, want %d", i, len(f.Doc(uint32(i))), n)
		}
	}
}
