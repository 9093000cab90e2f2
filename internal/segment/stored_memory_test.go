package segment

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

// Documents in memory are the bytes of a file, also in memory that was used before, and a file made of them later.
func TestStoredMemoryEqualsFile(t *testing.T) {
	mem := vfstest.NewMem()
	var w StoredWriter
	for round := range 3 {
		memory, name, later := NewStoredMemory(), fmt.Sprint("file", round), fmt.Sprint("later", round)
		w.Reset(memory)
		file, err := NewStoredWriter(mem, name)
		if err != nil {
			t.Fatal(err)
		}
		n := 5000 / (round + 1)
		text := func(i int) string { return strings.Repeat(fmt.Sprint(i, round, " "), i%7) }
		for i := range n {
			if err := errors.Join(file.Add("title", text(i), nil), w.Add("title", text(i), nil)); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(file.Close(), w.Close(), memory.Save(mem, later)); err != nil {
			t.Fatal(err)
		}
		var files [][]byte
		for _, name := range []string{name, later} {
			files = append(files, mem.Get(name))
		}
		if !bytes.Equal(files[0], files[1]) || int(memory.SizeBytes()) > len(files[0]) {
			t.Errorf("round %d: files of %d and %d bytes, %d in memory", round, len(files[0]), len(files[1]), memory.SizeBytes())
		}
		r, err := memory.Open()
		if err != nil {
			t.Fatal(err)
		}
		var d StoredDoc
		for i := 0; i < n; i += 97 {
			if err := r.Get(base.DocID(i), &d); err != nil || string(d.Text) != text(i) {
				t.Fatalf("round %d: document %d: %q, %v", round, i, d.Text, err)
			}
		}
		if err := errors.Join(r.verify(t.Context()), r.Close()); err != nil {
			t.Error(err)
		}
		memory.Free()
	}
}

// Documents in memory that are cut, or whose directory is wrong, are corrupt.
func TestStoredMemoryCorrupt(t *testing.T) {
	for _, cut := range []int{0, 1, storedTrailerLen, storedTrailerLen + storedEntryLen} {
		var m StoredMemory
		var w StoredWriter
		w.Reset(&m)
		if err := errors.Join(w.Add("", "text", nil), w.Close()); err != nil {
			t.Fatal(err)
		}
		m.payload = m.payload[cut:]
		r, err := m.Open()
		if err == nil {
			err = r.verify(t.Context())
		}
		if (err == nil) != (cut == 0) || err != nil && !errors.Is(err, base.ErrCorrupt) {
			t.Errorf("without %d bytes: %v", cut, err)
		}
	}
	m := StoredMemory{payload: make([]byte, 10)}
	for _, c := range []struct {
		offset, n uint64
		ok        bool
	}{{0, 10, true}, {10, 0, true}, {3, 7, true}, {3, 8, false}, {11, 0, false}, {1, ^uint64(0), false}} {
		b, err := m.Range(c.offset, c.n)
		if (err == nil) != c.ok || c.ok && uint64(len(b)) != c.n {
			t.Errorf("%d bytes at %d: %d, %v", c.n, c.offset, len(b), err)
		}
	}
}
