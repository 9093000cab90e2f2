package analysis

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"runtime"
	"sync"
	"testing"

	"github.com/griffin-search/griffin/internal/sampletest"
	"github.com/griffin-search/griffin/internal/shareddata"
)

// The counts over title and text of the 750,000 wiki passages are from another program;
// comparisons with other engines depend on them. By default the test analyses the first
// 32 MB and expects the counts of a run that reproduced the published ones.
func TestSimpleReproducesPublishedCounts(t *testing.T) {
	if testing.Short() {
		t.Skip("analysing 750,000 passages takes seconds: run without -short")
	}
	type counts struct{ docs, tokens, terms, postings int }
	megabytes, want, wantMean := 32, counts{46_432, 5_142_517, 132_398, 3_431_687}, 110.75
	if sampletest.All() {
		megabytes, want, wantMean = math.MaxInt, counts{shareddata.NumWikiPassages, 79_758_701, 672_775, 53_349_553}, 106.34
	}
	c := countWiki(t, "simple", megabytes)
	if got := (counts{c.docs, c.tokens, len(c.lastDoc), c.postings}); got != want {
		t.Errorf("counted %+v, want %+v", got, want)
	}
	if mean := float64(c.tokens) / float64(c.docs); math.Abs(mean-wantMean) > 0.005 {
		t.Errorf("mean length %.4f, want %.2f", mean, wantMean)
	}
}

type wikiCounts struct {
	docs, tokens, postings int
	lastDoc                map[string]*int // by term, the document last counted in postings
}

// One worker per processor counts the first megabytes, rounded up to lines.
func countWiki(t *testing.T, analyzer string, megabytes int) wikiCounts {
	t.Helper()
	batches := make(chan []byte, 2*runtime.GOMAXPROCS(0))
	counts := make([]wikiCounts, runtime.GOMAXPROCS(0))
	var workers sync.WaitGroup
	for i := range counts {
		workers.Go(func() {
			a, err := New(analyzer)
			if err != nil {
				t.Error(err)
				return
			}
			c := &counts[i]
			c.lastDoc = map[string]*int{}
			for batch := range batches {
				c.addBatch(t, a, batch)
			}
		})
	}
	wiki := bufio.NewReaderSize(shareddata.OpenWiki(t), 1<<20)
	for range megabytes {
		batch, err := readLines(wiki, 1<<20)
		if len(batch) > 0 {
			batches <- batch
		}
		if err != nil {
			break
		}
	}
	close(batches)
	workers.Wait()
	total := counts[0]
	for _, c := range counts[1:] {
		total.docs += c.docs
		total.tokens += c.tokens
		total.postings += c.postings
		for term, doc := range c.lastDoc {
			total.lastDoc[term] = doc
		}
	}
	return total
}

func readLines(r *bufio.Reader, sizeBytes int) (lines []byte, err error) {
	for len(lines) < sizeBytes && err == nil {
		var part []byte
		part, err = r.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			err = nil
		}
		lines = append(lines, part...)
	}
	if err != nil || bytes.HasSuffix(lines, []byte("\n")) {
		return lines, err
	}
	rest, err := r.ReadBytes('\n')
	return append(lines, rest...), err
}

func (c *wikiCounts) addBatch(t *testing.T, a Analyzer, lines []byte) {
	var text []byte
	var tokens []Token
	for line := range bytes.Lines(lines) {
		text = appendJSONString(t, text[:0], line, "title")
		text = appendJSONString(t, append(text, ' '), line, "text")
		tokens = a.Tokens(tokens[:0], text)
		c.docs++
		c.tokens += len(tokens)
		for _, token := range tokens {
			last := c.lastDoc[string(token.Term)]
			if last == nil {
				last = new(int)
				c.lastDoc[string(token.Term)] = last
			}
			if *last != c.docs {
				*last = c.docs
				c.postings++
			}
		}
	}
}

// All members are strings. Values without escapes are copied: encoding/json would take longer
// than the analysis.
func appendJSONString(t *testing.T, dst, line []byte, member string) []byte {
	_, value, found := bytes.Cut(line, []byte(`"`+member+`": "`))
	end := bytes.IndexByte(value, '"')
	if !found || end < 0 {
		t.Errorf("no member %q in %s", member, line)
		return dst
	}
	if bytes.IndexByte(value[:end], '\\') < 0 {
		return append(dst, value[:end]...)
	}
	var members map[string]string
	if err := json.Unmarshal(line, &members); err != nil {
		t.Error(err)
	}
	return append(dst, members[member]...)
}
