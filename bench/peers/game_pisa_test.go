package main

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/latency"
)

func TestPisaForm(t *testing.T) {
	for text, want := range map[string]pisaForm{
		"a":         {words: []string{"a"}, all: true, any: true},
		"+a":        {words: []string{"a"}, all: true, any: true},
		"+a +b":     {words: []string{"a", "b"}, all: true},
		"a b a":     {words: []string{"a", "b", "a"}, any: true},
		"+a b":      {words: []string{"a", "b"}, cannot: pisaNoMixture},
		`"a b"`:     {words: []string{"a"}, all: true, any: true, cannot: pisaNoPositions},
		"+a -b":     {words: []string{"a", "b"}, cannot: pisaNoNegation},
		`a "b c"`:   {words: []string{"a", "b"}, any: true, cannot: pisaNoPositions},
		`+a +"b c"`: {words: []string{"a", "b"}, all: true, cannot: pisaNoPositions},
	} {
		if got := (&gameQuery{text: text}).pisa(); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
	}
}

// Griffin and a PISA of this test agree, and each kind that PISA cannot run has a reason.
func TestRunGamePisa(t *testing.T) {
	dir := t.TempDir()
	o := options{
		docs: 1500, json: filepath.Join(dir, "result.json"), passages: []string{writeGamePassages(t)},
		game: gameOptions{runs: 2, pisa: fakePisaTools(t), queries: writeGame(t, `{"query": "the", "tags": ["term"]}
{"query": "+a1 +b2", "tags": ["intersection"]}
{"query": "+a1 +nowhere", "tags": ["intersection"]}
{"query": "a1 b2 nowhere c3", "tags": ["union"]}
{"query": "nowhere", "tags": ["union"]}
{"query": "\"a1 b2\"", "tags": ["phrase"]}
{"query": "+c3 the a1", "tags": ["intersection_union"]}
{"query": "+the -a1 -b2", "tags": ["negated"]}
{"query": "c3 a1", "tags": ["mixed"]}
{"query": "+c3 +a1", "tags": ["mixed"]}
{"query": "nowhere", "tags": ["absent"]}
`)},
	}
	r := gameReportOf(t, o, dir)
	if !slices.Equal(r.Engines, []string{"griffin"}) || r.Kinds != nil || r.Cells != nil || len(r.PISA.Cells) != 8*len(gameCommands) {
		t.Errorf("%+v", r)
	}
	for _, k := range r.PISA.Kinds {
		if k.Overlap < 0.85 {
			t.Errorf("common hits of %+v", k)
		}
	}
	best := map[string]string{ // the fake's last algorithm is its fastest
		"term TOP_10": "ranked_or", "term COUNT": "and", "intersection TOP_1000": "block_max_ranked_and", "intersection COUNT": "and",
		"union TOP_100": "ranked_or", "union COUNT": "or",
	}
	cannot := map[string]string{
		"phrase": pisaNoPositions, "intersection_union": pisaNoMixture, "negated": pisaNoNegation, "mixed": pisaNoForm, "absent": pisaNoWords,
	}
	for _, c := range r.PISA.Cells {
		want, no := best[c.Kind+" "+c.Command], cannot[c.Kind]
		if no == "" && c.Command == "TOP_100_COUNT" || c.Kind == "absent" && c.Command == "TOP_100_COUNT" {
			no = pisaNoCount
		}
		if c.Cannot != no || (c.Algorithm == "") != (no != "") || want != "" && c.Algorithm != want {
			t.Errorf("%s of %s: %q, %q, want %q, %q", c.Command, c.Kind, c.Algorithm, c.Cannot, want, no)
		}
		if no == "" && (c.Ratio <= 0 || c.Queries != 1 || c.Latency[1].Mean < 96*time.Microsecond || c.Latency[1].Mean > 100*time.Microsecond) {
			t.Errorf("%+v", c)
		}
	}
	writeScript(t, filepath.Join(o.game.pisa, pisaEvaluate), "echo 0 Q0 17 1 1.0 R0")
	if err := runGame(t.Context(), o, t.TempDir()); err == nil || !strings.Contains(err.Error(), "finds 1, griffin 1500") {
		t.Errorf("a wrong number of hits: %v", err)
	}
	writeScript(t, filepath.Join(o.game.pisa, pisaQueries), `while [ "$1" != --output ]; do shift; done; printf 'algorithm\tqid\trun\tusec\n' > "$2"`)
	if err := runGame(t.Context(), o, t.TempDir()); err == nil || !strings.Contains(err.Error(), "no time of") {
		t.Errorf("no times: %v", err)
	}
	writeScript(t, filepath.Join(o.game.pisa, pisaQueries), "")
	if err := runGame(t.Context(), o, t.TempDir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file of times: %v", err)
	}
}

// Both orders have the same matches and, of the same queries, times of their own.
func TestRunGamePisaBP(t *testing.T) {
	dir := t.TempDir()
	o := options{
		docs: 1500, json: filepath.Join(dir, "result.json"), passages: []string{writeGamePassages(t)},
		game: gameOptions{runs: 2, bp: true, pisa: fakePisaTools(t), queries: writeGame(t, `{"query": "+a1 +b2", "tags": ["intersection"]}
{"query": "a1 b2 b150", "tags": ["union"]}
{"query": "b7", "tags": ["term"]}
{"query": "\"a1 b2\"", "tags": ["phrase"]}
`)},
	}
	r := gameReportOf(t, o, dir)
	if r.PISA.Order != orderNatural || r.PISABP.Order != orderBP || len(r.PISA.Kinds) != 3 || len(r.PISABP.Kinds) != 3 {
		t.Fatalf("%+v, %+v", r.PISA, r.PISABP)
	}
	for i, k := range r.PISABP.Kinds {
		if k.Matches != r.PISA.Kinds[i].Matches || k.Overlap < 0.85 {
			t.Errorf("%+v in BP order, %+v in natural order", k, r.PISA.Kinds[i])
		}
	}
	if len(r.PISA.Cells) != 4*len(gameCommands) || len(r.PISABP.Cells) != 3*(len(gameCommands)-1) {
		t.Errorf("%d and %d cells", len(r.PISA.Cells), len(r.PISABP.Cells))
	}
	ownTimes := false
	for _, c := range r.PISABP.Cells {
		same := slices.IndexFunc(r.PISA.Cells, func(n pisaCell) bool { return n.Kind == c.Kind && n.Command == c.Command })
		if same < 0 {
			t.Fatalf("%+v in BP order only", c)
		}
		n := r.PISA.Cells[same]
		if c.Cannot != "" || c.Ratio <= 0 || c.Queries != n.Queries || c.Latency[1].Mean-n.Latency[1].Mean != fakeSlowerBP*time.Microsecond {
			t.Errorf("%+v in BP order, %+v in natural order", c, n)
		}
		ownTimes = ownTimes || c.Latency[0] != n.Latency[0]
	}
	if !ownTimes {
		t.Error("Griffin's times are the same in both orders")
	}
	reorder := filepath.Join(o.game.pisa, pisaReorder)
	writeScript(t, reorder, "echo no order >&2; exit 3")
	if err := runGame(t.Context(), o, t.TempDir()); err == nil || !strings.Contains(err.Error(), "no order") {
		t.Errorf("a failed %s: %v", pisaReorder, err)
	}
	if err := os.Remove(reorder); err != nil {
		t.Fatal(err)
	}
	if err := runGame(t.Context(), o, t.TempDir()); err == nil || !strings.Contains(err.Error(), pisaReorder) {
		t.Errorf("without %s: %v", pisaReorder, err)
	}
	o.game.bp = false
	if r := gameReportOf(t, o, t.TempDir()); r.PISA == nil || r.PISABP != nil {
		t.Errorf("without -bp: %+v", r.PISABP)
	}
}

func TestPisaReport(t *testing.T) {
	c := pisaCell{Kind: "union", Command: "TOP_10"}
	griffin := latency.Summarize([]time.Duration{20 * time.Microsecond})
	for algorithm, mean := range map[string]time.Duration{"maxscore": 50 * time.Microsecond, "wand": 70 * time.Microsecond} {
		c.add(algorithm, griffin, latency.Summarize([]time.Duration{mean}))
	}
	c.add("none", latency.Summary{}, latency.Summary{})
	r := &gameReport{Engines: []string{"griffin"}, PISA: &pisaReport{Cells: []pisaCell{
		c, {Kind: "phrase", Command: "COUNT", Queries: 1, Cannot: pisaNoPositions, Latency: []latency.Summary{griffin}},
	}}}
	var b strings.Builder
	r.write(&b)
	for _, want := range []string{
		"| union | TOP_10 | 1 | maxscore | 20.0 / 20.0 | 50.0 / 50.0 | 2.50 |\n", "| phrase | COUNT | 1 | none: no positions | 20.0 / 20.0 | – | – |\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, b.String())
		}
	}
	if want := map[string]float64{"maxscore": 50, "wand": 70}; !reflect.DeepEqual(c.Means, want) {
		t.Errorf("means %v, want %v", c.Means, want)
	}
}
