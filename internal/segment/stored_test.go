package segment_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

func TestStoredRoundTrip(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	mem := vfstest.NewMem()
	w, err := segment.NewStoredWriter(mem, "stored")
	if err != nil {
		t.Fatal(err)
	}
	texts := make([]string, 500)
	for i := range texts {
		size := rng.IntN(100)
		switch rng.IntN(20) {
		case 0:
			size = 0
		case 1:
			size = 20000
		case 2:
			size = 300000
		}
		texts[i] = strings.Repeat(fmt.Sprintf("word%d ", rng.IntN(1000)), size/6)
		if err := w.Add("t", texts[i], []corpus.Field{{Name: "n", Value: fmt.Sprint(i)}}); err != nil {
			t.Fatal(err)
		}
	}
	if w.NumDocs() != len(texts) {
		t.Errorf("writer has %d documents", w.NumDocs())
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := segment.OpenStored(mem, "stored")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(2, uint64(g)))
			var d segment.StoredDoc
			for range 500 {
				i := rng.IntN(len(texts))
				if err := r.Get(base.DocID(i), &d); err != nil {
					t.Error(err)
				} else if string(d.Text) != texts[i] || len(d.Extra) != 1 || string(d.Extra[0].Value) != fmt.Sprint(i) {
					t.Errorf("document %d differs", i)
				}
			}
		})
	}
	wg.Wait()
	if err := r.Get(base.DocID(len(texts)), new(segment.StoredDoc)); !errors.Is(err, base.ErrBadInput) {
		t.Errorf("document past the end: %v", err)
	}
}

func TestStoredWriterRefusesTooManyFields(t *testing.T) {
	mem := vfstest.NewMem()
	w, err := segment.NewStoredWriter(mem, "stored")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Add("", "", make([]corpus.Field, corpus.MaxFields+1)); !errors.Is(err, base.ErrBadInput) {
		t.Errorf("error is %v", err)
	}
	if err := errors.Join(w.Abort(), w.Abort()); err != nil || len(mem.Names()) != 0 {
		t.Errorf("Abort: %v, files %q", err, mem.Names())
	}
}

func TestBitmap(t *testing.T) {
	var none *segment.Bitmap
	if none.Has(3) || none.Len() != 0 || none.Count() != 0 || none.Words() != nil || none.Clone() != nil {
		t.Error("a nil Bitmap is not empty")
	}
	for _, n := range []int{0, 1, 63, 64, 65, 1000} {
		rng := rand.New(rand.NewPCG(3, uint64(n)))
		b := segment.NewBitmap(n)
		want := map[int]bool{}
		for range n / 2 {
			i := rng.IntN(n)
			if b.Set(i) == want[i] {
				t.Fatalf("Set(%d) says %v", i, !want[i])
			}
			want[i] = true
		}
		decoded, err := segment.DecodeBitmap(b.AppendTo(nil))
		if err != nil {
			t.Fatal(err)
		}
		members := b.Members()
		if len(members) != len(want) || b.Complement().Count() != n-len(want) || b.Minus(b).Count() != 0 {
			t.Fatalf("%d members of %d, %d others", len(members), len(want), b.Complement().Count())
		}
		for i, doc := range members {
			if !want[int(doc)] || i > 0 && doc <= members[i-1] {
				t.Fatalf("member %d", doc)
			}
		}
		for _, c := range []*segment.Bitmap{b, decoded, b.Clone(), b.Complement().Complement(), b.Minus(segment.NewBitmap(n))} {
			if c.Len() != n || c.Count() != len(want) {
				t.Fatalf("%d of %d, want %d of %d", c.Count(), c.Len(), len(want), n)
			}
			for i := range n + 64 {
				if c.Has(i) != want[i] {
					t.Fatalf("Has(%d) = %v", i, !want[i])
				}
			}
		}
	}
}
