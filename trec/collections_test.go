package trec

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/griffin-search/griffin/internal/shareddata"
)

// Each query's ideal ranking is perfect in every measure.
func TestCollections(t *testing.T) {
	dir := shareddata.Dir(t)
	// From the collections' README; judged ones counted.
	tests := []struct {
		name            string
		queries, judged int
	}{
		{"scifact", 300, 300},
		{"nfcorpus", 323, 323},
		{"cranfield", 225, 225},
		{"cacm", 64, 52},
		{"npl_vaswani", 93, 93},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			collection := filepath.Join(dir, "collections", tt.name)
			if topics := topicsOf(t, filepath.Join(collection, "queries.tsv")); len(topics) != tt.queries {
				t.Errorf("%s: %d queries, want %d", tt.name, len(topics), tt.queries)
			}
			f, err := os.Open(filepath.Join(collection, "qrels.txt"))
			if err != nil {
				t.Fatal(err)
			}
			qrels, err := ReadQrels(f)
			f.Close()
			if err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
			if len(qrels.Queries()) != tt.judged {
				t.Errorf("%s: %d judged queries, want %d", tt.name, len(qrels.Queries()), tt.judged)
			}
			checkIdealRun(t, tt.name, qrels)
		})
	}
}

func topicsOf(t *testing.T, path string) []Topic {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	topics, err := ReadTopics(f)
	if err != nil {
		t.Fatalf("%s: %v", filepath.Base(path), err)
	}
	return topics
}

func checkIdealRun(t *testing.T, name string, qrels *Qrels) {
	t.Helper()
	run := new(Run)
	for _, query := range qrels.Queries() {
		var entries []RunEntry
		for doc, relevance := range qrels.Judgments(query) {
			if relevance > 0 {
				entries = append(entries, RunEntry{doc, float64(relevance)})
			}
		}
		if err := run.AddRanking(query, entries); err != nil {
			t.Fatal(err)
		}
	}
	measures := mustMeasures(t, "map", "ndcg", "ndcg_cut_10", "Rprec", "recip_rank", "recall_1000", "bpref", "gm_map")
	ev, err := Evaluate(qrels, run, measures, Options{})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	for i, m := range measures {
		if math.Abs(ev.All[i]-1) > 1e-12 {
			t.Errorf("%s: %s of the ideal ranking is %v", name, m, ev.All[i])
		}
	}
}

func TestQueryLogs(t *testing.T) {
	dir := shareddata.Dir(t)
	for file, want := range map[string]int{
		"trec_tb05_efficiency.tsv": 50_000, "trec_tb06_efficiency.tsv": 100_000,
		"tb05-1000.tsv": 1000, "tb06-1000.tsv": 1000,
	} {
		t.Run(file, func(t *testing.T) {
			if topics := topicsOf(t, filepath.Join(dir, "queries", file)); len(topics) != want {
				t.Errorf("%s: %d topics, want %d", file, len(topics), want)
			}
		})
	}
}
