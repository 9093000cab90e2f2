package inverter

import (
	"fmt"
	"testing"

	"github.com/griffin-search/griffin/internal/analysis"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/shareddata"
)

// Term table and chains on analysed English passages, one chunk at a time.
func BenchmarkInvert(b *testing.B) {
	docs := wikiTokens(b, 24_000)
	for _, positions := range []bool{false, true} {
		b.Run(fmt.Sprintf("positions=%v", positions), func(b *testing.B) {
			f := fieldInverter{withPositions: positions}
			tokens := 0
			for b.Loop() {
				f.reset()
				for doc := range docs {
					f.lengths = append(f.lengths, 0)
					f.addTokens(uint32(doc), docs[doc], 0)
					tokens += len(docs[doc])
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(tokens), "ns/token")
		})
	}
}

func wikiTokens(b *testing.B, n int) (docs [][]analysis.Token) {
	b.Helper()
	r, err := corpus.Open(shareddata.Wiki(b)[:1], corpus.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	analyzer, err := analysis.New("english")
	if err != nil {
		b.Fatal(err)
	}
	for len(docs) < n {
		batch, err := r.Next()
		if err != nil {
			b.Fatal(err)
		}
		err = batch.Parse(func(d *corpus.Document) error {
			tokens := analyzer.Tokens(nil, []byte(d.Text))
			for i := range tokens {
				tokens[i].Term = append([]byte(nil), tokens[i].Term...)
			}
			docs = append(docs, tokens)
			return nil
		}, func(e *corpus.RecordError) error { return e })
		if err != nil {
			b.Fatal(err)
		}
	}
	return docs
}
