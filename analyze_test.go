package griffin_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin"
)

func analyzedIndex(t *testing.T, s griffin.Settings, texts ...string) (*griffin.Index, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "ix")
	ix, err := griffin.Create(dir, s, griffin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var docs []griffin.Document
	for i, text := range texts {
		docs = append(docs, griffin.Document{ID: string(rune('a' + i)), Text: text})
	}
	if err := errors.Join(ix.Add(t.Context(), docs...), ix.Commit(t.Context()), ix.Close()); err != nil {
		t.Fatal(err)
	}
	if ix, err = griffin.Open(dir, griffin.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ix.Close() })
	return ix, dir
}

func found(t *testing.T, ix *griffin.Index, text string, mode griffin.Mode) string {
	t.Helper()
	r, err := ix.Search(t.Context(), griffin.Query{Text: text, Mode: mode, SnippetLength: 100})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	var ids strings.Builder
	for _, h := range r.Hits {
		ids.WriteString(h.ID)
	}
	return ids.String()
}

// Queries of a reopened index use its analyzer.
func TestAnalyzers(t *testing.T) {
	const own = `{
		"analyzer": {"default": {"tokenizer": "standard", "filter": ["lowercase", "asciifolding", "s"]}},
		"filter": {"s": {"type": "synonym_graph", "synonyms": ["nyc, new york city", "sf => san francisco"]}}}`
	for _, tc := range []struct {
		settings    griffin.Settings
		texts       []string
		query, want string
		mode        griffin.Mode
	}{
		{griffin.Settings{Analyzer: "english-full"}, []string{"to be or not to be", "the cat", "who was the first", "The Who, a band"}, "to be or not to be", "a", griffin.ModeAnd},
		{griffin.Settings{Analyzer: "english-full"}, []string{"to be or not to be", "the cat", "who was the first", "The Who, a band"}, `"the who"`, "d", griffin.ModeOr},
		{griffin.Settings{}, []string{"to be or not to be", "the cat", "who was the first", "The Who, a band"}, "to be or not to be", "a", griffin.ModeAnd},
		{griffin.Settings{Analyzer: "english-full"}, []string{"to be or not to be", "the cat", "who was the first", "The Who, a band"}, "the cats", "b", griffin.ModeOr},
		{griffin.Settings{Analyzer: "code"}, []string{"func parseURL(s string)", "parse the url", "C and D", "C++ and D"}, "parseURL", "a", griffin.ModeOr},
		{griffin.Settings{Analyzer: "code"}, []string{"func parseURL(s string)", "url parse", "C and D", "C++ and D"}, "parseURL", "a", griffin.ModeOr},
		{griffin.Settings{Analyzer: "code"}, []string{"func parseURL(s string)", "url parse", "C and D", "C++ and D"}, "c++", "d", griffin.ModeOr},
		{griffin.Settings{Analyzer: "code"}, []string{"func parseURL(s string)", "url parse", "C and D", "C++ and D"}, `"URL s"`, "a", griffin.ModeOr},
		{griffin.Settings{Analyzer: "cjk"}, []string{"東京大学", "京都大学", "大学東京"}, "東京", "ac", griffin.ModeAnd},
		{griffin.Settings{Analysis: []byte(own)}, []string{"Café in New York City", "NYC taxi", "York, a new city", "San Francisco", "sf"}, "nyc", "ab", griffin.ModeAnd},
		{griffin.Settings{Analysis: []byte(own)}, []string{"Café in New York City", "NYC taxi", "York, a new city", "San Francisco", "sf"}, "cafe nyc", "a", griffin.ModeAnd},
		{griffin.Settings{Analysis: []byte(own)}, []string{"Café in New York City", "NYC taxi", "York, a new city", "San Francisco", "sf"}, `"taxi sf"`, "", griffin.ModeOr},
		{griffin.Settings{Analysis: []byte(own)}, []string{"Café in New York City", "NYC taxi", "York, a new city", "San Francisco", "sf"}, `"in nyc"`, "a", griffin.ModeOr},
		{griffin.Settings{Analysis: []byte(own)}, []string{"Café in New York City", "NYC taxi", "York, a new city", "San Francisco", "sf"}, "sf", "d", griffin.ModeOr},
		{griffin.Settings{Analysis: []byte(own), Analyzer: "whitespace"}, []string{"Café", "cafe"}, "Café", "a", griffin.ModeOr},
	} {
		ix, _ := analyzedIndex(t, tc.settings, tc.texts...)
		if got := found(t, ix, tc.query, tc.mode); got != tc.want {
			t.Errorf("%s %s in %q: found %q, want %q", tc.settings.Analyzer, tc.query, tc.texts, got, tc.want)
		}
	}
}

// Each field has the analyzer of its mapping, for documents and for queries, also after documents are
// deleted and the index is verified.
func TestAnalyzersOfFields(t *testing.T) {
	m, err := griffin.ParseMapping([]byte(`{"properties": {
		"code": {"type": "text", "analyzer": "code"},
		"name": {"type": "text", "analyzer": "grams", "search_analyzer": "standard", "fields": {"raw": {"type": "keyword"}}},
		"title": {"type": "text"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "ix")
	ix, err := griffin.Create(dir, griffin.Settings{
		Mapping:  m,
		Analysis: []byte(`{"analyzer": {"grams": {"tokenizer": "standard", "filter": ["lowercase", {"type": "edge_ngram", "max_gram": 5}]}}}`),
	}, griffin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := ix.Close(); err != nil {
			t.Error(err)
		}
	}()
	for _, d := range []griffin.Document{
		{ID: "a", Title: "The dogs", Fields: []griffin.Field{{Name: "code", Value: "parseURL"}, {Name: "name", Value: "New York"}}},
		{ID: "b", Title: "dog", Fields: []griffin.Field{{Name: "code", Value: "parse"}, {Name: "name", Value: "newt"}}},
		{ID: "c", Title: "cat", Fields: []griffin.Field{{Name: "code", Value: "url"}, {Name: "name", Value: "york new"}}},
	} {
		if err := ix.Add(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(ix.Commit(t.Context()), ix.Delete(t.Context(), "c"), ix.Commit(t.Context())); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]string{
		"code:parse": "ba", "code:url": "a", "code:parseURL": "a", "name:new": "ba", "name:ne": "ba", "name:newto": "",
		"title:dogs": "ba", `name:"new y"`: "a", "name.raw:newt": "b", `name.raw:"New York"`: "a", `name.raw:"new york"`: "",
	} {
		if got := found(t, ix, query, griffin.ModeOr); sorted(got) != sorted(want) {
			t.Errorf("%s: found %q, want %q", query, got, want)
		}
	}
	report, err := ix.VerifyRebuild(t.Context(), griffin.RebuildOptions{})
	if err != nil || len(report.Differences) > 0 {
		t.Errorf("rebuilt: %+v, %v", report, err)
	}
	for field, want := range map[string]string{"code": "ab a b", "name": "a ab", "title": "ab"} {
		tokens, err := griffin.Analyze("aB", griffin.AnalyzeOptions{Index: ix, Field: field})
		var terms []string
		for _, token := range tokens {
			terms = append(terms, token.Term)
		}
		if err != nil || strings.Join(terms, " ") != want {
			t.Errorf("%s: %q, %v, want %s", field, terms, err, want)
		}
	}
}

func sorted(s string) string {
	b := []byte(s)
	slices.Sort(b)
	return string(b)
}

func TestIndexAnalyze(t *testing.T) {
	ix, _ := analyzedIndex(t, griffin.Settings{Analysis: []byte(`{"analyzer": {"default": {"type": "code"}}}`)}, "x")
	tokens, err := griffin.Analyze("aB", griffin.AnalyzeOptions{Index: ix})
	if err != nil || len(tokens) != 3 || tokens[0] != (griffin.Token{Term: "ab", End: 2, Length: 2}) {
		t.Errorf("got %v, %v", tokens, err)
	}
	if tokens, err = griffin.Analyze("aB", griffin.AnalyzeOptions{Index: ix, Field: "title"}); err != nil || len(tokens) != 3 {
		t.Errorf("title: %v, %v", tokens, err)
	}
	for _, o := range []griffin.AnalyzeOptions{{Index: ix, Field: "none"}, {Index: ix, Analyzer: "none"}, {Field: "title"}} {
		if _, err := griffin.Analyze("aB", o); !errors.Is(err, griffin.ErrBadInput) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if _, err := griffin.Analyze("a", griffin.AnalyzeOptions{Settings: []byte("[")}); !errors.Is(err, griffin.ErrBadInput) {
		t.Errorf("damaged settings: %v", err)
	}
}

func TestReadAnalysis(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("words.txt", "foo\nbar\n")
	for _, wrapped := range []string{"%", `{"analysis": %}`, `{"settings": {"analysis": %}}`, `{"settings": {"index": {"analysis": %}}}`} {
		path := write("a.json", strings.ReplaceAll(wrapped, "%", `{"filter": {"w": {"type": "stop", "stopwords_path": "words.txt"}}}`))
		got, err := griffin.ReadAnalysis(path)
		if want := `{"filter":{"w":{"stopwords":["foo","bar"],"type":"stop"}}}`; err != nil || string(got) != want {
			t.Errorf("%s: got %s, %v", wrapped, got, err)
		}
	}
	bad := write("b.json", `{"filter": {"w": {"type": "stop", "stopwords_path": "none.txt"}}}`)
	if _, err := griffin.ReadAnalysis(bad); !errors.Is(err, griffin.ErrBadInput) || !strings.Contains(err.Error(), "b.json: filter [w]: parameter [stopwords_path]: none.txt:") {
		t.Errorf("a missing file: %v", err)
	}
	if _, err := griffin.Create(filepath.Join(dir, "ix"), griffin.Settings{Analysis: []byte(`{"filter": {"w": {"type": "stop", "stopwords_path": "words.txt"}}}`)}, griffin.Options{}); !errors.Is(err, griffin.ErrBadInput) {
		t.Errorf("Create with a file: %v", err)
	}
}
