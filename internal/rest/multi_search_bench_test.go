package rest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// BenchmarkMultiSearch measures processor time of a _msearch of 100 searches of two words. processor-µs/search counts all
// threads of the process.
func BenchmarkMultiSearch(b *testing.B) {
	rng := rand.New(rand.NewPCG(20, 2))
	n := multiSearchNode(b, rng, 20_000)
	const numSearches = 100
	bodies := make([]string, 8)
	for i := range bodies {
		var body strings.Builder
		for range numSearches {
			fmt.Fprintf(&body, "{}\n"+`{"query":{"match":{"*":"%s %s"}},"size":10,"_source":false}`+"\n", randomWord(rng), randomWord(rng))
		}
		bodies[i] = body.String()
	}
	before, i := processorTime(b), 0
	b.ReportAllocs()
	for b.Loop() {
		if w := n.do("POST /a/_msearch", bodies[i%len(bodies)]); w.Code != 200 {
			b.Fatalf("%s", w.Body)
		}
		i++
	}
	b.ReportMetric(float64((processorTime(b)-before).Nanoseconds())/1000/float64(b.N*numSearches), "processor-µs/search")
}
