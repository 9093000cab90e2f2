package scoring_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/papers/scoring"
	"github.com/griffin-search/griffin/internal/score"
)

// A list of postings among documents, and rounds per timing.
type benchShape struct{ postings, docs, rounds int }

func shapeOfBench() benchShape {
	if gputest.OnGPU() {
		return benchShape{10e6, 25.2e6, 20}
	}
	return benchShape{1000, 4000, 1}
}

func benchList(s benchShape) (list postings, lengths []uint32) {
	rng := rand.New(rand.NewPCG(11, 12))
	list.term = score.DefaultBM25.NewTerm(5, 1, 100)
	for d := range s.docs {
		if len(list.docIDs) < s.postings && rng.IntN(s.docs-d) < s.postings-len(list.docIDs) {
			list.docIDs = append(list.docIDs, uint32(d))
			list.freqs = append(list.freqs, randomFreq(rng, 5))
		}
	}
	lengths = make([]uint32, s.docs)
	for i := range lengths {
		lengths[i] = rng.Uint32N(1000)
	}
	return list, lengths
}

// A list of 10 M postings of 25.2 M documents. share-% is relative to the
// bandwidth of a copy, for the bytes needed per posting or candidate: 4 for
// each unpacked value, 5/8 for a packed frequency, and the output.
func BenchmarkScoring(tb *testing.B) {
	shape := shapeOfBench()
	host, hostLengths := benchList(shape)
	for _, packed := range []bool{false, true} {
		freqBytes := 4.0
		if packed {
			freqBytes = 5.0 / 8
		}
		b := newBench(tb)
		lengths := gputest.Upload(b.Session, hostLengths)
		source := host.source(b, packed, lengths)
		list := b.list(source)
		n := list.NumPostings()
		out, sums := gputest.Alloc[uint32](b.Session, n), gputest.Alloc[uint32](b.Session, shape.docs)
		b.Must(scoring.Clear(b.kernels, b.Stream, sums, scoring.Unless{}))
		// Candidates: each tenth posting of the list.
		var docIDs, places []uint32
		for i := 0; i < n; i += 10 {
			docIDs, places = append(docIDs, host.docIDs[i]), append(places, uint32(i))
		}
		source.Postings = gputest.Upload(b.Session, places)
		candidateList := b.list(source)
		candidates := scoring.Candidates{DocIDs: gputest.Upload(b.Session, docIDs)}
		lists := gputest.Upload(b.Session, []scoring.List{list})
		for _, bench := range []struct {
			name  string
			bytes float64
			n     int
			put   func() error
		}{
			{"contributions", 4 + 4 + freqBytes + 4, n, func() error { return b.kernels.Contributions(b.Stream, &list, out) }},
			{"accumulate", 4 + 4 + freqBytes + 8, n, func() error {
				return scoring.Accumulate(b.kernels, b.Stream, &list, sums, scoring.Unless{})
			}},
			{"accumulate-all", 4 + 4 + freqBytes + 8, n, func() error {
				return scoring.AccumulateAll(b.kernels, b.Stream, lists, n, sums, scoring.Unless{})
			}},
			{"candidates", 4 + 4 + 4 + freqBytes + 4, len(docIDs), func() error {
				return scoring.AddTerm(b.kernels, b.Stream, &candidateList, candidates, cuda.Buffer[uint32]{}, cuda.Buffer[uint32]{}, out)
			}},
		} {
			tb.Run(fmt.Sprintf("%s/packed=%t", bench.name, packed), func(tb *testing.B) {
				b.Must(bench.put())
				b.Must(b.Stream.Synchronize())
				var took time.Duration
				for tb.Loop() {
					took += gputest.Elapsed(tb, b.Stream, func() {
						for range shape.rounds {
							b.Must(bench.put())
						}
					})
				}
				seconds := took.Seconds() / float64(tb.N*shape.rounds)
				tb.ReportMetric(seconds*1e6, "us/run")
				tb.ReportMetric(float64(bench.n)/seconds/1e9, "Gpostings/s")
				tb.ReportMetric(100*bench.bytes*float64(bench.n)/seconds/1e9/gputest.CopyBandwidth(tb, b.Device), "share-%")
			})
		}
	}
}
