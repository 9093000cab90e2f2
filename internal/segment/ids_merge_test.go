package segment

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/sampletest"
	"github.com/griffin-search/griffin/internal/score"
	"github.com/griffin-search/griffin/internal/sealed"
	"github.com/griffin-search/griffin/internal/turns"
	"github.com/griffin-search/griffin/internal/vfs"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

// manySource has documents from first on, with a version and one word each.
type manySource struct {
	first, n int
	lengths  []uint32
	id       []byte
}

func newManySource(first, n int) *manySource {
	return &manySource{first: first, n: n, lengths: slices.Repeat([]uint32{1}, n), id: make([]byte, 4)}
}

func (s *manySource) NumDocs() int                   { return s.n }
func (s *manySource) Dropped() *Bitmap               { return nil }
func (s *manySource) Lengths(base.FieldID) []uint32  { return s.lengths }
func (s *manySource) Order() ([]uint32, error)       { return nil, nil }
func (s *manySource) Stored() (*StoredReader, error) { return nil, nil }
func (s *manySource) HasVersions() bool              { return true }
func (s *manySource) Version(doc int) Version        { return Version{Seq: uint64(s.first + doc), Number: 1} }
func (s *manySource) Lists() (ListIterator, error)   { return &manyList{s: s}, nil }

func (s *manySource) ID(doc int) []byte {
	binary.LittleEndian.PutUint32(s.id, uint32(s.first+doc))
	return s.id
}

// manyList is one list, of all documents.
type manyList struct {
	s    *manySource
	done bool
	next int
}

func (l *manyList) Next() bool          { done := l.done; l.done = true; return !done }
func (l *manyList) Field() base.FieldID { return 0 }
func (l *manyList) Term() []byte        { return []byte("word") }
func (l *manyList) DocFreq() int        { return l.s.n }
func (l *manyList) Err() error          { return nil }
func (l *manyList) Close() error        { return nil }

func (l *manyList) ReadBlock(b *PostingBlock) error {
	b.N = min(len(b.DocIDs), l.s.n-l.next)
	for i := range b.N {
		b.DocIDs[i], b.Freqs[i] = uint32(l.next+i), 1
	}
	l.next += b.N
	return nil
}

var manyOptions = Options{Fields: []string{""}, Codec: "simdbp", BM25: score.DefaultBM25, Threads: 1}

func writeMany(t *testing.T, fs vfs.FS, dir string, opts Options, sources ...Source) *Segment {
	t.Helper()
	if _, err := Write(t.Context(), fs, dir, opts, sources, nil); err != nil {
		t.Fatal(err)
	}
	s, err := Open(fs, dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// plainSource hides a segment's methods besides Source's.
type plainSource struct{ Source }

// The merged hash table equals the one that is made from the ids, also when documents are dropped.
func TestMergedHashTable(t *testing.T) {
	rng := rand.New(rand.NewPCG(18, 1))
	for range 40 {
		mem := vfstest.NewMem()
		var merged, plain []Source
		first := 0
		for i := range 1 + rng.IntN(12) {
			n := 1 + rng.IntN(300)
			s := writeMany(t, mem, string(rune('a'+i)), manyOptions, newManySource(first, n))
			first += n
			var drop *Bitmap
			if rng.IntN(2) == 0 {
				drop = NewBitmap(n)
				for range rng.IntN(2 * n) {
					drop.Set(rng.IntN(n))
				}
			}
			for _, list := range []*[]Source{&merged, &plain} {
				src, err := s.Source(drop)
				if err != nil {
					t.Fatal(err)
				}
				*list = append(*list, src)
			}
			plain[i] = plainSource{plain[i]}
		}
		opts := manyOptions
		opts.Turns = turns.New(1) // one goroutine after another
		got := writeMany(t, mem, "merged", opts, merged...)
		want := writeMany(t, mem, "plain", manyOptions, plain...)
		if !slices.Equal(got.ids.file.Bytes(), want.ids.file.Bytes()) {
			t.Fatalf("%d sources: ids differ", len(merged))
		}
		if !slices.Equal(got.Lengths(0), want.Lengths(0)) {
			t.Fatalf("%d sources: lengths differ", len(merged))
		}
		if err := got.Verify(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
}

// A merge waits for a search between its pieces, and is done although the search never ends.
func TestMergeBehindSearch(t *testing.T) {
	mem := vfstest.NewMem()
	var sources []Source
	for i := range 3 {
		src, err := writeMany(t, mem, string(rune('a'+i)), manyOptions, newManySource(100*i, 100)).Source(nil)
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, src)
	}
	synctest.Test(t, func(t *testing.T) {
		gate := turns.NewGate()
		opts := manyOptions
		opts.Turns = turns.NewBehind(2, gate)
		began := time.Now()
		writeMany(t, mem, "alone", opts, sources...)
		if took := time.Since(began); took != 0 {
			t.Errorf("alone: %v", took)
		}
		gate.Enter()
		defer gate.Leave()
		writeMany(t, mem, "beside", opts, sources...)
		if took := time.Since(began); took < 10*time.Millisecond {
			t.Errorf("beside a search: %v", took)
		}
	})
}

// Tables that contradict their documents end a merge.
func TestMergeDamagedTables(t *testing.T) {
	entry := func(hash uint64, doc uint32) []byte {
		return binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint64(nil, hash), doc)
	}
	for name, tables := range map[string][2][]byte{
		"order":        {slices.Concat(entry(5, 0), entry(4, 1)), entry(1, 0)},
		"no document":  {slices.Concat(entry(4, 0), entry(5, 2)), entry(1, 0)},
		"twice":        {slices.Concat(entry(4, 1), entry(5, 1)), entry(1, 0)},
		"first entry":  {slices.Concat(entry(4, 0), entry(5, 1)), entry(1, 1)},
		"equal hashes": {slices.Concat(entry(4, 0), entry(4, 0)), entry(4, 0)},
	} {
		w := &writer{numDocs: 3, maps: []docMap{{n: 2}, {base: 2, n: 1}}}
		out, err := sealed.Create(vfstest.NewMem(), "ids", fileIDs, 1)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.mergeHashTables(t.Context(), out, tables[:]); !errors.Is(err, base.ErrCorrupt) {
			t.Errorf("%s: error %v", name, err)
		}
		_ = out.Abort()
	}
}

// keepPools fills the pools of a merge and stops the collector, which empties them. Without that, a merge allocates 0.5 MB
// for each batch that its goroutines hold at a time, and their number depends on the load of the machine.
func keepPools(t *testing.T) {
	t.Helper()
	percent := debug.SetGCPercent(-1)
	t.Cleanup(func() { debug.SetGCPercent(percent) })
	const held = 32 // more than channels and goroutines hold
	for range held {
		b, spool := &batch{}, make([]byte, 0, 1<<20)
		b.docIDs, b.freqs = make([]uint32, 0, 2*batchPostings), make([]uint32, 0, 2*batchPostings)
		freeBatches.Put(b)
		freeSpools.Put(&spool)
	}
}

// The memory of a merge grows by at most two bytes for each document.
func TestMergeMemory(t *testing.T) {
	if sampletest.Race {
		t.Skip("under the race detector a sync.Pool drops memory at random")
	}
	keepPools(t)
	allocated := func(n int) int64 {
		dir := t.TempDir()
		var sources []Source
		for i := range 2 {
			s := writeMany(t, vfs.OS, filepath.Join(dir, string(rune('a'+i))), manyOptions, newManySource(i*n, n))
			src, err := s.Source(nil)
			if err != nil {
				t.Fatal(err)
			}
			sources = append(sources, src)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		writeMany(t, vfs.OS, filepath.Join(dir, "merged"), manyOptions, sources...)
		runtime.ReadMemStats(&after)
		return int64(after.TotalAlloc - before.TotalAlloc)
	}
	const few, many, most = 50_000, 250_000, 2 * 2 * (250_000 - 50_000)
	// Goroutines that run at the same time need buffers of their own, so that one run can allocate more than another.
	leastFew, leastMany := allocated(few), allocated(many)
	for range 4 {
		if leastMany-leastFew <= most {
			return
		}
		leastFew, leastMany = min(leastFew, allocated(few)), min(leastMany, allocated(many))
	}
	t.Errorf("a merge of %d more documents allocates %d bytes more", 2*(many-few), leastMany-leastFew)
}
