package segment

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/blevesearch/vellum"

	"github.com/griffin-search/griffin/internal/automaton"
)

// extremes returns all keys of up to n bytes that are the least, the greatest, or between.
func extremes(n int) []string {
	keys := []string{""}
	for from := 0; n > 0; n-- {
		to := len(keys)
		for _, key := range keys[from:to] {
			for _, last := range []byte{0, 'a', 0xfe, 0xff} {
				keys = append(keys, key+string([]byte{last}))
			}
		}
		from = to
	}
	slices.Sort(keys)
	return keys
}

// TestFSTSearchOfExtremes compares iterations over sets of keys with vellum's and with a list: from each start, below
// the first key, between keys and beyond the last. The keys include the empty one and runs of bytes 0xff.
func TestFSTSearchOfExtremes(t *testing.T) {
	all := extremes(3)
	starts := append(extremes(3), "\xff\xff\xff\xff", "\xff\xff\xff\x00", "a\xff\xff\xff\xff")
	found, none := 0, 0
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 11))
		share := 1 + rng.IntN(len(all))
		var keys []string
		var built bytes.Buffer
		b, err := vellum.New(&built, nil) // takes the empty key
		if err != nil {
			t.Fatal(err)
		}
		for i, key := range all {
			if key == "" && seed%2 == 0 || key != "" && rng.IntN(share) > 0 {
				continue
			}
			if err := b.Insert([]byte(key), uint64(rng.IntN(1+i*i))); err != nil {
				t.Fatal(err)
			}
			keys = append(keys, key)
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		data := built.Bytes()
		fst, err := vellum.Load(data)
		if err != nil {
			t.Fatal(err)
		}
		similar := automaton.NewSimilar("a", 1, 0, true)
		for _, start := range starts {
			for _, filter := range []vellum.Automaton{nil, similar} {
				describe := fmt.Sprintf("seed %d, start %q, filter %t", seed, start, filter != nil)
				var w fstWalker
				if err := w.reset(data, []byte(start), filter, uint64(len(keys))); err != nil {
					t.Fatalf("%s: %v", describe, err)
				}
				var it *vellum.FSTIterator
				if filter == nil {
					it, err = fst.Iterator([]byte(start), nil)
				} else {
					it, err = fst.Search(filter, []byte(start), nil)
				}
				at, _ := slices.BinarySearch(keys, start)
				n := 0
				for ; err == nil; err = it.Next() {
					wantKey, wantValue := it.Current()
					key, value, ok, err := w.next()
					if !ok || err != nil || !bytes.Equal(key, wantKey) || value != wantValue {
						t.Fatalf("%s: %q, %d, %t, error %v, want %q, %d", describe, key, value, ok, err, wantKey, wantValue)
					}
					if filter == nil && string(key) != keys[at+n] {
						t.Fatalf("%s: %q, want %q", describe, key, keys[at+n])
					}
					n++
				}
				if !errors.Is(err, vellum.ErrIteratorDone) {
					t.Fatal(err)
				}
				if filter == nil && n != len(keys)-at {
					t.Fatalf("%s: %d keys, want %d", describe, n, len(keys)-at)
				}
				for range 2 {
					if key, _, ok, err := w.next(); ok || err != nil {
						t.Fatalf("%s: %q after the last one, error %v", describe, key, err)
					}
				}
				if found += n; n == 0 {
					none++
				}
			}
		}
	}
	if found < 10_000 || none < 100 {
		t.Errorf("%d keys were compared, %d iterations had none", found, none)
	}
}
