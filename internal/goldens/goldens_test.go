package goldens

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/shareddata"
	"github.com/griffin-search/griffin/query"
	"github.com/griffin-search/griffin/trec"
)

var update = flag.Bool("update", false, "write testdata/*.json anew")

const goldenPath = "testdata/golden.json"

// analyzers are the measured analyzers: the default chain, and plain BM25 without stemming
// and stop words.
var analyzers = []string{"english", "simple"}

// measureNames are trec_eval's names.
var measureNames = []string{"map", "ndcg_cut.10", "recall.100", "P.30", "recip_rank"}

// depth is the number of documents retrieved for each query, as in the published runs.
const depth = 1000

// references are published values for the same collections with BM25, k1=0.9 and b=0.4.
var references = []struct {
	analyzer, collection, measure string
	want, tolerance               float64
}{
	// Anserini (Lucene), title and text in one field.
	{"english", "scifact", "ndcg_cut_10", .6789, .005},
	{"english", "scifact", "recall_100", .9253, .005},
	{"english", "nfcorpus", "ndcg_cut_10", .3218, .005},
	{"english", "nfcorpus", "recall_100", .2457, .005},

	// An independent plain BM25, without stemming and stop words. Measured difference: at
	// most 0.0008, including the rounding of these values.
	{"simple", "cacm", "ndcg_cut_10", .417, .002},
	{"simple", "cranfield", "ndcg_cut_10", .328, .002},
	{"simple", "nfcorpus", "ndcg_cut_10", .305, .002},
	{"simple", "npl_vaswani", "ndcg_cut_10", .370, .002},
	{"simple", "scifact", "ndcg_cut_10", .661, .002},
	{"simple", "cacm", "map", .289, .002},
	{"simple", "cranfield", "map", .264, .002},
	{"simple", "nfcorpus", "map", .144, .002},
	{"simple", "npl_vaswani", "map", .221, .002},
	{"simple", "scifact", "map", .624, .002},
}

type values map[string]map[string]map[string]float64

func TestEffectiveness(t *testing.T) {
	collections := shareddata.Collections(t)
	got := values{}
	var mu sync.Mutex
	t.Run("measure", func(t *testing.T) {
		for _, analyzer := range analyzers {
			got[analyzer] = map[string]map[string]float64{}
			for _, c := range collections {
				t.Run(analyzer+"/"+c.Name, func(t *testing.T) {
					t.Parallel()
					measured := evaluate(t, searchAll(t, c, analyzer), readQrels(t, c))
					mu.Lock()
					defer mu.Unlock()
					got[analyzer][c.Name] = measured
				})
			}
		}
	})
	if t.Failed() {
		return
	}
	for _, r := range references {
		if v, ok := got[r.analyzer][r.collection][r.measure]; !ok || !(math.Abs(v-r.want) <= r.tolerance) {
			t.Errorf("%s, analyzer %s: %s is %.4f, published is %.4f, more than %g away",
				r.collection, r.analyzer, r.measure, v, r.want, r.tolerance)
		}
	}
	if *update {
		writeGolden(t, goldenPath, got)
		return
	}
	compareGolden(t, got, readGolden(t, goldenPath))
}

// TestCACMWithUnpaddedNumbers evaluates CACM as its reference does. Its judgements name
// documents 1 to 999 without leading zeros, so these are never found: docs/effectiveness.md.
func TestCACMWithUnpaddedNumbers(t *testing.T) {
	t.Parallel()
	c := shareddata.OneCollection(t, "cacm")
	text, err := os.ReadFile(c.Qrels)
	if err != nil {
		t.Fatal(err)
	}
	var unpadded strings.Builder
	numUnreachable := 0
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) != 4 {
			t.Fatalf("qrels line %q", line)
		}
		number, err := strconv.Atoi(f[2])
		if err != nil {
			t.Fatal(err)
		}
		if number < 1000 {
			f[2] = "unpadded-" + f[2]
			numUnreachable++
		}
		fmt.Fprintln(&unpadded, strings.Join(f, " "))
	}
	qrels, err := trec.ReadQrels(strings.NewReader(unpadded.String()))
	if err != nil {
		t.Fatal(err)
	}
	if numUnreachable != 55 {
		t.Errorf("%d judgements are of documents 1 to 999, not 55", numUnreachable)
	}
	const reported, tolerance = .3123, .01
	if v := evaluate(t, searchAll(t, c, "english"), qrels)["map"]; math.Abs(v-reported) > tolerance {
		t.Errorf("MAP is %.4f, published is %.4f, more than %g away", v, reported, tolerance)
	}
}

func searchAll(t *testing.T, c shareddata.Collection, analyzer string) *trec.Run {
	t.Helper()
	return answerAll(t, indexAll(t, c, analyzer), c, griffin.ModeOr)
}

func indexAll(t *testing.T, c shareddata.Collection, analyzer string) *griffin.Index {
	t.Helper()
	ix, err := griffin.Create(filepath.Join(t.TempDir(), "index"), griffin.Settings{Analyzer: analyzer, NoStored: true, NoPositions: true}, griffin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ix.Close() })
	report, err := ix.IndexFiles(t.Context(), []string{c.Corpus}, griffin.FilesOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if report.Docs != int64(c.NumDocs) {
		t.Fatalf("indexed %d documents, the collection has %d", report.Docs, c.NumDocs)
	}
	return ix
}

func answerAll(t *testing.T, ix *griffin.Index, c shareddata.Collection, mode griffin.Mode) *trec.Run {
	t.Helper()
	file, err := os.Open(c.Queries)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	topics, err := trec.ReadTopics(file)
	if err != nil {
		t.Fatal(err)
	}
	run := &trec.Run{}
	for _, topic := range topics {
		r, err := ix.Search(t.Context(), griffin.Query{Node: &query.Words{Text: topic.Title}, Mode: mode, K: depth, Load: griffin.LoadIDs})
		if err != nil {
			t.Fatalf("query %s: %v", topic.ID, err)
		}
		entries := make([]trec.RunEntry, len(r.Hits))
		for i, h := range r.Hits {
			entries[i] = trec.RunEntry{DocNo: h.ID, Score: h.Score}
		}
		if entries, err = trec.KeepOrder(entries); err == nil {
			err = run.AddRanking(topic.ID, entries)
		}
		if err != nil {
			t.Fatalf("query %s: %v", topic.ID, err)
		}
	}
	return run
}

func readQrels(t *testing.T, c shareddata.Collection) *trec.Qrels {
	t.Helper()
	file, err := os.Open(c.Qrels)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	qrels, err := trec.ReadQrels(file)
	if err != nil {
		t.Fatal(err)
	}
	return qrels
}

func evaluate(t *testing.T, run *trec.Run, qrels *trec.Qrels) map[string]float64 {
	t.Helper()
	var measures []trec.Measure
	for _, name := range measureNames {
		m, err := trec.ParseMeasures(name)
		if err != nil {
			t.Fatal(err)
		}
		measures = append(measures, m...)
	}
	ev, err := trec.Evaluate(qrels, run, measures, trec.Options{Complete: true})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	for i, m := range ev.Measures {
		all[m.String()] = ev.All[i]
	}
	return all
}

// compareGolden compares values to four decimals.
func compareGolden(t *testing.T, got, want values) {
	t.Helper()
	g, w := flatten(got), flatten(want)
	for _, name := range slices.Sorted(maps.Keys(w)) {
		if _, ok := g[name]; !ok {
			t.Errorf("%s: golden %s, not measured", name, w[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(g)) {
		if g[name] != w[name] {
			t.Errorf("%s: measured %s, golden %q; if intended: go test ./internal/goldens -update", name, g[name], w[name])
		}
	}
}

func flatten(v values) map[string]string {
	flat := map[string]string{}
	for analyzer, collections := range v {
		for collection, measures := range collections {
			for measure, value := range measures {
				flat[analyzer+" "+collection+" "+measure] = strconv.FormatFloat(value, 'f', 4, 64)
			}
		}
	}
	return flat
}

func readGolden(t *testing.T, path string) values {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var v values
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return v
}

func writeGolden(t *testing.T, path string, v values) {
	t.Helper()
	for _, collections := range v {
		for _, measures := range collections {
			for measure, value := range measures {
				measures[measure] = math.Round(value*1e4) / 1e4
			}
		}
	}
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(text, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}
