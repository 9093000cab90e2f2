package inverter

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/inverter/invertertest"
	"github.com/griffin-search/griffin/internal/reorder"
)

// reorderDocs have rare terms, frequent ones, a term at the minimum frequency, one below it
// and one in every document.
func reorderDocs() []corpus.Document {
	rng := rand.New(rand.NewPCG(19, 0))
	docs := make([]corpus.Document, 300)
	for i := range docs {
		text := []string{"every"}
		if i < minReorderFreq {
			text = append(text, "minimum")
		}
		if i < minReorderFreq-1 {
			text = append(text, "below")
		}
		for range rng.IntN(12) {
			text = append(text, fmt.Sprintf("w%d", int(60*rng.Float64()*rng.Float64())))
		}
		docs[i] = corpus.Document{ID: fmt.Sprint(i), Text: strings.Join(text, " ")}
	}
	return docs
}

// Terms are neither rare nor in every document.
func TestForward(t *testing.T) {
	src := invertAll(t, reorderDocs(), testSchema(), 300, false)[0]
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
	if docFreqs["minimum"] != minReorderFreq || docFreqs["below"] != minReorderFreq-1 || docFreqs["everi"] != len(docs) {
		t.Fatalf("the test's terms have frequencies %d, %d and %d", docFreqs["minimum"], docFreqs["below"], docFreqs["everi"])
	}
	var kept []string
	for term, n := range docFreqs {
		if n >= minReorderFreq && n < len(docs) {
			kept = append(kept, term)
		}
	}
	slices.Sort(kept)
	if f.NumTerms != len(kept) || len(kept) < 10 || len(kept) > len(docFreqs)-10 {
		t.Errorf("%d terms, want %d of %d", f.NumTerms, len(kept), len(docFreqs))
	}
	for i := range docs {
		var want []uint32
		for number, term := range kept {
			if _, ok := docs[i].Terms[0][term]; ok {
				want = append(want, uint32(number))
			}
		}
		if got := f.Doc(uint32(i)); !slices.Equal(got, want) {
			t.Fatalf("document %d has the terms %d, want %d", i, got, want)
		}
	}
}

// TestForwardMemory: the limit is exact, and the error states the missing amount.
func TestForwardMemory(t *testing.T) {
	const threads = 2
	src := invertAll(t, reorderDocs(), testSchema(), 300, false)[0]
	f, err := Forward(t.Context(), src, 1<<30, threads)
	if err != nil {
		t.Fatal(err)
	}
	need := int64(4*len(f.Terms)+8*src.NumDocs()) + reorder.MemoryBytes(src.NumDocs(), f.NumTerms, threads)
	if _, err := Forward(t.Context(), src, need, threads); err != nil {
		t.Errorf("with the needed memory: %v", err)
	}
	for _, c := range []struct{ missing, mebibytes int64 }{{1, 1}, {1<<20 - 1, 1}, {5 << 20, 6}} {
		_, err := Forward(t.Context(), src, need-c.missing, threads)
		want := fmt.Sprintf("needs %d MiB of memory, %d MiB more than the limit", need>>20, c.mebibytes)
		if !errors.Is(err, base.ErrBadInput) || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("with %d bytes less: error %v, want ErrBadInput with %q", c.missing, err, want)
		}
	}
}
