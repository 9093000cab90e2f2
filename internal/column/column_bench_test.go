package column_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/column"
	"github.com/griffin-search/griffin/internal/simd"
	"github.com/griffin-search/griffin/internal/simd/simdtest"
)

const benchDocs = 25_000_000

func benchNumbers(b *testing.B, width int) *column.Column {
	b.Helper()
	rng := rand.New(rand.NewPCG(1, uint64(width)))
	return benchColumn(b, "n", func(w *column.Writer) error {
		n, err := w.Numbers("n")
		if err != nil {
			return err
		}
		for doc := range base.DocID(benchDocs) {
			if err := n.Add(doc, []int64{int64(rng.Uint64() >> (64 - width))}); err != nil {
				return err
			}
		}
		return n.Close()
	})
}

func benchColumn(b *testing.B, name string, write func(w *column.Writer) error) *column.Column {
	b.Helper()
	s, err := column.Open(column.Memory(encode(b, benchDocs, write)), benchDocs)
	if err != nil {
		b.Fatal(err)
	}
	c, _ := s.Column(name)
	return c
}

// Half of random values match, so that no block is skipped.
func BenchmarkRange(b *testing.B) {
	for _, width := range []int{8, 16, 24, 32, 40, 56} {
		c := benchNumbers(b, width)
		words := make([]uint64, (benchDocs+63)/64)
		for _, level := range simd.Levels() {
			b.Run(fmt.Sprintf("width=%d/simd=%v", width, level), func(b *testing.B) {
				simdtest.Set(b, level)
				for b.Loop() {
					clear(words)
					if err := c.Range(1<<width/4, 1<<width/4*3, words); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.N)*benchDocs/b.Elapsed().Seconds()/1e9, "Gvalues/s")
			})
		}
	}
}

// A keyword of 1,000 values.
func BenchmarkCountOrdinals(b *testing.B) {
	c := benchOrdinals(b, 1000)
	rng := rand.New(rand.NewPCG(3, 1))
	counts := make([]uint32, c.NumTerms())
	for _, level := range simd.Levels() {
		for _, percent := range []int{100, 50, 25, 10, 5, 3, 1} {
			words := make([]uint64, (benchDocs+63)/64)
			for i := range words {
				for bit := range 64 {
					if rng.IntN(100) < percent {
						words[i] |= 1 << bit
					}
				}
			}
			b.Run(fmt.Sprintf("matches=%d%%/simd=%v", percent, level), func(b *testing.B) {
				simdtest.Set(b, level)
				for b.Loop() {
					if _, err := c.CountOrdinals(words, counts); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.N)*benchDocs*float64(percent)/100/b.Elapsed().Seconds()/1e6, "Mvalues/s")
			})
		}
	}
}

func benchOrdinals(b *testing.B, distinct int) *column.Column {
	b.Helper()
	rng := rand.New(rand.NewPCG(2, 1))
	terms := make([][]byte, distinct)
	for i := range terms {
		terms[i] = fmt.Appendf(nil, "category %d", i)
	}
	return benchColumn(b, "o", func(w *column.Writer) error {
		o, err := w.Ordinals("o")
		if err != nil {
			return err
		}
		for doc := range base.DocID(benchDocs) {
			at := rng.IntN(distinct)
			if err := o.Add(doc, terms[at:at+1]); err != nil {
				return err
			}
		}
		return o.Close()
	})
}

func BenchmarkReading(b *testing.B) {
	c := benchNumbers(b, 24)
	b.Run("scan", func(b *testing.B) {
		sum := int64(0)
		for b.Loop() {
			if err := c.Scan(nil, func(_ []base.DocID, values []int64) error {
				for _, v := range values {
					sum += v
				}
				return nil
			}); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.N)*benchDocs/b.Elapsed().Seconds()/1e6, "Mvalues/s")
	})
	for _, step := range []base.DocID{1, 10, 100, 10000} {
		b.Run(fmt.Sprintf("cursor/step=%d", step), func(b *testing.B) {
			x, n := c.Cursor(), 0
			for b.Loop() {
				for doc := base.DocID(0); doc < benchDocs; doc += step {
					if _, _, err := x.Value(doc); err != nil {
						b.Fatal(err)
					}
					n++
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/value")
		})
	}
}

func BenchmarkWriting(b *testing.B) {
	rng := rand.New(rand.NewPCG(4, 1))
	values := make([]int64, 1<<20)
	for i := range values {
		values[i] = int64(rng.Uint64() >> 40)
	}
	terms := make([][]byte, 1000)
	for i := range terms {
		terms[i] = fmt.Appendf(nil, "category %d", i)
	}
	b.Run("numbers", func(b *testing.B) {
		for b.Loop() {
			w := column.NewWriter(discard{}, len(values), column.Temp{})
			n, _ := w.Numbers("n")
			for doc := range values {
				if err := n.Add(base.DocID(doc), values[doc:doc+1]); err != nil {
					b.Fatal(err)
				}
			}
			if err := n.Close(); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(values)), "ns/value")
	})
	b.Run("ordinals", func(b *testing.B) {
		rng.Shuffle(len(terms), func(i, j int) { terms[i], terms[j] = terms[j], terms[i] })
		for b.Loop() {
			w := column.NewWriter(discard{}, len(values), column.Temp{})
			o, _ := w.Ordinals("o")
			for doc := range values {
				at := int(values[doc]) % len(terms)
				if err := o.Add(base.DocID(doc), terms[at:at+1]); err != nil {
					b.Fatal(err)
				}
			}
			if err := o.Close(); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(values)), "ns/value")
	})
}
