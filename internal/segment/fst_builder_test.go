package segment

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/blevesearch/vellum"

	"github.com/griffin-search/griffin/internal/base"
)

// The bytes are the ones of vellum's Builder.
func TestFSTLikeVellum(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	b := newFSTBuilder() // is used again
	for _, c := range []struct {
		name             string
		keys, alphabet   int
		maxLen           int
		maxStep, ordered uint64 // of values
	}{
		{"one", 1, 256, 8, 10, 1},
		{"few", 50, 3, 6, 1000, 1},
		{"any order of values", 2000, 4, 8, 1 << 40, 0},
		{"equal values", 2000, 4, 8, 0, 1},
		{"all bytes", 3000, 256, 3, 20, 1},
		{"long", 300, 2, 300, 1 << 20, 1},
		{"many", 60_000, 26, 12, 30, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			set := map[string]bool{}
			for range c.keys {
				key := make([]byte, 1+rng.IntN(c.maxLen))
				for i := range key {
					key[i] = byte(rng.IntN(c.alphabet))
					if c.alphabet == 26 { // as in words
						key[i] = byte('a' + min(rng.IntN(26), rng.IntN(26)))
					}
				}
				set[string(key)] = true
				if rng.IntN(3) == 0 && c.maxLen > 4 {
					set[string(key)+"ing"] = true
				}
			}
			var want bytes.Buffer
			v, err := vellum.New(&want, nil)
			if err != nil {
				t.Fatal(err)
			}
			b.reset()
			value := uint64(0)
			for _, key := range slices.Sorted(maps.Keys(set)) {
				if c.maxStep > 0 {
					value = value*c.ordered + rng.Uint64N(c.maxStep)
				}
				if err := errors.Join(v.Insert([]byte(key), value), b.insert([]byte(key), value)); err != nil {
					t.Fatal(err)
				}
			}
			if err := v.Close(); err != nil {
				t.Fatal(err)
			}
			if got := b.finish(); !bytes.Equal(got, want.Bytes()) {
				t.Fatalf("%d keys: %d bytes that differ from vellum's %d", len(set), len(got), want.Len())
			}
			walkLikeVellum(t, want.Bytes())
		})
	}
}

// States of one, 63, 64 and 256 transitions have different headers.
func TestFSTBranches(t *testing.T) {
	for _, n := range []int{1, 2, 62, 63, 64, 65, 255, 256} {
		for _, final := range []bool{false, true} {
			var want bytes.Buffer
			v, err := vellum.New(&want, nil)
			if err != nil {
				t.Fatal(err)
			}
			b := newFSTBuilder()
			add := func(key string, value uint64) {
				if err := errors.Join(v.Insert([]byte(key), value), b.insert([]byte(key), value)); err != nil {
					t.Fatal(err)
				}
			}
			for _, start := range []string{"a", "b"} { // the second state equals the first one
				if final {
					add(start, 7)
				}
				for i := range n {
					add(start+string([]byte{byte(i)}), 9)
				}
			}
			if err := v.Close(); err != nil {
				t.Fatal(err)
			}
			if got := b.finish(); !bytes.Equal(got, want.Bytes()) {
				t.Errorf("%d transitions, final %t: other bytes than vellum's", n, final)
			}
		}
	}
}

func TestFSTOrder(t *testing.T) {
	for _, second := range []string{"b", "a", "ba"} {
		b := newFSTBuilder()
		if err := errors.Join(b.insert([]byte("bb"), 1), b.insert([]byte("bb"+second), 2)); err != nil {
			t.Fatal(err)
		}
		if err := b.insert([]byte(second), 3); !errors.Is(err, base.ErrBadInput) {
			t.Errorf("%q after %q: error %v", second, "bb"+second, err)
		}
	}
}

func BenchmarkFST(b *testing.B) {
	rng := rand.New(rand.NewPCG(6, 6))
	set := map[string]bool{}
	for len(set) < 60_000 {
		word := ""
		for range 1 + rng.IntN(4) {
			word += []string{"an", "ber", "ca", "do", "est", "fo", "ga", "hi", "in", "ka", "lo", "men", "no", "ra", "s", "tion"}[rng.IntN(16)]
		}
		set[word+fmt.Sprint(rng.IntN(100))[:rng.IntN(2)]] = true
	}
	keys := make([][]byte, 0, len(set))
	for _, key := range slices.Sorted(maps.Keys(set)) {
		keys = append(keys, []byte(key))
	}
	b.Run("builder=griffin", func(b *testing.B) {
		f := newFSTBuilder()
		for b.Loop() {
			f.reset()
			for i, key := range keys {
				if err := f.insert(key, uint64(17*i)); err != nil {
					b.Fatal(err)
				}
			}
			f.finish()
		}
	})
	b.Run("builder=vellum", func(b *testing.B) {
		var out bytes.Buffer
		v, err := vellum.New(&out, nil)
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			out.Reset()
			if err := v.Reset(&out); err != nil {
				b.Fatal(err)
			}
			for i, key := range keys {
				if err := v.Insert(key, uint64(17*i)); err != nil {
					b.Fatal(err)
				}
			}
			if err := v.Close(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
