package column_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/column"
)

// oracle is the values of a column by document, sorted, and the terms of its ordinals.
type oracle struct {
	docs  [][]int64
	terms []string
}

func numbersOf(docs [][]int64) *oracle {
	o := &oracle{docs: make([][]int64, len(docs))}
	for i, values := range docs {
		o.docs[i] = slices.Clone(values)
		slices.Sort(o.docs[i])
	}
	return o
}

func ordinalsOf(docs [][]string) *oracle {
	o := &oracle{docs: make([][]int64, len(docs))}
	for _, values := range docs {
		o.terms = append(o.terms, values...)
	}
	slices.Sort(o.terms)
	o.terms = slices.Compact(o.terms)
	for i, values := range docs {
		for _, v := range values {
			at, _ := slices.BinarySearch(o.terms, v)
			o.docs[i] = append(o.docs[i], int64(at))
		}
		slices.Sort(o.docs[i])
		o.docs[i] = slices.Compact(o.docs[i])
	}
	return o
}

func (o *oracle) matching(words []uint64, wanted func(int64) bool) {
	for doc, values := range o.docs {
		if slices.ContainsFunc(values, wanted) {
			words[doc/64] |= 1 << (doc % 64)
		}
	}
}

func has(words []uint64, doc int) bool { return words == nil || words[doc/64]>>(doc%64)&1 != 0 }

func randomWords(rng *rand.Rand, numDocs int) []uint64 {
	words := make([]uint64, (numDocs+63)/64)
	switch rng.IntN(5) {
	case 0:
	case 1:
		for i := range words {
			words[i] = ^uint64(0)
		}
	case 2: // whole words
		for i := range words {
			words[i] = -uint64(rng.IntN(2))
		}
	case 3:
		for i := range words {
			words[i] = 1 << rng.IntN(64)
		}
	default:
		for i := range words {
			words[i] = rng.Uint64()
		}
	}
	if numDocs%64 != 0 {
		words[len(words)-1] &= 1<<(numDocs%64) - 1
	}
	return words
}

// check compares all that a column answers.
func (o *oracle) check(t *testing.T, rng *rand.Rand, c *column.Column) {
	t.Helper()
	var all []int64
	with, multi := 0, false
	for _, values := range o.docs {
		all = append(all, values...)
		multi = multi || len(values) > 1
		if len(values) > 0 {
			with++
		}
	}
	lo, hi := c.Bounds()
	if c.NumDocs() != len(o.docs) || c.NumValues() != len(all) || c.MultiValued() != multi || c.NumWith() != with || lo != slices.Min(all) || hi != slices.Max(all) {
		t.Fatalf("%d documents, %d values, multi %t, %d with, [%d, %d]; want %d, %d, %t, %d, [%d, %d]", c.NumDocs(), c.NumValues(),
			c.MultiValued(), c.NumWith(), lo, hi, len(o.docs), len(all), multi, with, slices.Min(all), slices.Max(all))
	}
	o.checkCursor(t, rng, c)
	o.checkSets(t, rng, c, all)
	o.checkScan(t, rng, c)
	if c.Kind() == column.Ordinals {
		o.checkTerms(t, rng, c)
	}
}

func (o *oracle) checkCursor(t *testing.T, rng *rand.Rand, c *column.Column) {
	t.Helper()
	x := c.Cursor()
	read := func(doc int) {
		values, err := x.Values(base.DocID(doc))
		if err != nil || !slices.Equal(values, o.docs[doc]) {
			t.Fatalf("document %d: %v, %v; want %v", doc, values, err, o.docs[doc])
		}
		v, ok, err := x.Value(base.DocID(doc))
		if err != nil || ok != (len(values) > 0) || ok && v != o.docs[doc][0] {
			t.Fatalf("document %d: %d, %t, %v; want %v", doc, v, ok, err, o.docs[doc])
		}
	}
	for doc := range o.docs {
		read(doc)
	}
	for range 200 {
		read(rng.IntN(len(o.docs)))
	}
	for doc := 0; doc < len(o.docs); doc += 1 + rng.IntN(300) {
		read(doc)
	}
}

func (o *oracle) checkSets(t *testing.T, rng *rand.Rand, c *column.Column, all []int64) {
	t.Helper()
	compare := func(what string, ask func(words []uint64) error, wanted func(int64) bool) {
		t.Helper()
		got := randomWords(rng, len(o.docs))
		want := slices.Clone(got)
		o.matching(want, wanted)
		if err := ask(got); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		for doc := range o.docs {
			if has(got, doc) != has(want, doc) {
				t.Fatalf("%s: document %d, %v: %t", what, doc, o.docs[doc], has(got, doc))
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%s: bits of other documents", what)
		}
	}
	compare("exists", c.Exists, func(int64) bool { return true })
	some := func() int64 {
		v := all[rng.IntN(len(all))]
		switch rng.IntN(4) {
		case 0:
			return v + int64(rng.IntN(5)) - 2
		case 1:
			return v + int64(rng.Uint64()>>rng.IntN(64))
		}
		return v
	}
	ranges := [][2]int64{{math.MinInt64, math.MaxInt64}, {all[0], all[0]}, {1, 0}, {math.MinInt64, some()}, {some(), math.MaxInt64}}
	for range 10 {
		a, b := some(), some()
		ranges = append(ranges, [2]int64{min(a, b), max(a, b)})
	}
	for _, r := range ranges {
		compare(fmt.Sprintf("range %v", r), func(words []uint64) error { return c.Range(r[0], r[1], words) },
			func(v int64) bool { return v >= r[0] && v <= r[1] })
	}
	for _, n := range []int{0, 1, 2, 5, 30, 400} {
		var values []int64
		for range n {
			values = append(values, some())
		}
		slices.Sort(values)
		values = slices.Compact(values)
		compare(fmt.Sprintf("set %v", values), func(words []uint64) error { return c.Set(values, words) },
			func(v int64) bool { _, found := slices.BinarySearch(values, v); return found })
	}
}

func (o *oracle) checkScan(t *testing.T, rng *rand.Rand, c *column.Column) {
	t.Helper()
	for _, words := range [][]uint64{nil, randomWords(rng, len(o.docs)), randomWords(rng, len(o.docs)), randomWords(rng, len(o.docs))} {
		got := make([][]int64, len(o.docs))
		last := -1
		if err := c.Scan(words, func(docs []base.DocID, values []int64) error {
			if len(docs) != len(values) || len(docs) == 0 {
				t.Fatalf("%d documents and %d values", len(docs), len(values))
			}
			for i, d := range docs {
				if int(d) < last {
					t.Fatalf("document %d after %d", d, last)
				}
				last = int(d)
				got[d] = append(got[d], values[i])
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		for doc, values := range got {
			var want []int64
			if has(words, doc) {
				want = o.docs[doc]
			}
			if !slices.Equal(values, want) {
				t.Fatalf("document %d: %v, want %v", doc, values, want)
			}
		}
	}
}

func (o *oracle) checkTerms(t *testing.T, rng *rand.Rand, c *column.Column) {
	t.Helper()
	if c.NumTerms() != len(o.terms) {
		t.Fatalf("%d terms, want %d", c.NumTerms(), len(o.terms))
	}
	i := 0
	for term, err := range c.Terms() {
		if err != nil || string(term) != o.terms[i] {
			t.Fatalf("term %d is %q, %v; want %q", i, term, err, o.terms[i])
		}
		i++
	}
	if i != len(o.terms) {
		t.Fatalf("iterated over %d terms of %d", i, len(o.terms))
	}
	for i, term := range o.terms {
		if i > 40 && rng.IntN(20) > 0 {
			continue
		}
		got, err := c.Term(int64(i))
		if err != nil || string(got) != term {
			t.Fatalf("term %d is %q, %v; want %q", i, got, err, term)
		}
		for _, s := range []string{term, term + "\x00", term + "z", term[:len(term)/2], ""} {
			at, exists := slices.BinarySearch(o.terms, s)
			ord, found, err := c.Lookup([]byte(s))
			if err != nil || found != exists || ord != int64(at) {
				t.Fatalf("Lookup(%q) = %d, %t, %v; want %d, %t", s, ord, found, err, at, exists)
			}
		}
	}
	for _, words := range [][]uint64{nil, randomWords(rng, len(o.docs)), randomWords(rng, len(o.docs)), randomWords(rng, len(o.docs))} {
		counts, want := make([]uint32, len(o.terms)+1), make([]uint32, len(o.terms)+1)
		missing := 0
		for doc, values := range o.docs {
			if !has(words, doc) {
				continue
			}
			if len(values) == 0 {
				missing++
			}
			for _, v := range values {
				want[v]++
			}
		}
		got, err := c.CountOrdinals(words, counts)
		if err != nil || got != missing || !slices.Equal(counts, want) {
			t.Fatalf("CountOrdinals: %d missing, %v, counts %v; want %d, %v", got, err, counts, missing, want)
		}
	}
}

// encode writes one column to memory.
func encode(t testing.TB, numDocs int, write func(w *column.Writer) error) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := column.NewWriter(&buf, numDocs, column.Temp{})
	if err := write(w); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func writeNumbers(w *column.Writer, name string, docs [][]int64) error {
	n, err := w.Numbers(name)
	if err != nil {
		return err
	}
	for doc, values := range docs {
		if err := n.Add(base.DocID(doc), values); err != nil {
			return err
		}
	}
	return n.Close()
}

func writeOrdinals(w *column.Writer, name string, docs [][]string) (err error) {
	o, err := w.Ordinals(name)
	if err != nil {
		return err
	}
	for doc, values := range docs {
		var list [][]byte
		for _, v := range values {
			list = append(list, []byte(v))
		}
		if err := o.Add(base.DocID(doc), list); err != nil {
			_ = o.Close()
			return err
		}
	}
	return o.Close()
}

func open(t testing.TB, payload []byte, numDocs int) *column.Set {
	t.Helper()
	s, err := column.Open(column.Memory(slices.Clone(payload)), numDocs)
	if err == nil {
		err = s.Verify(t.Context(), nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// randomDocs returns documents with lists of what value returns.
func randomDocs[T any](rng *rand.Rand, numDocs int, value func(i int) T) [][]T {
	docs := make([][]T, numDocs)
	fraction := []float64{1, 1, 0.97, 0.5, 0.13, 0.1, 0.01}[rng.IntN(7)]
	most := []int{1, 1, 2, 3, 40}[rng.IntN(5)]
	clustered := rng.IntN(3) == 0
	run := true
	for i := range docs {
		if clustered {
			if rng.IntN(200) == 0 {
				run = rng.Float64() < fraction
			}
		} else {
			run = rng.Float64() < fraction
		}
		if !run {
			continue
		}
		for range 1 + rng.IntN(most) {
			docs[i] = append(docs[i], value(i))
		}
	}
	docs[rng.IntN(numDocs)] = []T{value(0)} // at least one
	return docs
}

func randomNumbers(rng *rand.Rand, numDocs int) [][]int64 {
	shift := rng.IntN(64)
	base := int64(rng.Uint64())
	shape := rng.IntN(6)
	return randomDocs(rng, numDocs, func(i int) int64 {
		switch shape {
		case 0:
			return base
		case 1:
			return base + int64(i)*3 + int64(rng.IntN(50)) // mostly rising
		case 2:
			if rng.IntN(300) == 0 {
				return int64(rng.Uint64())
			}
			return int64(rng.IntN(2))
		case 3:
			return []int64{math.MinInt64, math.MaxInt64, 0, -1}[rng.IntN(4)]
		case 4:
			return base + int64(i/2000) // constant blocks
		}
		return base + int64(rng.Uint64()>>shift)
	})
}

func randomStrings(rng *rand.Rand, numDocs int) [][]string {
	distinct := []int{1, 2, 20, 1000, 1 << 30}[rng.IntN(5)]
	prefix := []string{"", "long common prefix of many terms/"}[rng.IntN(2)]
	return randomDocs(rng, numDocs, func(int) string {
		n := rng.IntN(distinct)
		if n == 0 {
			return ""
		}
		return prefix + fmt.Sprintf("%x", n)
	})
}
