package trec

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// A parser's error must have a line of the input.
func checkInputError(t *testing.T, input string, err error) {
	t.Helper()
	var syntax *SyntaxError
	if !errors.As(err, &syntax) {
		t.Fatalf("error %v of type %T", err, err)
	}
	if lines := strings.Count(input, "\n") + 1; syntax.Line < 1 || syntax.Line > lines {
		t.Fatalf("%v, but the input has %d lines", err, lines)
	}
}

func FuzzReadTopics(f *testing.F) {
	f.Add(classicTopics)
	f.Add(webTopics)
	f.Add("1\tblack bear\n2\tb\n")
	f.Add(`{"_id":"1","text":"a"}`)
	f.Add("\ufeff\n <top><num>1<title>a<title></top>")
	f.Add("<topic number=1 x='<'></topic>")
	f.Fuzz(func(t *testing.T, input string) {
		topics, err := ReadTopics(strings.NewReader(input))
		if err != nil {
			checkInputError(t, input, err)
			return
		}
		seen := make(map[string]bool)
		for _, topic := range topics {
			if !isField(topic.ID) || seen[topic.ID] {
				t.Fatalf("topic id %q", topic.ID)
			}
			seen[topic.ID] = true
			if topic.Title != oneLine(topic.Title) || topic.Description != oneLine(topic.Description) {
				t.Fatalf("white space in %+v", topic)
			}
		}
		if len(topics) == 0 {
			t.Fatal("neither topics nor an error")
		}
	})
}

func FuzzReadQrels(f *testing.F) {
	f.Add(workedQrels)
	f.Add("query-id\tcorpus-id\tscore\nq\td\t1\n")
	f.Add("# c\n1 0 a -1\n1 0 b 2147483647")
	f.Fuzz(func(t *testing.T, input string) {
		qrels, err := ReadQrels(strings.NewReader(input))
		if err != nil {
			checkInputError(t, input, err)
			return
		}
		for _, query := range qrels.Queries() {
			if !isField(query) || len(qrels.Judgments(query)) == 0 {
				t.Fatalf("query %q with judgments %v", query, qrels.Judgments(query))
			}
		}
	})
}

func FuzzReadRun(f *testing.F) {
	f.Add(workedRun, workedQrels)
	f.Add("1 Q0 a 1 1e-40 t\n1 Q0 b 2 -0 t\n1 Q0 c 0 +Inf t", "1 0 a 1\n")
	f.Add("1 Q0 a 1 0x1p-2 t x y\n", "1 0 b -1\n")
	measures := AllMeasures()
	f.Fuzz(func(t *testing.T, input, judgments string) {
		run, err := ReadRun(strings.NewReader(input))
		if err != nil {
			checkInputError(t, input, err)
			return
		}
		checkWriteRead(t, run)
		qrels, err := ReadQrels(strings.NewReader(judgments))
		if err != nil {
			return
		}
		ev, err := Evaluate(qrels, run, measures, Options{})
		if err != nil {
			if !errors.Is(err, ErrNoQueries) {
				t.Fatal(err)
			}
			return
		}
		for i, m := range measures {
			if v := ev.All[i]; !(v >= 0) || m.family.summary != summarySum && v > 1+1e-9 {
				t.Fatalf("%s = %v", m, v)
			}
		}
	})
}

// With TiesKeepOrder.
func checkWriteRead(t *testing.T, run *Run) {
	t.Helper()
	for _, query := range run.Queries() {
		ranking := run.Ranking(query)
		if query[0] == '#' {
			t.Fatalf("a comment was read as query %q", query)
		}
		var b strings.Builder
		w, err := NewRunWriter(&b, "tag", TiesKeepOrder)
		if err != nil {
			t.Fatal(err)
		}
		kept := make([]RunEntry, len(ranking))
		for i, e := range ranking {
			kept[i] = RunEntry{e.DocNo, float64(float32(e.Score))}
		}
		if w.WriteRanking(query, kept) != nil {
			continue // a score is not a finite float32
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		back, err := ReadRun(strings.NewReader(b.String()))
		if err != nil {
			t.Fatalf("%v in\n%s", err, b.String())
		}
		if !slices.Equal(docNos(back.Ranking(query)), docNos(ranking)) {
			t.Fatalf("the order of %v is lost in\n%s", ranking, b.String())
		}
	}
}
