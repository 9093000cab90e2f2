package dispatch

import (
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/internal/shareddata"
	"github.com/griffin-search/griffin/internal/vfs"
	"github.com/griffin-search/griffin/query"
	"github.com/griffin-search/griffin/trec"
)

// buildIndex indexes each group of files as one commit.
func buildIndex(t testing.TB, o index.Options, groups ...[]string) *index.Index {
	t.Helper()
	ix, err := index.Create(vfs.OS, t.TempDir()+"/index", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ix.Close() })
	for _, paths := range groups {
		reader, err := corpus.Open(paths, corpus.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ix.Build(t.Context(), reader, index.BuildOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	return ix
}

// compareLog answers a log on both processors, in every mode and for several k, size at a time
// and, of each mode, some alone.
func (p *gpuPair) compareLog(t *testing.T, texts []string, modes []plan.Mode, size, alone int) {
	for _, mode := range modes {
		for i, k := range []int{10, 100, 1000} {
			for from := 0; from < len(texts); from += size {
				var batch []query.Node
				for _, text := range texts[from:min(from+size, len(texts))] {
					batch = append(batch, logQuery(t, text))
				}
				p.checkBatch(t, batch, Options{Mode: mode, K: k})
			}
			for _, text := range texts[i*alone : min((i+1)*alone, len(texts))] {
				p.check(t, logQuery(t, text), Options{Mode: mode, K: k})
			}
		}
	}
}

func logQuery(t *testing.T, text string) query.Node {
	t.Helper()
	if !query.IsWeights(text) {
		return &query.Words{Text: text, Boost: 1}
	}
	w, err := query.ParseWeights(text)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// A judged collection and a slice of the wiki passages, by several codecs.
func TestGPUCollections(t *testing.T) {
	numQueries, numPassages := 6, 1500
	if gputest.OnGPU() {
		numQueries, numPassages = 500, 50_000
	} else if testing.Short() {
		t.Skip("left out with -short")
	}
	g := testGPU(t, pipeline.Options{Memory: pipeline.Memory{Bytes: 64 << 20}})
	cacm := shareddata.OneCollection(t, "cacm")
	wiki := plantest.WikiSlice(t, numPassages)
	dir := t.TempDir()
	half := len(wiki) / 2
	for _, c := range []struct {
		name    string
		index   *index.Index
		queries []string
	}{
		{"cacm", buildIndex(t, index.Options{Codec: "ef"}, []string{cacm.Corpus}), queryTexts(t, cacm.Queries, numQueries)},
		{
			"wiki", buildIndex(t, index.Options{}, []string{plantest.WriteLines(t, dir, "a", wiki[:half])}, []string{plantest.WriteLines(t, dir, "b", wiki[half:])}),
			logTexts(shareddata.Queries(t, "tb05-1000.tsv"), numQueries),
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := c.index.BuildImpacts(t.Context(), index.ImpactOptions{}); err != nil {
				t.Fatal(err)
			}
			p := newGPUPair(t, indextest.Snapshot(t, c.index), g)
			p.compareLog(t, c.queries, []plan.Mode{plan.ModeOr, plan.ModeAnd, plan.ModeAndOr, plan.ModeSaat}, 100, 2)
		})
	}
	if s := g.Stats(); s.OnCPU > s.OnGPU/10 || s.Devices[0].Errors != 0 {
		t.Errorf("%+v: want nearly all queries on the GPU, and no error", s)
	}
}

func logTexts(queries []shareddata.Query, n int) []string {
	var texts []string
	for _, q := range queries[:min(n, len(queries))] {
		texts = append(texts, q.Text)
	}
	return texts
}

func queryTexts(t testing.TB, path string, n int) []string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	topics, err := trec.ReadTopics(f)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, topic := range topics[:min(n, len(topics))] {
		texts = append(texts, topic.Title)
	}
	return texts
}

// Variables that name an index, a query log and GPUs, such as 0,1 (default: 0), for
// TestGPUQueryLog.
const (
	logIndexVariable   = "GRIFFIN_TEST_INDEX"
	logQueriesVariable = "GRIFFIN_TEST_QUERIES"
	logDevicesVariable = "GRIFFIN_TEST_DEVICES"
)

// An index that is too large to be made by a test (bench/gpu/run), else a small one, resident and with memory for a tenth
// of it.
func TestGPUQueryLog(t *testing.T) {
	snapshot, texts := queryLog(t)
	devices, err := pipeline.ParseSelection(os.Getenv(logDevicesVariable))
	if err != nil {
		t.Fatal(err)
	}
	for _, memory := range []string{"", "10%"} {
		t.Run("memory="+strings.TrimSuffix(memory, "%"), func(t *testing.T) {
			m, err := pipeline.ParseMemory(memory)
			if err != nil {
				t.Fatal(err)
			}
			if memory == "" {
				m.Percent = 1000
			}
			g := testGPU(t, pipeline.Options{Devices: devices, Memory: m, IndexBytes: ListBytes(snapshot)})
			p := newGPUPair(t, snapshot, g)
			p.compareLog(t, texts, []plan.Mode{plan.ModeOr, plan.ModeAnd, plan.ModeAndOr}, 500, min(50, len(texts)/3))
			s := g.Stats()
			t.Logf("%+v", s)
			// With little memory CPUs help.
			failed := slices.ContainsFunc(s.Devices, func(d DeviceStats) bool { return d.Errors != 0 })
			if failed || s.OnGPU == 0 || memory == "" && s.OnCPU > s.OnGPU/10 {
				t.Errorf("%+v: want queries on the GPU, nearly all where it holds all lists, and no error", s)
			}
		})
	}
}

// queryLog returns the index and the queries that variables name, or small random ones.
func queryLog(t *testing.T) (snapshot *index.Snapshot, texts []string) {
	t.Helper()
	if dir := os.Getenv(logIndexVariable); dir != "" {
		ix, err := index.Open(vfs.OS, dir)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = ix.Close() })
		return indextest.Snapshot(t, ix), queryTexts(t, os.Getenv(logQueriesVariable), 1000)
	}
	rng := rand.New(rand.NewPCG(77, 1))
	for range 12 {
		texts = append(texts, plantest.RandomWords(rng, 1+rng.IntN(3)))
	}
	return indextest.Snapshot(t, plantest.RandomIndex(t, rng, 900, 2, true)), texts
}
