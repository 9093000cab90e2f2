package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/latency"
)

func writeGame(t *testing.T, lines string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "game.jsonl")
	if err := os.WriteFile(path, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// gameReportOf runs the game and reads its report.
func gameReportOf(t *testing.T, o options, work string) *gameReport {
	t.Helper()
	if err := runGame(t.Context(), o, work); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(o.json)
	if err != nil {
		t.Fatal(err)
	}
	r := new(gameReport)
	if err := json.Unmarshal(data, r); err != nil {
		t.Fatal(err)
	}
	return r
}

func writeGamePassages(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for i := range 1500 {
		fmt.Fprintf(&b, `{"id":"p%d","title":"title","text":"the a%d b%d a%d c%d the b%d"}`+"\n", i, i%7, i%10, i%3, i%211, i%4)
	}
	path := filepath.Join(t.TempDir(), "p.jsonl")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReadGame(t *testing.T) {
	queries, err := readGame(writeGame(t, `{"query": "the", "tags": ["term"]}
{"query": "+\"the who\" -uk a1", "tags": ["mixed", "global"]}
`))
	if err != nil {
		t.Fatal(err)
	}
	if want := []gameQuery{{"the", "term"}, {`+"the who" -uk a1`, "mixed"}}; !reflect.DeepEqual(queries, want) {
		t.Errorf("got %q, want %q", queries, want)
	}
	if got := gameKinds(append(queries, queries...)); !reflect.DeepEqual(got, []string{"term", "mixed"}) {
		t.Errorf("kinds %q", got)
	}
	for _, line := range []string{
		"", "x", `{"query": "", "tags": ["term"]}`, `{"query": "a"}`, `{"query": "A", "tags": ["term"]}`, `{"query": "\"a", "tags": ["t"]}`,
		`{"query": "+ a", "tags": ["t"]}`, `{"query": "a  b", "tags": ["t"]}`, `{"query": "a-b", "tags": ["t"]}`, `{"query": "\"\"", "tags": ["t"]}`,
	} {
		if _, err := readGame(writeGame(t, line+"\n")); err == nil {
			t.Errorf("%q is accepted", line)
		}
	}
}

func TestGameClauses(t *testing.T) {
	q := gameQuery{text: `+"the who" uk -a "x"`}
	var got []string
	q.clauses(func(occur byte, words []string) { got = append(got, fmt.Sprint(string(occur), words)) })
	if want := []string{"+[the who]", "\x00[uk]", "-[a]", "\x00[x]"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Griffin and bleve answer all commands alike, over a small collection, or runGame fails.
func TestRunGame(t *testing.T) {
	dir := t.TempDir()
	o := options{
		docs: 1500, json: filepath.Join(dir, "result.json"), passages: []string{writeGamePassages(t)},
		game: gameOptions{runs: 2, times: filepath.Join(dir, "times.tsv"), queries: writeGame(t, `{"query": "the", "tags": ["term"]}
{"query": "a1", "tags": ["term"]}
{"query": "nowhere", "tags": ["term"]}
{"query": "a1 b2 c3", "tags": ["union"]}
{"query": "+a1 +b2", "tags": ["intersection"]}
{"query": "+a1 +b2 +c3 +the", "tags": ["intersection"]}
{"query": "+a1 +nowhere", "tags": ["intersection"]}
{"query": "\"a1 b2\"", "tags": ["phrase"]}
{"query": "\"a1 b2 a1\"", "tags": ["phrase"]}
{"query": "\"the a1\" \"b2 the\" c3", "tags": ["mixed"]}
{"query": "+\"the a1\" +b2", "tags": ["mixed"]}
{"query": "+c3 the a1", "tags": ["mixed"]}
{"query": "+the -a1 -b2", "tags": ["negated"]}
`)},
	}
	r := gameReportOf(t, o, dir)
	if len(r.Kinds) != 7 || len(r.Cells) != 7*len(gameCommands) || r.NumDocs != 1500 || r.NumQueries != 13 {
		t.Errorf("%+v", r)
	}
	if all := r.Kinds[6]; all.Name != gameAll || all.Queries != 13 || all.Matches < 100 || all.Overlap < 0.1 {
		t.Errorf("%+v", all)
	}
	for _, c := range r.Cells {
		if c.Ratio <= 0 || c.Latency[0].P99 < c.Latency[0].P50 {
			t.Errorf("%+v", c)
		}
	}
	times, err := os.ReadFile(o.game.times)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(times), "\n"); n != 13*len(gameCommands) || !strings.HasPrefix(string(times), "TOP_10\tterm\tthe\t1500\t") {
		t.Errorf("%d times: %.100s", n, times)
	}
}

// Engines that differ in an answer are an error, and so are commands of an engine that differ.
func TestGameAgree(t *testing.T) {
	g := &game{engines: []gameEngine{new(griffinGame), new(bleveGame)}, queries: []gameQuery{{"a", "term"}}, matches: make([]int64, 1)}
	top, counted, count := &gameCommands[0], &gameCommands[3], &gameCommands[4]
	for _, c := range []struct {
		command *gameCommand
		answers [][]int64
		ok      bool
	}{
		{top, [][]int64{{1}, {1}}, true},
		{counted, [][]int64{{7}, {8}}, false},
		{counted, [][]int64{{7}, {7}}, true},
		{count, [][]int64{{8}, {8}}, false},
		{count, [][]int64{{7}, {7}}, true},
	} {
		if err := g.agree(c.command, c.answers); (err == nil) != c.ok {
			t.Errorf("%s: %v: %v", c.command.name, c.answers, err)
		}
	}
	if got := overlap([]int{1, 2, 3}, []int{3, 4}); got != 0.5 {
		t.Errorf("overlap %g", got)
	}
}

func TestGameFastEnough(t *testing.T) {
	r := &gameReport{Engines: []string{"griffin", "other"}, Cells: []gameCell{{Ratio: 2, Latency: make([]latency.Summary, 2)}}}
	if err := r.fastEnough(); err != nil {
		t.Error(err)
	}
	r.Cells[0].Ratio = 1.9
	if err := r.fastEnough(); err == nil {
		t.Error("1.9 times is enough")
	}
}

// An answer of Lucene's process, as LuceneGame.java writes it.
func TestParseGameAnswer(t *testing.T) {
	if n, took, err := parseGameAnswer("12\t1500"); n != 12 || took != 1500*time.Nanosecond || err != nil {
		t.Errorf("%d, %v, %v", n, took, err)
	}
	for _, line := range []string{"", "1", "1\t", "x\t1", "1\tx"} {
		if n, _, err := parseGameAnswer(line); err == nil {
			t.Errorf("%q is %d", line, n)
		}
	}
}
