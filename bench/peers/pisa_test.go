package main

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// The output of queries with --output.
func TestParsePisaTimes(t *testing.T) {
	type timed struct {
		algorithm string
		query     int
		took      time.Duration
	}
	var got []timed
	add := func(algorithm string, query int, took time.Duration) {
		got = append(got, timed{algorithm, query, took})
	}
	if err := parsePisaTimes(pisaTimesHeader+"wand\t7\t1\t12\nmaxscore\t0\t1\t0\n", add); err != nil {
		t.Fatal(err)
	}
	if want := []timed{{"wand", 7, 12 * time.Microsecond}, {"maxscore", 0, 0}}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, text := range []string{"", "wand\t7\t1\t12\n", "wand\t7\t12\n", "wand\tx\t1\t12\n", "wand\t7\t1\t-1\n", "wand\t7\t1\t1.5\n", "\n"} {
		if err := parsePisaTimes(pisaTimesHeader+text, add); (err == nil) != (text == "" || text == "wand\t7\t1\t12\n") {
			t.Errorf("%q: %v", text, err)
		}
	}
	if err := parsePisaTimes("wand\t7\t1\t12\n", add); err == nil {
		t.Error("times without a header are accepted")
	}
}

// The output of evaluate_queries.
func TestParsePisaHits(t *testing.T) {
	var got [][2]int
	add := func(query, doc int) { got = append(got, [2]int{query, doc}) }
	if err := parsePisaHits(strings.NewReader("3 Q0 17 1 2.5 R0\n3 Q0 4 2 1e-06 R0\n"), add); err != nil {
		t.Fatal(err)
	}
	if want := [][2]int{{3, 17}, {3, 4}}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, line := range []string{"x", "3 17 1", "x Q0 17 1 2.5 R0", "3 Q0 x 1 2.5 R0", "3 Q0 17"} {
		if err := parsePisaHits(strings.NewReader(line), add); err == nil {
			t.Errorf("%q is accepted", line)
		}
	}
}

func TestPisaCommandFails(t *testing.T) {
	p := &pisaTools{bin: fakePisaTools(t), dir: t.TempDir()}
	if err := p.check(); err != nil {
		t.Error(err)
	}
	writeScript(t, filepath.Join(p.bin, pisaWand), "echo no bounds >&2; exit 3")
	err := p.build(t.Context(), newPisaCollection(slices.Values([][]string{{"a"}})))
	if err == nil || !strings.Contains(err.Error(), "create_wand_data") || !strings.Contains(err.Error(), "no bounds") {
		t.Errorf("%v lacks the command or its message", err)
	}
	if err := os.Remove(filepath.Join(p.bin, pisaEvaluate)); err != nil {
		t.Fatal(err)
	}
	if err := p.check(); err == nil || !strings.Contains(err.Error(), pisaEvaluate) {
		t.Errorf("a missing command: %v", err)
	}
}
