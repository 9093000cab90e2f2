package segment

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

// Goroutines that read documents of several files in any order get the documents of these files.
func TestStoredBlocksShared(t *testing.T) {
	const files, docs = 3, 400
	text := func(file, doc int) string {
		return fmt.Sprintf("file %d, document %d, %s", file, doc, bytes.Repeat([]byte{'x'}, doc))
	}
	var readers []*StoredReader
	for file := range files {
		mem := vfstest.NewMem()
		w, err := NewStoredWriter(mem, "stored")
		if err != nil {
			t.Fatal(err)
		}
		for doc := range docs {
			if err := w.Add("", text(file, doc), nil); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		r, err := OpenStored(mem, "stored")
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		readers = append(readers, r)
	}
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			rng := rand.New(rand.NewPCG(1, uint64(g)))
			var d StoredDoc
			file, doc := 0, 0
			for range 20_000 {
				switch rng.IntN(4) {
				case 0:
					file, doc = rng.IntN(files), rng.IntN(docs)
				case 1: // the same document again, perhaps of another file
					file = rng.IntN(files)
				default:
					doc = (doc + 1) % docs
				}
				if err := readers[file].Get(base.DocID(doc), &d); err != nil || string(d.Text) != text(file, doc) {
					t.Errorf("file %d, document %d: %q, %v", file, doc, d.Text, err)
					return
				}
			}
		})
	}
	all.Wait()
}

// A block is kept when it is asked for again, and not when its slot was asked for another meanwhile.
func TestBlockCache(t *testing.T) {
	var c blockCache
	raw := []byte("block")
	other := 1
	for hashBlock(9, other)%uint64(len(c.slots)) != hashBlock(9, 0)%uint64(len(c.slots)) {
		other++
	}
	ask := func(number int) (found bool) {
		if c.find(9, number) != nil {
			return true
		}
		c.offer(9, number, raw)
		return false
	}
	for i, step := range []struct {
		number int
		found  bool
	}{{0, false}, {other, false}, {0, false}, {0, false}, {0, true}, {other, false}, {0, true}, {other, false}, {other, true}, {0, false}} {
		if found := ask(step.number); found != step.found {
			t.Errorf("step %d: found: %t", i, found)
		}
	}
	raw[0] = 'B'
	if got := c.find(9, other); string(got) != "block" {
		t.Errorf("kept %q", got)
	}
	for range 3 {
		c.offer(1, 1, make([]byte, maxKeptBlock+1))
	}
	if c.find(1, 1) != nil || c.find(8, other) != nil {
		t.Error("found a large block, or one of another reader")
	}
}
