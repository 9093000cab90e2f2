package segment

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

func listAt(id uint64, docFreq uint32) *postings.List {
	l := new(postings.List)
	l.FrontierOffset, l.DocFreq = id, docFreq
	return l
}

// Deletions of several commits add up, list by list, for ids that are near, far and random.
func TestDeletionsOfLists(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	want := map[uint64]uint32{}
	var d *Deletions
	for range 4 {
		docs := NewBitmap(1000)
		for docs.Count() < 20 {
			if doc := rng.IntN(1000); d == nil || d.Live().Has(doc) {
				docs.Set(doc)
			}
		}
		counts := &ListCounts{fields: make([]FieldDeletions, 2)}
		seen := map[uint64]bool{}
		for range 5000 {
			id := rng.Uint64N(20_000)
			if rng.IntN(3) == 0 {
				id = rng.Uint64()
			}
			if seen[id] {
				continue
			}
			seen[id] = true
			n := 1 + rng.Uint32N(5)
			counts.Add(base.FieldID(id%2), listAt(id, 100), n)
			want[id] += n
		}
		counts.AddTokens(1, 7)
		before := d
		if d = d.With(docs, counts); before != nil && before.Live().Count() != d.Live().Count()+20 {
			t.Fatalf("%d live documents after %d", d.Live().Count(), before.Live().Count())
		}
	}
	mem := vfstest.NewMem()
	sum, err := d.Save(mem, "d")
	if err != nil {
		t.Fatal(err)
	}
	s := &Segment{meta: Meta{NumDocs: 1000, Fields: make([]FieldMeta, 2)}}
	loaded, err := s.LoadDeletions(mem, "d", sum)
	if err != nil {
		t.Fatal(err)
	}
	var postings uint64
	for id, n := range want {
		postings += uint64(n)
		if got := loaded.DocFreq(listAt(id, 100)); got != uint64(100-n) {
			t.Fatalf("list %d: %d live documents of 100, want %d", id, got, 100-n)
		}
	}
	for range 20_000 {
		if id := rng.Uint64(); want[id] == 0 && loaded.DocFreq(listAt(id, 9)) != 9 {
			t.Fatalf("list %d has deleted documents", id)
		}
	}
	if a, b := loaded.Field(0), loaded.Field(1); a.Postings+b.Postings != postings || a.Tokens != 0 || b.Tokens != 4*7 {
		t.Errorf("fields %+v, %+v, want %d postings", a, b, postings)
	}
	if l := listAt(3, 100); (*Deletions)(nil).DocFreq(l) != 100 || testing.AllocsPerRun(10, func() { loaded.DocFreq(l) }) != 0 {
		t.Error("no deletions, or an allocation")
	}
	if _, err := s.LoadDeletions(mem, "d", sum+1); !errors.Is(err, base.ErrCorrupt) {
		t.Errorf("another checksum: %v", err)
	}
	s.meta.NumDocs = 1001
	if _, err := s.LoadDeletions(mem, "d", sum); !errors.Is(err, base.ErrCorrupt) {
		t.Errorf("another segment: %v", err)
	}
}

// Payloads that are cut or lengthened, and entries out of order, are damage.
func TestDecodeDamagedDeletions(t *testing.T) {
	docs := NewBitmap(100)
	docs.Set(3)
	counts := &ListCounts{fields: make([]FieldDeletions, 2)}
	counts.Add(0, listAt(1, 5), 1)
	counts.Add(1, listAt(2, 5), 1)
	whole := (*Deletions)(nil).With(docs, counts).append(nil)
	if _, err := decodeDeletions(whole, 2); err != nil {
		t.Fatal(err)
	}
	for n := range whole {
		if _, err := decodeDeletions(whole[:n], 2); !errors.Is(err, base.ErrCorrupt) {
			t.Errorf("%d of %d bytes: %v", n, len(whole), err)
		}
	}
	last := whole[len(whole)-2*listCountBytes:]
	for name, damaged := range map[string][]byte{
		"longer":       append(whole[:len(whole):len(whole)], make([]byte, listCountBytes)...),
		"out of order": append(append(whole[:len(whole)-2*listCountBytes:len(whole)-2*listCountBytes], last[listCountBytes:]...), last[:listCountBytes]...),
	} {
		if _, err := decodeDeletions(damaged, 2); !errors.Is(err, base.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := decodeDeletions(whole, 3); !errors.Is(err, base.ErrCorrupt) {
		t.Errorf("another number of fields: %v", err)
	}
}
