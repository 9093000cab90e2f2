package trec

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
)

func docNos(entries []RunEntry) []string {
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.DocNo
	}
	return names
}

func TestReadRun(t *testing.T) {
	const text = "# a comment\n" +
		"2 Q0 a 1 1.5 first\n" +
		"1\tQ0\tx\t1\t-3e-2\tsecond and more\r\n\n" +
		"2 Q0 b 7 1.5 first\n" +
		" 2 Q0 c 3 22 last\n"
	r := mustRun(t, text)
	if r.Tag != "last" || !slices.Equal(r.Queries(), []string{"2", "1"}) {
		t.Errorf("tag %q, queries %q", r.Tag, r.Queries())
	}
	if want := []RunEntry{{"c", 22}, {"b", 1.5}, {"a", 1.5}}; !slices.Equal(r.Ranking("2"), want) {
		t.Errorf("ranking %v, want %v", r.Ranking("2"), want)
	}
	if want := []RunEntry{{"x", -0.03}}; !slices.Equal(r.Ranking("1"), want) {
		t.Errorf("ranking %v, want %v", r.Ranking("1"), want)
	}
	if r.Ranking("3") != nil {
		t.Error("a query that is not in the run has a ranking")
	}
}

func TestReadRunErrors(t *testing.T) {
	tests := []struct {
		name, input string
		line        int
		message     string
	}{
		{"no tag", "1 Q0 a 1 1.5 t\n1 Q0 b 2 1.4\n", 2, "5 fields, want 6"},
		{"score of text", "1 Q0 a 1 high t\n", 1, `"high" is not a number`},
		{"score NaN", "\n1 Q0 a 1 NaN t\n", 2, "not a number"},
		{"score out of range", "1 Q0 a 1 1e999 t\n", 1, "not a number"},
		{"document twice", "1 Q0 a 1 3 t\n2 Q0 a 1 3 t\n1 Q0 b 2 2 t\n1 Q0 a 3 1 t\n", 4, `"a" is already on line 1 for query "1"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ReadRun(strings.NewReader(tt.input))
			checkSyntaxError(t, tt.name, err, tt.line, tt.message)
		})
	}
}

func TestAddRanking(t *testing.T) {
	var r Run
	entries := []RunEntry{{"a", 1}, {"b", 1}, {"c", 2}}
	if err := r.AddRanking("q", entries); err != nil {
		t.Fatal(err)
	}
	if got := docNos(r.Ranking("q")); !slices.Equal(got, []string{"c", "b", "a"}) {
		t.Errorf("ranking %q", got)
	}
	if entries[0].DocNo != "a" {
		t.Error("AddRanking reordered its input")
	}
	if err := r.AddRanking("empty", nil); err != nil || len(r.Queries()) != 1 {
		t.Errorf("a query without results: %v, queries %q", err, r.Queries())
	}
	for name, err := range map[string]error{
		"query twice":    r.AddRanking("q", entries),
		"document twice": r.AddRanking("r", []RunEntry{{"a", 2}, {"a", 1}}),
		"not a number":   r.AddRanking("r", []RunEntry{{"a", math.NaN()}}),
	} {
		t.Run(name, func(t *testing.T) {
			if !errors.Is(err, base.ErrBadInput) {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

func writeRun(t *testing.T, ties TiePolicy, query string, entries []RunEntry) string {
	t.Helper()
	var b strings.Builder
	w, err := NewRunWriter(&b, "tag", ties)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.WriteRanking(query, entries); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestRunWriter(t *testing.T) {
	entries := []RunEntry{{"a", 7.25}, {"b", 5.25}, {"c", 5.25}, {"d", 5.25}, {"e", -0.0000152587890625}}
	const kept = `1 Q0 a 1 7.25 tag
1 Q0 b 2 5.25 tag
1 Q0 c 3 5.2499995 tag
1 Q0 d 4 5.249999 tag
1 Q0 e 5 -0.000015258789 tag
`
	if got := writeRun(t, TiesKeepOrder, "1", entries); got != kept {
		t.Errorf("order kept:\n%s\nwant:\n%s", got, kept)
	}
	const asScored = `1 Q0 a 1 7.25 tag
1 Q0 b 2 5.25 tag
1 Q0 c 3 5.25 tag
1 Q0 d 4 5.25 tag
1 Q0 e 5 -0.0000152587890625 tag
`
	if got := writeRun(t, TiesAsScored, "1", entries); got != asScored {
		t.Errorf("as scored:\n%s\nwant:\n%s", got, asScored)
	}
}

// Many ties, with document numbers that trec_eval's rule would reorder.
func TestRunWriterKeepsOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for round := range 200 {
		entries := make([]RunEntry, 1+random.IntN(200))
		fixed := int64(random.IntN(1 << 23)) // scores of 16 fraction bits, up to 128
		for i := range entries {
			fixed -= int64(random.IntN(2) * random.IntN(3))
			entries[i] = RunEntry{fmt.Sprintf("doc%03d", i), float64(fixed) / (1 << 16)}
		}
		text := writeRun(t, TiesKeepOrder, "q", entries)
		got := mustRun(t, text).Ranking("q")
		if !slices.Equal(docNos(got), docNos(entries)) {
			t.Fatalf("round %d: the order is lost:\n%s", round, text)
		}
		for i := range got[1:] {
			if got[i+1].Score >= got[i].Score || float32(got[i+1].Score) >= float32(got[i].Score) {
				t.Fatalf("round %d: scores %v and %v do not fall", round, got[i].Score, got[i+1].Score)
			}
		}
		if moved := math.Abs(got[len(got)-1].Score - entries[len(entries)-1].Score); moved > 0.002 {
			t.Fatalf("round %d: a score moved by %v", round, moved)
		}
	}
}

func TestKeepOrderLeavesDistinctScores(t *testing.T) {
	entries := []RunEntry{{"a", 256 - 1.0/(1<<16)}, {"b", 256 - 2.0/(1<<16)}, {"c", 1.0 / (1 << 16)}, {"d", 0}}
	kept, err := KeepOrder(entries)
	if err != nil || !slices.Equal(kept, entries) {
		t.Errorf("KeepOrder = %v, %v, want its input", kept, err)
	}
}

func TestKeepOrderErrors(t *testing.T) {
	for name, entries := range map[string][]RunEntry{
		"rises":        {{"a", 1}, {"b", 1.0000000001}},
		"not a number": {{"a", 1}, {"b", math.NaN()}},
		"too great":    {{"a", 1e39}},
		"too small":    {{"a", -1e39}},
		"infinite":     {{"a", math.Inf(1)}},
		"no room":      {{"a", -math.MaxFloat32}, {"b", -math.MaxFloat32}},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := KeepOrder(entries); !errors.Is(err, base.ErrBadInput) {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

func TestRunWriterErrors(t *testing.T) {
	for _, tag := range []string{"", "two words"} {
		if _, err := NewRunWriter(new(strings.Builder), tag, TiesKeepOrder); !errors.Is(err, base.ErrBadInput) {
			t.Errorf("tag %q: %v", tag, err)
		}
	}
	var b strings.Builder
	w, err := NewRunWriter(&b, "tag", TiesAsScored)
	if err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"no query":              w.WriteRanking("", []RunEntry{{"a", 1}}),
		"query with a space":    w.WriteRanking("a b", []RunEntry{{"a", 1}}),
		"query as a comment":    w.WriteRanking("#1", []RunEntry{{"a", 1}}),
		"document with a space": w.WriteRanking("1", []RunEntry{{"ok", 2}, {"a\tb", 1}}),
		"no document":           w.WriteRanking("1", []RunEntry{{"", 1}}),
		"not a number":          w.WriteRanking("1", []RunEntry{{"a", math.NaN()}}),
	} {
		t.Run(name, func(t *testing.T) {
			if !errors.Is(err, base.ErrBadInput) {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	if err := w.Flush(); err != nil || b.Len() != 0 {
		t.Errorf("rejected rankings were written: %q, %v", b.String(), err)
	}

	w, err = NewRunWriter(failingWriter{}, "tag", TiesKeepOrder)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.WriteRanking("1", []RunEntry{{"a", 1}}); err != nil {
		t.Errorf("a buffered write: %v", err)
	}
	if err := w.Flush(); !errors.Is(err, errFull) {
		t.Errorf("Flush to a full disk: %v", err)
	}
	many := make([]RunEntry, 1<<14)
	for i := range many {
		many[i] = RunEntry{fmt.Sprint(i), float64(-i)}
	}
	if err := w.WriteRanking("2", many); !errors.Is(err, errFull) {
		t.Errorf("WriteRanking to a full disk: %v", err)
	}
}
