package aggregate

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/column"
)

// benchIndex has a keyword of 1,000 values, a date and a long in every document.
func benchIndex(b *testing.B, n int) *Index {
	b.Helper()
	r := rand.New(rand.NewPCG(1, 9))
	check := func(err error) {
		if err != nil {
			b.Helper()
			b.Fatal(err)
		}
	}
	var out bytes.Buffer
	w := column.NewWriter(&out, n, column.Temp{})
	number := func(name string, value func() int64) {
		c, err := w.Numbers(name)
		check(err)
		for i := range n {
			check(c.Add(base.DocID(i), []int64{value()}))
		}
		check(c.Close())
	}
	number("made", func() int64 { return 1_600_000_000_000 + r.Int64N(3e11) })
	number("size", func() int64 { return r.Int64N(1e6) })
	c, err := w.Ordinals("tag")
	check(err)
	for i := range n {
		check(c.Add(base.DocID(i), [][]byte{fmt.Appendf(nil, "t%03d", r.IntN(1000))}))
	}
	check(c.Close())
	check(w.Close())
	set, err := column.Open(column.Memory(out.Bytes()), n)
	check(err)
	return &Index{Field: newTestMapping(b).Field, Now: time.Now(), Segments: []Segment{{NumDocs: n, Column: func(field string) (*column.Column, error) {
		c, _ := set.Column(field)
		return c, nil
	}}}}
}

func BenchmarkRun(b *testing.B) {
	const n = 4 << 20
	ix := benchIndex(b, n)
	for _, share := range []int{100, 10} {
		r := rand.New(rand.NewPCG(2, 9))
		words := make([]uint64, n/64)
		for i := range n {
			if r.IntN(100) < share {
				words[i/64] |= 1 << (i % 64)
			}
		}
		for _, c := range []struct{ name, request string }{
			{"terms", `{"a": {"terms": {"field": "tag"}}}`},
			{"terms+avg", `{"a": {"terms": {"field": "tag"}, "aggs": {"b": {"avg": {"field": "size"}}}}}`},
			{"stats", `{"a": {"stats": {"field": "size"}}}`},
			{"month", `{"a": {"date_histogram": {"field": "made", "calendar_interval": "month"}}}`},
			{"cardinality", `{"a": {"cardinality": {"field": "size"}}}`},
			{"percentiles", `{"a": {"percentiles": {"field": "size"}}}`},
			{"range", `{"a": {"range": {"field": "size", "ranges": [{"to": 1000}, {"from": 1000, "to": 10000}, {"from": 10000}]}}}`},
		} {
			b.Run(fmt.Sprintf("%s/matches=%d%%", c.name, share), func(b *testing.B) {
				requests, err := Parse([]byte(c.request))
				if err != nil {
					b.Fatal(err)
				}
				for b.Loop() {
					if _, err := Run(context.Background(), ix, requests, [][]uint64{words}, Limits{}); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.N)*n*float64(share)/100/b.Elapsed().Seconds(), "values/s")
			})
		}
	}
}

// BenchmarkCounted is of values that a GPU has counted.
func BenchmarkCounted(b *testing.B) {
	const n = 1 << 20
	ix := benchIndex(b, n)
	c, _ := ix.Segments[0].Column("tag")
	counts := OrdinalCounts{Counts: make([]uint32, c.NumTerms())}
	words := make([]uint64, n/64)
	for i := range words {
		words[i] = 0x1111_0000_1000_0011
	}
	if _, err := c.CountOrdinals(words, counts.Counts); err != nil {
		b.Fatal(err)
	}
	ix.Counts = func(int, string) *OrdinalCounts { return &counts }
	for b.Loop() {
		requests, err := Parse([]byte(`{"a": {"terms": {"field": "tag", "size": 10}}}`))
		if err != nil {
			b.Fatal(err)
		}
		if _, err := Run(context.Background(), ix, requests, nil, Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}
