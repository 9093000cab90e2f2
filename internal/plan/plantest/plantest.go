package plantest

import (
	"bufio"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/shareddata"
	"github.com/griffin-search/griffin/query"
)

// RandomWord picks from about 40 words, the first ones often.
func RandomWord(rng *rand.Rand) string {
	return fmt.Sprintf("w%d", int(40*math.Pow(rng.Float64(), 3)))
}

// RandomWords returns n words of RandomWord.
func RandomWords(rng *rand.Rand, n int) string {
	words := make([]string, n)
	for i := range words {
		words[i] = RandomWord(rng)
	}
	return strings.Join(words, " ")
}

// RandomIndex makes an index of commits segments. With deletes it has deleted and replaced
// documents.
func RandomIndex(t testing.TB, rng *rand.Rand, numDocs, commits int, deletes bool) *index.Index {
	return indextest.Write(t, index.Options{Analyzer: "whitespace", Positions: true}, func(w *indextest.Writer) {
		added := 0
		for c := range commits {
			for ; added < numDocs*(c+1)/commits; added++ {
				d := corpus.Document{
					ID: fmt.Sprint(added), Title: RandomWords(rng, rng.IntN(4)), Text: RandomWords(rng, rng.IntN(60)),
				}
				if deletes && rng.IntN(20) == 0 {
					d.ID = fmt.Sprint(rng.IntN(added + 1))
				}
				w.Add(&d)
			}
			if deletes {
				for range numDocs / commits / 20 {
					w.Delete(rng.IntN(added))
				}
			}
			w.Commit()
		}
	})
}

// Reorder merges an index into two segments whose documents are reordered.
func Reorder(t testing.TB, ix *index.Index) {
	if _, err := ix.Merge(t.Context(), index.MergeOptions{MaxSegments: 2, Reorder: index.ReorderBP}); err != nil {
		t.Fatal(err)
	}
}

// RandomNode makes a random query tree.
func RandomNode(rng *rand.Rand, depth int) query.Node {
	boost := 1.0
	if rng.IntN(4) == 0 {
		boost = []float64{0.5, 2, 3.25}[rng.IntN(3)]
	}
	field := ""
	if rng.IntN(5) == 0 {
		field = "title"
	}
	if rng.IntN(4) == 0 {
		return randomOther(rng, depth, field, boost)
	}
	switch kind := rng.IntN(8); {
	case kind < 4 || depth == 0:
		word := RandomWord(rng)
		if rng.IntN(30) == 0 {
			word = "missing"
		}
		return &query.Term{Field: field, Text: word, Boost: boost}
	case kind == 4:
		return &query.Phrase{Field: field, Text: RandomWords(rng, 1+rng.IntN(4)), Boost: boost}
	}
	b := &query.Boolean{Boost: boost}
	if rng.IntN(5) == 0 {
		b.AtLeast = []query.Minimum{"1", "2", "3", "50%", "-1"}[rng.IntN(5)]
	}
	or := rng.IntN(3) == 0
	for range 1 + rng.IntN(4) {
		c := query.Clause{Node: RandomNode(rng, depth-1)}
		switch r := rng.IntN(9); {
		case r == 8:
			c.Occur = query.Filter
		case or:
			c.Occur = query.Should
		case r < 2:
			c.Occur = query.Must
		case r == 2:
			c.Occur = query.MustNot
		}
		b.Clauses = append(b.Clauses, c)
	}
	return b
}

// randomOther makes a node other than words, phrases and groups.
func randomOther(rng *rand.Rand, depth int, field string, boost float64) query.Node {
	word := RandomWord(rng)
	kind := rng.IntN(15)
	if depth == 0 {
		kind = []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 13}[rng.IntN(11)]
	}
	switch kind {
	case 13:
		return randomCombined(rng, boost)
	case 14:
		return randomFunctions(rng, depth, boost)
	case 0:
		return &query.Prefix{Field: field, Text: word[:1+rng.IntN(len(word))], Boost: boost}
	case 1:
		return &query.Wildcard{Field: field, Pattern: []string{"w?", "*3", "w1*", "?*?", "w*1?", "*"}[rng.IntN(6)], Boost: boost}
	case 2:
		return &query.Regexp{Field: field, Pattern: []string{"w[1-3]", "w(1|2).*", "w.{2}", "w0?1+", "[^v]2"}[rng.IntN(5)], Boost: boost}
	case 3:
		return &query.Exists{Field: "title", Boost: boost}
	case 4:
		return &query.MatchAll{Boost: boost}
	case 5:
		return &query.IDs{IDs: []string{fmt.Sprint(rng.IntN(300)), fmt.Sprint(rng.IntN(300)), "none"}, Boost: boost}
	case 6:
		return &query.Terms{Field: field, Values: []string{word, RandomWord(rng), "none"}, Boost: boost}
	case 7:
		r := &query.Range{Field: field, From: word, To: RandomWord(rng), ExcludeFrom: rng.IntN(2) == 0, ExcludeTo: rng.IntN(2) == 0, Boost: boost}
		switch rng.IntN(4) {
		case 0:
			r.From = ""
		case 1:
			r.To = ""
		}
		return r
	case 8:
		f := &query.Fuzzy{Field: field, Text: word, Boost: boost}
		f.Edits, f.PrefixLength, f.NoSwaps = []string{"", "0", "1", "2"}[rng.IntN(4)], rng.IntN(3), rng.IntN(2) == 0
		if rng.IntN(2) == 0 {
			f.MaxExpansions = 1 + rng.IntN(5)
		}
		return f
	case 9:
		// Words that are not repeated, for the oracle.
		p := &query.Phrase{Field: field, Text: fmt.Sprintf("w%d w%d", rng.IntN(3), 3+rng.IntN(5)), Boost: boost, Slop: rng.IntN(6)}
		if rng.IntN(2) == 0 {
			p.Prefix, p.MaxExpansions = true, 1+rng.IntN(60)
			p.Text = fmt.Sprintf("w%d w%d", rng.IntN(3), 3)
		}
		return p
	case 10:
		return &query.Constant{Node: RandomNode(rng, depth-1), Score: []float64{0, 0.25, 1, 3}[rng.IntN(4)]}
	case 11:
		return &query.DisMax{Nodes: []query.Node{RandomNode(rng, depth-1), RandomNode(rng, depth-1)}, TieBreaker: []float64{0, 0.3, 1}[rng.IntN(3)], Boost: boost}
	}
	return &query.Boosting{Positive: RandomNode(rng, depth-1), Negative: RandomNode(rng, depth-1), NegativeBoost: []float64{0, 0.5, 1}[rng.IntN(3)], Boost: boost}
}

// randomFunctions makes functions without columns.
func randomFunctions(rng *rand.Rand, depth int, boost float64) query.Node {
	f := &query.FunctionScore{ScoreMode: query.ScoreMode(rng.IntN(6)), BoostMode: query.BoostMode(rng.IntN(6)), Boost: boost}
	if rng.IntN(4) > 0 {
		f.Node = RandomNode(rng, depth-1)
	}
	f.MaxBoost = []float64{0, 0, 1.5}[rng.IntN(3)]
	f.MinScore = []float64{0, 0, 0.7123}[rng.IntN(3)]
	for range rng.IntN(4) {
		var fn query.Function
		if rng.IntN(2) == 0 {
			fn.Filter = RandomNode(rng, depth-1)
		}
		if rng.IntN(2) == 0 {
			weight := []float64{0, 0.5, 2}[rng.IntN(3)]
			fn.Weight = &weight
		}
		if rng.IntN(2) == 0 {
			fn.Random = &query.RandomScore{Seed: rng.Int64N(3)}
		}
		f.Functions = append(f.Functions, fn)
	}
	return f
}

func randomCombined(rng *rand.Rand, boost float64) query.Node {
	c := &query.Combined{Text: RandomWords(rng, 1+rng.IntN(3)), Boost: boost, Occur: []query.Occur{query.Plain, query.Must, query.Should}[rng.IntN(3)]}
	for _, name := range [][]string{{""}, {"title"}, {"", "title"}, {"title", ""}, {"title", "", "title"}}[rng.IntN(5)] {
		c.Fields = append(c.Fields, query.FieldWeight{Name: name, Weight: []float64{0, 0.5, 1, 3}[rng.IntN(4)]})
	}
	if rng.IntN(3) == 0 {
		c.AtLeast = []query.Minimum{"1", "2", "50%"}[rng.IntN(3)]
	}
	return c
}

// Parse parses a query over the default field and the field title.
func Parse(t testing.TB, text string) query.Node {
	n, err := query.Parse(text, []string{"title"})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// HeapInUse returns the size of the live heap in bytes.
func HeapInUse() int64 {
	for range 3 { // pools free their memory in the second cycle
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// WikiSlice returns the first n passages as lines of JSON.
func WikiSlice(t testing.TB, n int) []string {
	var slice []string
	lines := bufio.NewScanner(shareddata.OpenWiki(t))
	lines.Buffer(nil, 1<<24)
	for len(slice) < n && lines.Scan() {
		slice = append(slice, lines.Text())
	}
	if err := lines.Err(); err != nil || len(slice) < n {
		t.Fatalf("%d passages of %d: %v", len(slice), n, err)
	}
	return slice
}

// WriteLines writes a JSONL file and returns its path.
func WriteLines(t testing.TB, dir, name string, lines []string) string {
	path := filepath.Join(dir, name+".jsonl")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(f)
	for _, line := range lines {
		fmt.Fprintln(w, line)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// Words returns a query of n random words.
func Words(rng *rand.Rand, n int) query.Node {
	return &query.Words{Text: RandomWords(rng, n), Boost: 1}
}

// FrequentIndex returns an index with a given codec whose lists are long enough for the GPU to
// decode them.
func FrequentIndex(t testing.TB, codecName string, numDocs int) *index.Index {
	t.Helper()
	rng := rand.New(rand.NewPCG(14, 2))
	return indextest.Write(t, index.Options{Analyzer: "whitespace", Codec: codecName, NoStored: true}, func(w *indextest.Writer) {
		for i := range numDocs {
			var text []string
			for word := range 4 {
				for range rng.IntN(3 + word) {
					text = append(text, fmt.Sprint("w", word))
				}
			}
			if i%701 == 0 { // frequencies of 255 and more
				text = append(text, strings.Repeat("w1 ", 300+i/10))
			}
			w.AddText(i, strings.Join(text, " "))
		}
	})
}
