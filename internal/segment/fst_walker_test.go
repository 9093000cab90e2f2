package segment

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"github.com/blevesearch/vellum"

	"github.com/griffin-search/griffin/internal/base"
)

// walkLikeVellum compares the keys and values of a transducer with vellum's.
func walkLikeVellum(t *testing.T, data []byte) {
	t.Helper()
	fst, err := vellum.Load(data)
	if err != nil {
		t.Fatal(err)
	}
	var w fstWalker
	if err := w.reset(data, nil, nil, 0); err != nil {
		t.Fatal(err)
	}
	it, err := fst.Iterator(nil, nil)
	n := 0
	for ; err == nil; err = it.Next() {
		wantKey, wantValue := it.Current()
		key, value, ok, err := w.next()
		if !ok || err != nil || !bytes.Equal(key, wantKey) || value != wantValue {
			t.Fatalf("key %d: %q, %d, %t, error %v, want %q, %d", n, key, value, ok, err, wantKey, wantValue)
		}
		n++
	}
	if !errors.Is(err, vellum.ErrIteratorDone) {
		t.Fatal(err)
	}
	if key, _, ok, err := w.next(); ok || err != nil {
		t.Fatalf("key %q after %d keys, error %v", key, n, err)
	}
}

func TestFSTWalkEnds(t *testing.T) {
	for _, keys := range [][]string{{}, {""}, {"", "a"}, {"a"}, {"\x00", "\x00\x00", "\xff"}} {
		var out bytes.Buffer
		v, err := vellum.New(&out, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i, key := range keys {
			if err := v.Insert([]byte(key), uint64(7*i+3)); err != nil {
				t.Fatal(err)
			}
		}
		if err := v.Close(); err != nil {
			t.Fatal(err)
		}
		t.Run(fmt.Sprintf("%q", keys), func(t *testing.T) { walkLikeVellum(t, out.Bytes()) })
	}
}

// A walk through damaged data ends, with an error, a panic, or wrong keys, and no key more often than its states allow.
func TestFSTWalkOfDamage(t *testing.T) {
	b := newFSTBuilder()
	b.reset()
	for i := range 200 {
		if err := b.insert(fmt.Appendf(nil, "key%04d", i), uint64(i*i)); err != nil {
			t.Fatal(err)
		}
	}
	data := bytes.Clone(b.finish())
	failed := 0
	for at := range data {
		for _, flip := range []byte{1, 0x10, 0x80, 0xff} {
			damaged := bytes.Clone(data)
			damaged[at] ^= flip
			if err := walkAll(damaged); err != nil {
				failed++
				if !errors.Is(err, base.ErrCorrupt) {
					t.Fatalf("byte %d: error %v", at, err)
				}
			}
		}
	}
	if failed == 0 {
		t.Error("no damage was found")
	}
}

// Each of 2^64 paths leads to a state without a key.
func TestFSTWalkOfDeadEnds(t *testing.T) {
	data := append(make([]byte, fstHeader), 0, 0, 0) // sizes, count and header of no transitions, not final
	for range 64 {
		data = append(data, 1, 1, 'b', 'a', 1<<4, 2) // both to the state before
	}
	root := len(data) - 1
	data = binary.LittleEndian.AppendUint64(data, 1)
	data = binary.LittleEndian.AppendUint64(data, uint64(root))
	if err := walkAll(data); !errors.Is(err, base.ErrCorrupt) {
		t.Errorf("error %v", err)
	}
}

// A path is not longer than a term, so that damage takes little memory.
func TestFSTWalkOfLongKeys(t *testing.T) {
	for _, extra := range []int{0, 1 << 18} {
		b := newFSTBuilder()
		b.reset()
		if err := b.insert(bytes.Repeat([]byte("e"), maxTermLen+extra), 7); err != nil {
			t.Fatal(err)
		}
		data := bytes.Clone(b.finish())
		if extra == 0 {
			walkLikeVellum(t, data)
		} else if err := walkAll(data); !errors.Is(err, base.ErrCorrupt) {
			t.Errorf("%d bytes more: error %v", extra, err)
		}
	}
}

func walkAll(data []byte) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v: %w", r, base.ErrCorrupt)
		}
	}()
	var w fstWalker
	if err := w.reset(data, nil, nil, 0); err != nil {
		return err
	}
	for range 1 << 16 {
		if _, _, ok, err := w.next(); !ok || err != nil {
			return err
		}
	}
	return nil
}

// BenchmarkFSTWalk reports the time for a key.
func BenchmarkFSTWalk(b *testing.B) {
	builder := newFSTBuilder()
	builder.reset()
	const n = 60_000
	for i := range n {
		if err := builder.insert(fmt.Appendf(nil, "%07dword", i*7), uint64(i*9)); err != nil {
			b.Fatal(err)
		}
	}
	data := bytes.Clone(builder.finish())
	fst, err := vellum.Load(data)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("vellum", func(b *testing.B) {
		for b.Loop() {
			it, err := fst.Iterator(nil, nil)
			for ; err == nil; err = it.Next() {
				it.Current()
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/key")
	})
	b.Run("walker", func(b *testing.B) {
		var w fstWalker
		for b.Loop() {
			if err := w.reset(data, nil, nil, 0); err != nil {
				b.Fatal(err)
			}
			for ok := true; ok; {
				if _, _, ok, err = w.next(); err != nil {
					b.Fatal(err)
				}
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/key")
	})
}
