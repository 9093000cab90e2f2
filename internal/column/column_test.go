package column_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/column"
	"github.com/griffin-search/griffin/internal/simd/simdtest"
)

var docCounts = []int{1, 2, 63, 64, 65, 127, 128, 129, 1000, 1025, 3000, 16383, 16384, 16385, 40000}

func rounds() int {
	if os.Getenv("GRIFFIN_TEST_ALL") != "" {
		return 2000
	}
	return 8
}

func TestNumbers(t *testing.T) {
	simdtest.EachLevel(t, func(t *testing.T) {
		for seed := range rounds() {
			rng := rand.New(rand.NewPCG(1, uint64(seed)))
			numDocs := docCounts[seed*2%len(docCounts)]
			docs := randomNumbers(rng, numDocs)
			payload := encode(t, numDocs, func(w *column.Writer) error { return writeNumbers(w, "n", docs) })
			s := open(t, payload, numDocs)
			c, ok := s.Column("n")
			if !ok || c.Kind() != column.Numbers || c.NumTerms() != 0 {
				t.Fatalf("seed %d: no column", seed)
			}
			numbersOf(docs).check(t, rng, c)
		}
	})
}

func TestOrdinals(t *testing.T) {
	simdtest.EachLevel(t, func(t *testing.T) {
		for seed := range rounds() {
			rng := rand.New(rand.NewPCG(2, uint64(seed)))
			numDocs := docCounts[seed*2%len(docCounts)]
			docs := randomStrings(rng, numDocs)
			payload := encode(t, numDocs, func(w *column.Writer) error { return writeOrdinals(w, "o", docs) })
			s := open(t, payload, numDocs)
			c, ok := s.Column("o")
			if !ok || c.Kind() != column.Ordinals {
				t.Fatalf("seed %d: no column", seed)
			}
			ordinalsOf(docs).check(t, rng, c)
		}
	})
}

// All columns of up to three documents with up to two values of three.
func TestSmallColumns(t *testing.T) {
	lists := [][]int64{nil, {7}, {8}, {7, 8}, {8, 8}, {7, -1}}
	rng := rand.New(rand.NewPCG(3, 1))
	for numDocs := 1; numDocs <= 3; numDocs++ {
		total := 1
		for range numDocs {
			total *= len(lists)
		}
		for n := range total {
			docs := make([][]int64, numDocs)
			strs := make([][]string, numDocs)
			empty := true
			for i, rest := 0, n; i < numDocs; i, rest = i+1, rest/len(lists) {
				docs[i] = lists[rest%len(lists)]
				for _, v := range docs[i] {
					strs[i] = append(strs[i], fmt.Sprint(v))
				}
				empty = empty && len(docs[i]) == 0
			}
			s := open(t, encode(t, numDocs, func(w *column.Writer) error {
				return errors.Join(writeNumbers(w, "n", docs), writeOrdinals(w, "o", strs))
			}), numDocs)
			numbers, found := s.Column("n")
			ordinals, foundToo := s.Column("o")
			if found == empty || foundToo == empty {
				t.Fatalf("%v: found %t, %t", docs, found, foundToo)
			}
			if !empty {
				numbersOf(docs).check(t, rng, numbers)
				ordinalsOf(strs).check(t, rng, ordinals)
			}
		}
	}
}

func TestSetOfColumns(t *testing.T) {
	payload := encode(t, 5, func(w *column.Writer) error {
		return errors.Join(
			writeNumbers(w, "", [][]int64{{1}}),
			writeNumbers(w, "a", [][]int64{{2, 3}, {4}}),
			writeOrdinals(w, "b", [][]string{nil, {"x", "x"}}),
			writeNumbers(w, "empty", nil),
			writeNumbers(w, "z.long", [][]int64{{1}, {2}, {3}, {4}, {5}}),
			writeOrdinals(w, "zz", nil),
		)
	})
	s := open(t, payload, 5)
	if names := s.Names(); !slices.Equal(names, []string{"", "a", "b", "z.long"}) || s.NumDocs() != 5 {
		t.Fatalf("columns %q", names)
	}
	if _, ok := s.Column("empty"); ok {
		t.Error("a column without values")
	}
	if _, ok := (*column.Set)(nil).Column("a"); ok {
		t.Error("a column of no set")
	}
	size := int64(0)
	for _, name := range s.Names() {
		c, _ := s.Column(name)
		size += c.SizeBytes()
	}
	if size <= 0 || size > int64(len(payload)) {
		t.Errorf("columns of %d bytes in %d", size, len(payload))
	}
	var done int64
	if err := s.Verify(t.Context(), func(n int64) { done += n }); err != nil || done != int64(len(payload)) {
		t.Errorf("verified %d bytes of %d: %v", done, len(payload), err)
	}
}

func TestBadInput(t *testing.T) {
	payload := encode(t, 100, func(w *column.Writer) error {
		return errors.Join(writeNumbers(w, "n", [][]int64{{1}}), writeOrdinals(w, "o", [][]string{{"x"}}))
	})
	s := open(t, payload, 100)
	n, _ := s.Column("n")
	o, _ := s.Column("o")
	short := make([]uint64, 1)
	long := make([]byte, column.MaxTermLen+1)
	for what, f := range map[string]func() error{
		"Exists in too few words":        func() error { return n.Exists(short) },
		"Range in too few words":         func() error { return n.Range(0, 1, short) },
		"Set in too few words":           func() error { return n.Set([]int64{1}, short) },
		"Scan of too few words":          func() error { return n.Scan(short, nil) },
		"a document too far":             func() error { _, err := n.Cursor().Values(100); return err },
		"counting numbers":               func() error { _, err := n.CountOrdinals(nil, nil); return err },
		"too few counts":                 func() error { _, err := o.CountOrdinals(nil, nil); return err },
		"CountOrdinals of too few words": func() error { _, err := o.CountOrdinals(short, make([]uint32, 1)); return err },
		"a term too far":                 func() error { _, err := o.Term(1); return err },
		"a term of numbers":              func() error { _, err := n.Term(0); return err },
		"writing documents backward": func() error {
			w, _ := column.NewWriter(discard{}, 3, column.Temp{}).Numbers("n")
			return errors.Join(w.Add(1, []int64{1}), w.Add(1, []int64{1}))
		},
		"writing a document too far": func() error {
			w, _ := column.NewWriter(discard{}, 3, column.Temp{}).Numbers("n")
			return w.Add(3, []int64{1})
		},
		"writing terms backward": func() error {
			w, _ := column.NewWriter(discard{}, 3, column.Temp{}).Ordinals("n")
			return errors.Join(w.Add(1, [][]byte{{}}), w.Add(1, [][]byte{{}}))
		},
		"a long term": func() error {
			w, _ := column.NewWriter(discard{}, 3, column.Temp{}).Ordinals("n")
			return w.Add(1, [][]byte{long})
		},
		"names backward": func() error {
			w := column.NewWriter(discard{}, 3, column.Temp{})
			return errors.Join(writeNumbers(w, "b", nil), writeNumbers(w, "b", nil))
		},
		"two columns at a time": func() error {
			w := column.NewWriter(discard{}, 3, column.Temp{})
			_, err := w.Numbers("a")
			_, err2 := w.Ordinals("b")
			return errors.Join(err, err2)
		},
		"closing within a column": func() error {
			w := column.NewWriter(discard{}, 3, column.Temp{})
			_, err := w.Numbers("a")
			return errors.Join(err, w.Close())
		},
	} {
		t.Run(what, func(t *testing.T) {
			if err := f(); !errors.Is(err, base.ErrBadInput) {
				t.Errorf("error %v", err)
			}
		})
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

func TestScanEndsWithErrorOfFunction(t *testing.T) {
	failed := errors.New("failed")
	for name, docs := range map[string][][]int64{"direct": {{1}, {2}}, "multi": {{1, 2}, {3}}, "missing": {nil, {2}}} {
		t.Run(name, func(t *testing.T) {
			s := open(t, encode(t, 2, func(w *column.Writer) error { return writeNumbers(w, "n", docs) }), 2)
			c, _ := s.Column("n")
			if err := c.Scan(nil, func([]base.DocID, []int64) error { return failed }); err != failed { //nolint:errorlint // unchanged
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestKindString(t *testing.T) {
	for kind, want := range map[column.Kind]string{column.Numbers: "numbers", column.Ordinals: "ordinals", 9: "Kind(9)"} {
		t.Run(want, func(t *testing.T) {
			if got := kind.String(); got != want {
				t.Errorf("%q", got)
			}
		})
	}
}
