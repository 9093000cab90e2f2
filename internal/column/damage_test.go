package column_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/column"
)

// use calls everything that reads; nothing may panic, and errors wrap base.ErrCorrupt.
func use(t *testing.T, s *column.Set) {
	t.Helper()
	note := func(err error) {
		t.Helper()
		if err != nil && !errors.Is(err, base.ErrCorrupt) {
			t.Fatalf("error %v", err)
		}
	}
	for _, name := range s.Names() {
		c, _ := s.Column(name)
		lo, hi := c.Bounds()
		words := make([]uint64, (c.NumDocs()+63)/64)
		note(c.Exists(words))
		note(c.Range(lo, lo+(hi-lo)/2, words))
		note(c.Range(lo+1, hi, words))
		some := []int64{lo}
		for v := lo; len(some) < 40 && v < hi-3; v += 3 {
			some = append(some, v+1)
		}
		slices.Sort(some)
		note(c.Set(slices.Compact(some), words))
		for _, w := range [][]uint64{nil, words} {
			note(c.Scan(w, func([]base.DocID, []int64) error { return nil }))
		}
		x := c.Cursor()
		for doc := range c.NumDocs() {
			values, err := x.Values(base.DocID(doc))
			note(err)
			for _, v := range values {
				if c.Kind() == column.Ordinals && (v < 0 || v >= int64(c.NumTerms())) {
					t.Fatalf("ordinal %d of %d", v, c.NumTerms())
				}
			}
		}
		if c.Kind() != column.Ordinals || c.NumTerms() > 1<<20 {
			continue
		}
		counts := make([]uint32, c.NumTerms())
		few := make([]uint64, len(words)) // are read one by one
		for i := range few {
			few[i] = 1 << (i % 64)
		}
		for _, w := range [][]uint64{nil, words, few} {
			_, err := c.CountOrdinals(w, counts)
			note(err)
		}
		for ord := range int64(min(c.NumTerms(), 50)) {
			term, err := c.Term(ord)
			note(err)
			_, _, err = c.Lookup(term)
			note(err)
		}
		for _, err := range c.Terms() {
			note(err)
		}
	}
}

// dump has all names, values and terms.
func dump(t *testing.T, s *column.Set) string {
	t.Helper()
	var out []byte
	for _, name := range s.Names() {
		c, _ := s.Column(name)
		out = fmt.Appendf(out, "%q %v\n", name, c.Kind())
		if err := c.Scan(nil, func(docs []base.DocID, values []int64) error {
			for i, d := range docs {
				out = binary.AppendVarint(append(out, byte(d), byte(d>>8)), values[i])
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		for term, err := range c.Terms() {
			if err != nil {
				t.Fatal(err)
			}
			out = append(append(out, '\n'), term...)
		}
	}
	return string(out)
}

// checkDamaged opens and uses changed bytes. Without checksums, other values can be sound; then the
// bytes are those that a Writer gives for them. Other changes are errors.
func checkDamaged(t *testing.T, payload []byte, numDocs int, what string, at int, original string) {
	t.Helper()
	s, err := column.Open(column.Memory(slices.Clone(payload)), numDocs)
	if err != nil {
		if !errors.Is(err, base.ErrCorrupt) {
			t.Fatalf("%s %d: Open: %v", what, at, err)
		}
		return
	}
	use(t, s)
	err = s.Verify(t.Context(), nil)
	if err == nil && dump(t, s) == original || err != nil && !errors.Is(err, base.ErrCorrupt) {
		t.Fatalf("%s %d: Verify: %v", what, at, err)
	}
}

func damageSets(t *testing.T) map[string]struct {
	payload []byte
	numDocs int
} {
	sets := map[string]struct {
		payload []byte
		numDocs int
	}{}
	for _, name := range []string{"small", "large"} {
		rng := rand.New(rand.NewPCG(7, uint64(len(sets))))
		numDocs := 90
		if name == "large" {
			numDocs = 17000
		}
		all := make([][]int64, numDocs)
		ords := make([][]string, numDocs)
		sparse, some, multi := make([][]int64, numDocs), make([][]int64, numDocs), make([][]string, numDocs)
		for i := range numDocs {
			all[i] = []int64{int64(i)*1000 + int64(rng.IntN(900))}
			ords[i] = []string{string(rune('a' + rng.IntN(20)))}
			if rng.IntN(12) == 0 {
				sparse[i] = []int64{int64(rng.Uint64() >> 20)}
			}
			if rng.IntN(3) > 0 {
				some[i] = []int64{int64(rng.IntN(100))}
				multi[i] = []string{string(rune('a' + rng.IntN(20))), string(rune('A' + rng.IntN(9)))}
			}
		}
		sets[name] = struct {
			payload []byte
			numDocs int
		}{encode(t, numDocs, func(w *column.Writer) error {
			return errors.Join(writeNumbers(w, "all", all), writeOrdinals(w, "multi", multi), writeOrdinals(w, "ords", ords),
				writeNumbers(w, "some", some), writeNumbers(w, "sparse", sparse))
		}), numDocs}
	}
	return sets
}

// Without checksums, every changed byte is found, and nothing panics before.
func TestFlippedBits(t *testing.T) {
	for name, s := range damageSets(t) {
		rng := rand.New(rand.NewPCG(8, 1))
		original := dump(t, open(t, s.payload, s.numDocs))
		for at := range s.payload {
			if name == "large" && rng.IntN(1+len(s.payload)/(4*rounds())) > 0 {
				continue
			}
			damaged := slices.Clone(s.payload)
			damaged[at] ^= 1 << rng.IntN(8)
			checkDamaged(t, damaged, s.numDocs, name+" byte", at, original)
			damaged[at] = s.payload[at] ^ byte(1+rng.IntN(255))
			checkDamaged(t, damaged, s.numDocs, name+" byte", at, original)
		}
	}
}

func TestTruncation(t *testing.T) {
	for name, s := range damageSets(t) {
		original := dump(t, open(t, s.payload, s.numDocs))
		step := 1 + len(s.payload)/3000
		for n := 0; n < len(s.payload); n += step {
			checkDamaged(t, s.payload[:n], s.numDocs, name+" cut to", n, original)
		}
		for _, n := range []int{0, 1, s.numDocs - 1, s.numDocs + 1, 10 * s.numDocs} {
			checkDamaged(t, s.payload, n, name+" documents", n, original)
		}
		checkDamaged(t, append([]byte{0}, s.payload...), s.numDocs, name+" with a byte more", 0, original)
	}
}

func FuzzOpen(f *testing.F) {
	payload := encode(f, 70, func(w *column.Writer) error {
		return errors.Join(writeNumbers(w, "n", [][]int64{{1, 2}, nil, {9}}), writeOrdinals(w, "o", [][]string{{"x"}, {"y", "z"}}))
	})
	f.Add(payload, uint16(70))
	f.Fuzz(func(t *testing.T, payload []byte, numDocs uint16) {
		s, err := column.Open(column.Memory(slices.Clone(payload)), int(numDocs))
		if err != nil {
			if !errors.Is(err, base.ErrCorrupt) {
				t.Fatal(err)
			}
			return
		}
		use(t, s)
		if err := s.Verify(t.Context(), nil); err != nil && !errors.Is(err, base.ErrCorrupt) {
			t.Fatal(err)
		}
	})
}

// FuzzColumn takes documents from bytes: each is a gap, a number of values, and the values.
func FuzzColumn(f *testing.F) {
	f.Add([]byte{0, 1, 5, 0, 0, 2, 9, 1, 7, 1, 3}, uint64(1))
	f.Fuzz(func(t *testing.T, data []byte, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var docs [][]int64
		var strs [][]string
		empty := true
		for len(data) > 0 && len(docs) < 5000 {
			var values []int64
			var texts []string
			gap := int(data[0]) >> 2
			n := min(int(data[0]&3), len(data)-1)
			for _, b := range data[1 : 1+n] {
				empty = false
				v := int64(bits.RotateLeft64(uint64(b), int(b&31)))
				values, texts = append(values, v), append(texts, string(data[1:1+n]))
			}
			data = data[1+n:]
			docs, strs = append(docs, make([][]int64, gap)...), append(strs, make([][]string, gap)...)
			docs, strs = append(docs, values), append(strs, texts)
		}
		if empty {
			return
		}
		s := open(t, encode(t, len(docs), func(w *column.Writer) error {
			return errors.Join(writeNumbers(w, "n", docs), writeOrdinals(w, "o", strs))
		}), len(docs))
		n, _ := s.Column("n")
		numbersOf(docs).check(t, rng, n)
		o, _ := s.Column("o")
		ordinalsOf(strs).check(t, rng, o)
	})
}

// The size is within 10 % of the bits that blocks need.
func TestSize(t *testing.T) {
	const numDocs = 200_000
	for name, value := range map[string]func(rng *rand.Rand, i int) []int64{
		"boolean":      func(rng *rand.Rand, _ int) []int64 { return []int64{int64(rng.IntN(2))} },
		"12 bits":      func(rng *rand.Rand, _ int) []int64 { return []int64{int64(rng.IntN(4096))} },
		"64 bits":      func(rng *rand.Rand, _ int) []int64 { return []int64{int64(rng.Uint64())} },
		"times":        func(rng *rand.Rand, i int) []int64 { return []int64{int64(i)*1000 + int64(rng.IntN(1000))} },
		"half missing": func(rng *rand.Rand, _ int) []int64 { return []int64{int64(rng.IntN(1 << 20))}[:rng.IntN(2)] },
		"pairs": func(rng *rand.Rand, _ int) []int64 {
			return []int64{int64(rng.IntN(512)), int64(rng.IntN(512))}[:1+rng.IntN(2)]
		},
	} {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(9, 1))
			docs := make([][]int64, numDocs)
			var all []int64
			with, multi := 0, false
			for i := range docs {
				docs[i] = value(rng, i)
				slices.Sort(docs[i])
				all = append(all, docs[i]...)
				multi = multi || len(docs[i]) > 1
				with += min(1, len(docs[i]))
			}
			need := 0
			for block := range slices.Chunk(all, 128) {
				need += len(block) * bits.Len64(uint64(slices.Max(block)-slices.Min(block)))
			}
			if with < numDocs {
				need += numDocs
			}
			if multi {
				need += with // one or two values
			}
			payload := encode(t, numDocs, func(w *column.Writer) error { return writeNumbers(w, "n", docs) })
			ratio := float64(8*len(payload)) / float64(need)
			t.Logf("%d bytes, %.4f of the packed bits", len(payload), ratio)
			if ratio > 1.1 {
				t.Errorf("%d bytes for %d bits, a ratio of %.3f", len(payload), need, ratio)
			}
		})
	}
}

func TestReadingDoesNotAllocate(t *testing.T) {
	docs := make([][]int64, 20000)
	for i := range docs {
		docs[i] = []int64{int64(i), int64(i * 3)}[:1+i%2]
	}
	s := open(t, encode(t, len(docs), func(w *column.Writer) error { return writeNumbers(w, "n", docs) }), len(docs))
	c, _ := s.Column("n")
	x := c.Cursor()
	doc := base.DocID(0)
	if n := testing.AllocsPerRun(1000, func() {
		doc = (doc + 17) % 20000
		if _, err := x.Values(doc); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
