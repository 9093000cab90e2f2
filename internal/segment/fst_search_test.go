package segment

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/blevesearch/vellum"

	"github.com/griffin-search/griffin/internal/automaton"
	"github.com/griffin-search/griffin/internal/base"
)

// randomTerms returns different terms of a few letters, in order.
func randomTerms(rng *rand.Rand, n int) []string {
	var terms []string
	for range n {
		term := make([]byte, 1+rng.IntN(7))
		for i := range term {
			term[i] = "abcdeé"[rng.IntN(5)]
		}
		terms = append(terms, string(term)+[]string{"", "é", "x\x00"}[rng.IntN(3)])
	}
	slices.Sort(terms)
	return slices.Compact(terms)
}

// randomFilter returns an automaton of each kind that queries have, or nil.
func randomFilter(t *testing.T, rng *rand.Rand) (filter vellum.Automaton, name string) {
	t.Helper()
	word := randomTerms(rng, 1)[0]
	var err error
	switch kind := rng.IntN(5); kind {
	case 0:
		return nil, "none"
	case 1:
		edits, prefix := rng.IntN(3), rng.IntN(3)
		return automaton.NewSimilar(word, edits, prefix, true), fmt.Sprintf("%s~%d after %d", word, edits, prefix)
	case 2:
		return automaton.NewBeginning(word, rng.IntN(3), 0, true), "beginning of " + word
	case 3:
		name = []string{"*" + word[:1], "a*b?", "?*e", word[:1] + "*" + word[len(word)-1:]}[rng.IntN(4)]
		filter, err = compiled(automaton.Wildcard(name, 10_000))
	default:
		name = []string{"[ab]+c?.*", "a(b|c)*", ".*e", "(abc|cba|e)+.?"}[rng.IntN(4)]
		filter, err = compiled(automaton.Regexp(name, 10_000))
	}
	if err != nil {
		t.Fatal(err)
	}
	return filter, name
}

// TestFSTSearch compares iterations from a start with a filter with vellum's.
func TestFSTSearch(t *testing.T) {
	found := 0
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 7))
		terms := randomTerms(rng, 1+rng.IntN(120))
		b := newFSTBuilder()
		b.reset()
		for i, term := range terms {
			if err := b.insert([]byte(term), uint64(rng.IntN(1+i*i))); err != nil {
				t.Fatal(err)
			}
		}
		data := bytes.Clone(b.finish())
		fst, err := vellum.Load(data)
		if err != nil {
			t.Fatal(err)
		}
		var w fstWalker
		for range 30 {
			filter, name := randomFilter(t, rng)
			start := []byte(randomTerms(rng, 1)[0])
			start = start[:rng.IntN(len(start)+1)]
			describe := fmt.Sprintf("seed %d, start %q, filter %s", seed, start, name)
			if err := w.reset(data, start, filter, uint64(len(terms))); err != nil {
				t.Fatalf("%s: %v", describe, err)
			}
			var it *vellum.FSTIterator
			if filter == nil {
				it, err = fst.Iterator(start, nil)
			} else {
				it, err = fst.Search(filter, start, nil)
			}
			for ; err == nil; err = it.Next() {
				wantKey, wantValue := it.Current()
				key, value, ok, err := w.next()
				if !ok || err != nil || !bytes.Equal(key, wantKey) || value != wantValue {
					t.Fatalf("%s: %q, %d, %t, error %v, want %q, %d", describe, key, value, ok, err, wantKey, wantValue)
				}
				found++
			}
			if !errors.Is(err, vellum.ErrIteratorDone) {
				t.Fatal(err)
			}
			if key, _, ok, err := w.next(); ok || err != nil {
				t.Fatalf("%s: %q after the last one, error %v", describe, key, err)
			}
		}
	}
	if found < 10_000 {
		t.Errorf("%d keys were compared", found)
	}
}

// within fails if f does not end.
func within(t *testing.T, most time.Duration, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(most):
		t.Fatalf("%s has not ended after %v", what, most)
	}
}

// TestTermsOfDamage changes random bytes of a dictionary. Iterations by prefix, from a term on, by wildcard, expression and
// similarity end, with rising terms of the kind that was asked for, and an error that names the place.
func TestTermsOfDamage(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	names := randomTerms(rng, 3000)
	terms, records := dictionaryPayloads(t, [][]string{names})
	whole := openDictionary(t, terms, records, 1)
	size, failed := int(whole.partitions[0].fstLen), map[bool]int{}
	for round := range 3000 {
		damaged := bytes.Clone(terms)
		for range 1 + rng.IntN(3) {
			damaged[rng.IntN(size)] ^= byte(1 + rng.IntN(255))
		}
		d := openDictionary(t, damaged, records, 1)
		filter, name := randomFilter(t, rng)
		start := []byte(randomTerms(rng, 1)[0])
		start = start[:rng.IntN(len(start)+1)]
		it := d.iteratorFrom(0, start)
		if rng.IntN(2) == 0 {
			it = d.iterator(0, start)
		}
		it.filter = filter
		what := fmt.Sprintf("round %d, prefix %q of terms from %q, filter %s", round, it.prefix, start, name)
		within(t, time.Minute, what, func() {
			n := 0
			var before []byte
			for it.Next() {
				term := it.Term()
				if n > 0 && bytes.Compare(term, before) <= 0 || !bytes.HasPrefix(term, it.prefix) || bytes.Compare(term, start) < 0 {
					t.Errorf("%s: term %q after %q", what, term, before)
					return
				}
				before = append(before[:0], term...)
				n++
			}
			if n > len(names) {
				t.Errorf("%s: %d terms of %d", what, n, len(names))
			}
			err := it.Err()
			if failed[filter != nil && err != nil]++; err == nil {
				return
			}
			if !errors.Is(err, base.ErrCorrupt) || !strings.Contains(err.Error(), "terms: partition of field 0 from term") {
				t.Errorf("%s: error %v, want ErrCorrupt with its place", what, err)
			}
		})
	}
	if failed[true] < 100 {
		t.Errorf("%d damages were found by iterations with a filter", failed[true])
	}
}

// 2^64 paths lead to one key. No filter follows them all: those that leave no path out, or find none.
func TestFSTSearchOfManyPaths(t *testing.T) {
	data := append(make([]byte, fstHeader), 0, 0, 0) // sizes, count and header of no transitions
	data[len(data)-1] |= fstFinal
	for range 64 {
		data = append(data, 1, 1, 'b', 'a', 1<<4, 2) // both to the state before
	}
	root := len(data) - 1
	data = binary.LittleEndian.AppendUint64(data, 1)
	data = binary.LittleEndian.AppendUint64(data, uint64(root))
	for _, pattern := range []string{"[ab]*c", ".*", "[ab]*"} {
		filter, err := compiled(automaton.Regexp(pattern, 10_000))
		if err != nil {
			t.Fatal(err)
		}
		within(t, time.Minute, pattern, func() {
			var w fstWalker
			err := w.reset(data, nil, filter, 1000)
			n := 0
			for ok := true; ok && err == nil; n++ {
				_, _, ok, err = w.next()
			}
			if !errors.Is(err, base.ErrCorrupt) || n > 1001 {
				t.Errorf("%s: error %v after %d keys", pattern, err, n)
			}
		})
	}
}

func compiled(p *automaton.Pattern, err error) (vellum.Automaton, error) {
	if err != nil {
		return nil, err
	}
	return p.Automaton(), nil
}
