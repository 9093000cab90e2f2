//go:build unix

package analysis

import (
	"syscall"
	"testing"
	"time"
)

// One core over 16 MiB of Wikipedia passages. Cold: a fresh analyzer for each pass. Warm: the
// text is known, but the cache smaller than the vocabulary. cpu-MB/s is by processor time,
// which other programs disturb less.
func BenchmarkAnalyze(b *testing.B) {
	texts := wikiTexts(b, 16<<20)
	total := int64(0)
	for _, text := range texts {
		total += int64(len(text))
	}
	for _, name := range []string{"english", "english-porter2", "simple", "whitespace", "german"} {
		for _, cache := range []string{"cold", "warm"} {
			b.Run("analyzer="+name+"/cache="+cache, func(b *testing.B) {
				fresh := func() Analyzer {
					a, err := New(name)
					if err != nil {
						b.Fatal(err)
					}
					return a
				}
				var tokens []Token
				pass := func(a Analyzer) (n int) {
					for _, text := range texts {
						tokens = a.Tokens(tokens[:0], text)
						n += len(tokens)
					}
					return n
				}
				a := fresh()
				pass(a)
				b.SetBytes(total)
				b.ReportAllocs()
				n := 0
				start := processorTime(b)
				for b.Loop() {
					if cache == "cold" {
						a = fresh()
					}
					n += pass(a)
				}
				used := processorTime(b) - start
				b.ReportMetric(float64(total)*float64(b.N)/used.Seconds()/1e6, "cpu-MB/s")
				b.ReportMetric(float64(n)/used.Seconds()/1e6, "cpu-Mtokens/s")
			})
		}
	}
}

func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
