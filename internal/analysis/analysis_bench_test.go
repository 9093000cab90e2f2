package analysis

import "testing"

// BenchmarkAnalyze measures the throughput of one core over 16 MiB of English
// Wikipedia passages. Cold: a fresh analyzer for each pass. Warm: the analyzer
// has seen the text before; its cache is smaller than the vocabulary.
func BenchmarkAnalyze(b *testing.B) {
	texts := wikiTexts(b, 16<<20)
	total := int64(0)
	for _, text := range texts {
		total += int64(len(text))
	}
	for _, name := range []string{"english", "english-porter2", "simple", "whitespace", "german"} {
		for _, state := range []string{"cold", "warm"} {
			b.Run("analyzer="+name+"/cache="+state, func(b *testing.B) {
				fresh := func() Analyzer {
					a, err := New(name)
					if err != nil {
						b.Fatal(err)
					}
					return a
				}
				var tokens []Token
				pass := func(a Analyzer) (n int64) {
					for _, text := range texts {
						tokens = a.Tokens(tokens[:0], text)
						n += int64(len(tokens))
					}
					return n
				}
				a := fresh()
				pass(a)
				b.SetBytes(total)
				b.ReportAllocs()
				n := int64(0)
				for b.Loop() {
					if state == "cold" {
						a = fresh()
					}
					n += pass(a)
				}
				b.ReportMetric(float64(n)/b.Elapsed().Seconds()/1e6, "Mtokens/s")
			})
		}
	}
}
