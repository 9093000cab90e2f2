package column_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/column"
	"github.com/griffin-search/griffin/internal/vfs"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

// merging is a merge of random sources, and what writing the kept documents gives.
type merging struct {
	inputs []column.Input
	order  [][2]int // (input, document) of each new document
	want   []byte
	kind   column.Kind
}

func (m *merging) docs() iter.Seq2[int, base.DocID] {
	return func(yield func(int, base.DocID) bool) {
		for _, d := range m.order {
			if !yield(d[0], base.DocID(d[1])) {
				return
			}
		}
	}
}

func randomMerge(t *testing.T, rng *rand.Rand) *merging {
	m := &merging{kind: column.Kind(1 + rng.IntN(2))}
	var numbers [][]int64
	var strs [][]string
	var all [][][]int64
	var allStrs [][][]string
	for i := range 1 + rng.IntN(5) {
		n := 1 + rng.IntN(800)
		docs, texts := randomNumbers(rng, n), randomStrings(rng, n)
		all, allStrs = append(all, docs), append(allStrs, texts)
		in := column.Input{}
		if rng.IntN(6) > 0 {
			s := open(t, encode(t, n, func(w *column.Writer) error {
				if m.kind == column.Numbers {
					return writeNumbers(w, "c", docs)
				}
				return writeOrdinals(w, "c", texts)
			}), n)
			in.Column, _ = s.Column("c")
		} else {
			all[i], allStrs[i] = make([][]int64, n), make([][]string, n)
		}
		if rng.IntN(2) == 0 {
			in.Kept = randomWords(rng, n)
		}
		for doc := range n {
			if has(in.Kept, doc) {
				m.order = append(m.order, [2]int{i, doc})
			}
		}
		m.inputs = append(m.inputs, in)
	}
	if rng.IntN(2) == 0 {
		rng.Shuffle(len(m.order), func(i, j int) { m.order[i], m.order[j] = m.order[j], m.order[i] })
	}
	for _, d := range m.order {
		numbers, strs = append(numbers, all[d[0]][d[1]]), append(strs, allStrs[d[0]][d[1]])
	}
	m.want = encode(t, len(m.order), func(w *column.Writer) error {
		if m.kind == column.Numbers {
			return writeNumbers(w, "c", numbers)
		}
		return writeOrdinals(w, "c", strs)
	})
	return m
}

func TestMerge(t *testing.T) {
	n := 60
	if rounds() > 100 {
		n = 1000
	}
	for seed := range n {
		rng := rand.New(rand.NewPCG(5, uint64(seed)))
		m := randomMerge(t, rng)
		disk := vfstest.NewDisk()
		for _, budget := range []int64{0, 1, 1000} {
			var buf bytes.Buffer
			w := column.NewWriter(&buf, len(m.order), column.Temp{FS: disk, BudgetBytes: budget})
			err := w.Merge(t.Context(), "c", m.inputs, m.docs())
			if err == nil {
				err = w.Close()
			}
			if err != nil || !bytes.Equal(buf.Bytes(), m.want) {
				t.Fatalf("seed %d, budget %d: %v; %d bytes, want %d", seed, budget, err, buf.Len(), len(m.want))
			}
			if names := disk.Names(); len(names) > 0 || disk.NumOpen() > 0 {
				t.Fatalf("seed %d: files %q are left, %d open", seed, names, disk.NumOpen())
			}
		}
	}
}

func TestMergeFails(t *testing.T) {
	one := open(t, encode(t, 1, func(w *column.Writer) error { return writeNumbers(w, "c", [][]int64{{1}}) }), 1)
	two := open(t, encode(t, 1, func(w *column.Writer) error { return writeOrdinals(w, "c", [][]string{{"x"}}) }), 1)
	n, _ := one.Column("c")
	o, _ := two.Column("c")
	docs := func(yield func(int, base.DocID) bool) { _ = yield(0, 0) && yield(1, 0) }
	w := column.NewWriter(discard{}, 2, column.Temp{})
	if err := w.Merge(t.Context(), "c", []column.Input{{Column: n}, {Column: o}}, docs); !errors.Is(err, base.ErrBadInput) {
		t.Errorf("two kinds: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w = column.NewWriter(discard{}, 2, column.Temp{})
	if err := w.Merge(ctx, "c", []column.Input{{Column: n}, {Column: n}}, docs); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if err := one.Verify(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("verify cancelled: %v", err)
	}
	w = column.NewWriter(discard{}, 2, column.Temp{})
	if err := w.Merge(t.Context(), "c", []column.Input{{}, {}}, docs); err != nil || w.Columns() != 0 {
		t.Errorf("no column: %v, %d columns", err, w.Columns())
	}
}

// What exceeds the budget goes through files, with the same result.
func TestOrdinalsInFiles(t *testing.T) {
	for seed := range 30 {
		rng := rand.New(rand.NewPCG(6, uint64(seed)))
		numDocs := docCounts[seed%10]
		docs := randomStrings(rng, numDocs)
		want := encode(t, numDocs, func(w *column.Writer) error { return writeOrdinals(w, "o", docs) })
		for _, budget := range []int64{1, 500, 5000} {
			disk := vfstest.NewDisk()
			got, err := spilled(disk, budget, docs)
			if err != nil || !bytes.Equal(got, want) {
				t.Fatalf("seed %d, budget %d: %v; %d bytes, want %d", seed, budget, err, len(got), len(want))
			}
			if names := disk.Names(); len(names) > 0 || disk.NumOpen() > 0 {
				t.Fatalf("files %q are left, %d open", names, disk.NumOpen())
			}
		}
	}
}

func spilled(fs vfs.FS, budget int64, docs [][]string) ([]byte, error) {
	var buf bytes.Buffer
	w := column.NewWriter(&buf, len(docs), column.Temp{FS: fs, BudgetBytes: budget})
	if err := writeOrdinals(w, "o", docs); err != nil {
		return nil, err
	}
	err := w.Close()
	return buf.Bytes(), err
}

// Each operation of the file system fails once: the error arrives, and nothing stays open.
func TestTemporaryFilesFail(t *testing.T) {
	var docs [][]string
	for i := range 60 {
		docs = append(docs, []string{fmt.Sprint(i % 17), fmt.Sprint(i)})
	}
	counted := vfstest.NewFaulty(vfstest.NewMem(), vfstest.Plan{})
	if _, err := spilled(counted, 1000, docs); err != nil {
		t.Fatal(err)
	}
	if counted.Ops() < 10 {
		t.Fatalf("%d operations", counted.Ops())
	}
	for op := 1; op <= counted.Ops(); op++ {
		fs := vfstest.NewFaulty(vfstest.NewMem(), vfstest.Plan{FailAt: op, Once: true})
		if _, err := spilled(fs, 1000, docs); !errors.Is(err, vfstest.ErrInjected) {
			t.Errorf("operation %d, %s: error %v", op, counted.Operations()[op-1], err)
		}
		if names := fs.StillOpen(); len(names) > 0 {
			t.Errorf("operation %d, %s: %q are open", op, counted.Operations()[op-1], names)
		}
	}
}
