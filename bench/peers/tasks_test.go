package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestParseTasks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tasks")
	text := `# a comment
Prefix3: any*
Wildcard: bu*s
Fuzzy2: bates~2
IntNRQ: nrq//timesecnum 10 20
VectorSearch: vector//many
FilteredOrHighMed: at mostly +filter=5% # freq=1
CountFilteredPhrase: count("it was" +filter=5%)
TermTitleSort: titledvsort//part # freq=5
TermTitleSortSkipper: titleskippersort//part
TermWithDVRangeDayOfYear: st +dvRangeFilter=dayOfYear_skipper,60,180
AndHighHighDayTaxoFacets: +a +work +facets:taxonomy:DayOfYear
BrowseMonthTaxoFacets: *:* +facets:taxonomy:Month
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	tasks, skipped, err := readTasks(path)
	if err != nil {
		t.Fatal(err)
	}
	want := []task{
		{prefix: "any"},
		{wildcard: "bu*s"},
		{fuzzy: "bates", edits: 2},
		{numbers: &numberRange{fieldSeconds, 10, 20}},
		{words: []string{"at", "mostly"}, filter: true},
		{phrase: []string{"it", "was"}, filter: true, count: true},
		{words: []string{"part"}, sort: fieldTitle},
		{words: []string{"st"}, within: &numberRange{fieldDay, 60, 180}},
		{words: []string{"a", "work"}, all: true, facet: fieldDayText},
		{every: true, facet: fieldMonth},
	}
	for i := range tasks {
		tasks[i].category, tasks[i].text = "", ""
	}
	if !reflect.DeepEqual(tasks, want) {
		t.Errorf("got  %+v\nwant %+v", tasks, want)
	}
	if got := fmt.Sprint(skipped); got != "[VectorSearch TermTitleSortSkipper]" {
		t.Errorf("skipped %s", got)
	}
	for _, line := range []string{"FilteredTerm: a +filter=6%", "IntNRQ: nrq//other 1 2", "TermMonthSort: other//a", "TermDateFacets: a +facets:taxonomy:Other", "FilteredTerm: -"} {
		if err := os.WriteFile(path, []byte(line+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := readTasks(path); err == nil {
			t.Errorf("%q is accepted", line)
		}
	}
}

// Both engines answer all kinds of tasks alike, over a small collection; runTasks compares them.
func TestRunTasks(t *testing.T) {
	dir := t.TempDir()
	var passages strings.Builder
	for i := range 600 {
		fmt.Fprintf(&passages, `{"id":"%d","title":"title %d","text":"part st w%d w%d it was any%d"}`+"\n", i, i%7, i%10, i%3, i%5)
	}
	o := options{
		docs: 600, tasks: filepath.Join(dir, "tasks"), json: filepath.Join(dir, "result.json"),
		passages: []string{filepath.Join(dir, "p.jsonl")}, search: searchOptions{runs: 1},
	}
	tasks := `Prefix3: any*
Fuzzy1: pary~1
Wildcard: a*3
IntNRQ: nrq//timesecnum 1000 40000
FilteredOrHighMed: w1 w2 +filter=5%
FilteredPhrase: "it was" +filter=5%
FilteredAndHighMed: +w1 +w2 +filter=5%
CountFilteredIntNRQ: count(nrq//timesecnum 1000 40000 +filter=5%)
TermTitleSort: titledvsort//w1
TermDateTimeSort: lastmodndvsort//w2
TermWithDVRangeDayOfYear: st +dvRangeFilter=dayOfYear_skipper,60,180
MedTermDayTaxoFacets: w3 +facets:taxonomy:Month
BrowseRandomLabelTaxoFacets: *:* +facets:taxonomy:RandomLabel
`
	for path, text := range map[string]string{o.tasks: tasks, o.passages[0]: passages.String()} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := runTasks(t.Context(), o, dir); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(o.json)
	if err != nil {
		t.Fatal(err)
	}
	var r taskReport
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Categories) != 13 || r.NumDocs != 600 || r.Ratio <= 0 {
		t.Errorf("%+v", r)
	}
	for _, c := range r.Categories {
		if c.Tasks != 1 || c.Mean[0] <= 0 || c.Mean[1] <= 0 || c.Unequal > 0 {
			t.Errorf("%+v", c)
		}
	}
	if c := r.Categories[0]; c.Matches != 600 {
		t.Errorf("%+v", c)
	}
}

// A difference between the engines is an error.
func TestCompareTasks(t *testing.T) {
	m := &taskRun{byID: map[string]*taskPassage{}}
	for _, title := range []string{"a", "b"} {
		m.byID[title] = &taskPassage{passage: passage{ID: title, Title: title}}
	}
	byTitle := &task{sort: fieldTitle}
	for _, c := range []struct {
		t    *task
		a, b taskAnswer
		same bool
	}{
		{byTitle, taskAnswer{total: 2, ids: []string{"a", "b"}}, taskAnswer{total: 2, ids: []string{"a", "b"}}, true},
		{byTitle, taskAnswer{total: 2, ids: []string{"a", "b"}}, taskAnswer{total: 2, ids: []string{"b", "a"}}, false},
		{byTitle, taskAnswer{total: 2, ids: []string{"a", "b"}}, taskAnswer{total: 3, ids: []string{"a", "b"}}, false},
		{&task{}, taskAnswer{total: 2, ids: []string{"a"}}, taskAnswer{total: 2}, false},
		{&task{facet: fieldMonth}, taskAnswer{facets: map[string]int64{"Jan": 3, "Feb": 2}}, taskAnswer{facets: map[string]int64{"Jan": 3, "Mar": 2}}, true},
		{&task{facet: fieldMonth}, taskAnswer{facets: map[string]int64{"Jan": 3}}, taskAnswer{facets: map[string]int64{"Jan": 2}}, false},
	} {
		if err := m.compare(c.t, &c.a, &c.b); (err == nil) != c.same {
			t.Errorf("%+v and %+v: %v", c.a, c.b, err)
		}
	}
}

// A task and an answer of Lucene's process, as LuceneTasks.java reads and writes them.
func TestLuceneProtocol(t *testing.T) {
	for _, c := range []struct {
		task task
		want string
	}{
		{task{words: []string{"at", "mostly"}, all: true, filter: true}, "task|words|at mostly|1|0|yes|||||"},
		{task{fuzzy: "bates", edits: 2}, "task|fuzzy|bates||2||||||"},
		{task{phrase: []string{"it", "was"}, count: true}, "task|phrase|it was||0||||||1"},
		{task{numbers: &numberRange{fieldDay, -1, 9}, sort: fieldLastMod, desc: true}, "task|range|day -1 9||0|||lastmod|1||"},
		{task{every: true, facet: fieldMonth, within: &numberRange{fieldDay, 1, 2}}, "task|every|||0||day 1 2|||month|"},
		{task{prefix: "any"}, "task|prefix|any||0||||||"},
		{task{wildcard: "a*3"}, "task|wildcard|a*3||0||||||"},
	} {
		if got := strings.Join(c.task.lucene(), "|"); got != c.want {
			t.Errorf("%+v: %q, want %q", c.task, got, c.want)
		}
	}
	a, err := parseLuceneAnswer("1500\t7 9\tJan=3 a=b=2")
	if err != nil || a.took != 1500 || !reflect.DeepEqual(a.ids, []string{"7", "9"}) || !reflect.DeepEqual(a.facets, map[string]int64{"Jan": 3, "a=b": 2}) {
		t.Errorf("%+v, %v", a, err)
	}
	for _, line := range []string{"", "1\t2", "x\t\t", "1\t\tJan=", "1\t\tJan"} {
		if a, err := parseLuceneAnswer(line); err == nil {
			t.Errorf("%q is %+v", line, a)
		}
	}
}
