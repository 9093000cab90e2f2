package trec

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

func TestReadQrels(t *testing.T) {
	const text = "# pool of 2005\n301 0 FR-1 1\r\n\n  302\tQ0\tFT-2 -2  \n301 0 FR-3 0"
	q := mustQrels(t, text)
	if want := []string{"301", "302"}; !slices.Equal(q.Queries(), want) {
		t.Errorf("queries %q, want %q", q.Queries(), want)
	}
	if want := map[string]int{"FR-1": 1, "FR-3": 0}; !maps.Equal(q.Judgments("301"), want) {
		t.Errorf("judgments %v, want %v", q.Judgments("301"), want)
	}
	if r, ok := q.Relevance("302", "FT-2"); r != -2 || !ok {
		t.Errorf("relevance %d, %v", r, ok)
	}
	for _, pair := range [][2]string{{"301", "FT-2"}, {"303", "FR-1"}} {
		if r, ok := q.Relevance(pair[0], pair[1]); r != 0 || ok {
			t.Errorf("%q: relevance %d, %v, want none", pair, r, ok)
		}
	}
}

func TestReadQrelsBEIR(t *testing.T) {
	q := mustQrels(t, "query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td2\t2\n")
	if want := map[string]int{"d1": 1, "d2": 2}; !maps.Equal(q.Judgments("q1"), want) {
		t.Errorf("judgments %v, want %v", q.Judgments("q1"), want)
	}
}

func TestReadQrelsErrors(t *testing.T) {
	tests := []struct {
		name, input string
		line        int
		message     string
	}{
		{"three fields", "1 0 a 1\n1 a 1\n", 2, "3 fields, want 4"},
		{"five fields", "1 0 a 1 x\n", 1, "5 fields, want 4"},
		{"BEIR with four fields", "query-id corpus-id score\n1 0 a 1\n", 2, "4 fields, want 3"},
		{"BEIR header not first", "1 0 a 1\nquery-id corpus-id score\n", 2, "3 fields"},
		{"half a BEIR header, the first", "query-id doc score\nq1 d1 1\n", 1, "3 fields, want 4"},
		{"half a BEIR header, the second", "query corpus-id score\nq1 d1 1\n", 1, "3 fields, want 4"},
		{"relevance of text", "1 0 a yes\n", 1, `"yes" is not an integer`},
		{"relevance with a point", "1 0 a 1.0\n", 1, "not an integer"},
		{"huge relevance", "1 0 a 99999999999\n", 1, "not an integer"},
		{"judged twice", "1 0 a 1\n2 0 a 1\n1 0 a 0\n", 3, `"a" is judged twice for query "1"`},
		{"long line", "1 0 a 1\n" + strings.Repeat("x", maxLineBytes+1), 2, "longer than"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ReadQrels(strings.NewReader(tt.input))
			checkSyntaxError(t, tt.name, err, tt.line, tt.message)
		})
	}
}
