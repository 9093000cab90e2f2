package collect

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/column"
)

// BenchmarkRun sorts half of the documents by a date: random, or nearly in the order of writing.
func BenchmarkRun(b *testing.B) {
	const n = 4 << 20
	m := newTestMapping(b)
	for _, kind := range []string{"random", "rising"} {
		r := rand.New(rand.NewPCG(1, 9))
		var out bytes.Buffer
		w := column.NewWriter(&out, n, column.Temp{})
		c, err := w.Numbers("made")
		if err != nil {
			b.Fatal(err)
		}
		for i := range n {
			at := r.Int64N(3e11)
			if kind == "rising" {
				at = int64(i)*70_000 + r.Int64N(1e6)
			}
			if err := c.Add(base.DocID(i), []int64{1_600_000_000_000 + at}); err != nil {
				b.Fatal(err)
			}
		}
		if err := c.Close(); err != nil {
			b.Fatal(err)
		}
		if err := w.Close(); err != nil {
			b.Fatal(err)
		}
		set, err := column.Open(column.Memory(out.Bytes()), n)
		if err != nil {
			b.Fatal(err)
		}
		words := make([]uint64, n/64)
		for i := range words {
			words[i] = r.Uint64()
		}
		segments := []Segment{{NumDocs: n, Column: func(field string) (*column.Column, error) {
			c, _ := set.Column(field)
			return c, nil
		}}}
		for _, order := range []string{"asc", "desc"} {
			for _, k := range []int{10, 1000} {
				b.Run(fmt.Sprintf("%s/%s/k=%d", kind, order, k), func(b *testing.B) {
					keys, err := Parse(fmt.Appendf(nil, `{"made": %q}`, order), m.Field)
					if err != nil {
						b.Fatal(err)
					}
					for b.Loop() {
						if _, err := Run(context.Background(), segments, [][]uint64{words}, Options{Keys: keys, K: k}); err != nil {
							b.Fatal(err)
						}
					}
					b.ReportMetric(float64(b.N)*n/2/b.Elapsed().Seconds(), "matches/s")
				})
			}
		}
	}
}
