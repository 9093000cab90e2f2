package griffin_test

import (
	"context"
	"errors"
	"fmt"
	"html"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/query"
)

// library creates a small index for the examples and returns a function that removes it.
func library() (ix *griffin.Index, remove func()) { return libraryWith(griffin.Options{}) }

func libraryWith(o griffin.Options) (ix *griffin.Index, remove func()) {
	dir, err := os.MkdirTemp("", "griffin-example")
	if err != nil {
		log.Fatal(err)
	}
	ix, err = griffin.Create(filepath.Join(dir, "library"), griffin.Settings{Fields: []string{"title", "author"}}, o)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	err = ix.Add(ctx,
		griffin.Document{
			ID: "moby", Title: "Moby-Dick", Text: "Call me Ishmael. Some years ago I thought I would sail about a little and see the watery part of the world.",
			Fields: []griffin.Field{{Name: "author", Value: "Herman Melville"}},
		},
		griffin.Document{
			ID: "twenty", Title: "Twenty Thousand Leagues Under the Seas", Text: "The sea is everything. It covers seven tenths of the world.",
			Fields: []griffin.Field{{Name: "author", Value: "Jules Verne"}},
		},
		griffin.Document{
			ID: "around", Title: "Around the World in Eighty Days", Text: "A wager is to be won by going around the world in eighty days.",
			Fields: []griffin.Field{{Name: "author", Value: "Jules Verne"}},
		},
	)
	if err != nil {
		log.Fatal(err)
	}
	if err := ix.Commit(ctx); err != nil {
		log.Fatal(err)
	}
	return ix, func() {
		_ = ix.Close()
		_ = os.RemoveAll(dir)
	}
}

func printHits(r *griffin.Results) {
	for i, h := range r.Hits {
		fmt.Printf("%d. %s (%.3f)\n", i+1, h.Title, h.Score)
	}
}

func Example() {
	dir, err := os.MkdirTemp("", "griffin-example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()

	ix, err := griffin.Create(filepath.Join(dir, "books"), griffin.Settings{}, griffin.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer ix.Close()
	err = ix.Add(ctx,
		griffin.Document{ID: "1", Title: "Moby-Dick", Text: "Call me Ishmael."},
		griffin.Document{ID: "2", Title: "Anna Karenina", Text: "All happy families are alike."},
	)
	if err != nil {
		log.Fatal(err)
	}
	if err := ix.Commit(ctx); err != nil {
		log.Fatal(err)
	}
	results, err := ix.Search(ctx, griffin.Query{Text: "happy family", SnippetLength: griffin.DefaultSnippetLength})
	if err != nil {
		log.Fatal(err)
	}
	for _, hit := range results.Hits {
		fmt.Println(hit.ID, hit.Title, "-", hit.Snippet.Mark("[", "]"))
	}
	// Output:
	// 2 Anna Karenina - All [happy] [families] are alike.
}

func ExampleOpen() {
	_, err := griffin.Open("no/such/index", griffin.Options{})
	fmt.Println(errors.Is(err, griffin.ErrNotIndex))
	// Output:
	// true
}

func ExampleIndex_Search() {
	ix, remove := library()
	defer remove()
	for _, query := range []string{
		"sea world",
		`+world -sea author:verne`,
		`"part of the world"`,
		"title:(moby OR days^3)",
	} {
		results, err := ix.Search(context.Background(), griffin.Query{Text: query})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(query)
		printHits(results)
	}
	// Output:
	// sea world
	// 1. Twenty Thousand Leagues Under the Seas (0.763)
	// 2. Around the World in Eighty Days (0.092)
	// 3. Moby-Dick (0.068)
	// +world -sea author:verne
	// 1. Around the World in Eighty Days (0.340)
	// 2. Moby-Dick (0.068)
	// "part of the world"
	// 1. Moby-Dick (0.874)
	// title:(moby OR days^3)
	// 1. Around the World in Eighty Days (1.469)
	// 2. Moby-Dick (0.579)
}

func ExampleMode() {
	ix, remove := library()
	defer remove()
	for _, mode := range []griffin.Mode{griffin.ModeOr, griffin.ModeAnd} {
		results, err := ix.Search(context.Background(), griffin.Query{Text: "eighty leagues world", Mode: mode})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(mode, len(results.Hits))
	}
	// Output:
	// or 3
	// and 0
}

// A syntax error has a position. A search box can accept the query anyway.
func ExampleQuery_lenient() {
	ix, remove := library()
	defer remove()
	const text = `sail "watery part`
	_, err := ix.Search(context.Background(), griffin.Query{Text: text})
	var fault *query.Error
	if errors.As(err, &fault) {
		fmt.Println(fault.Reason)
		fmt.Println(fault.Caret())
	}
	results, err := ix.Search(context.Background(), griffin.Query{Text: text, Lenient: true})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(results.Query)
	printHits(results)
	// Output:
	// quote is not closed (write \" for the character)
	// sail "watery part
	//      ^
	// sail watery part
	// 1. Moby-Dick (1.498)
}

func ExampleIndex_Explain() {
	ix, remove := library()
	defer remove()
	e, err := ix.Explain(context.Background(), griffin.Query{Text: "sea world"}, "twenty")
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range e.Parts {
		fmt.Printf("%.3f %s: freq %d in %d words, idf %.3f\n", p.Contribution, p.Terms[0], p.Freq, p.Length, p.IDF)
	}
	fmt.Printf("%.3f in all\n", e.Score)
	// Output:
	// 0.690 sea: freq 2 in 17 words, idf 0.981
	// 0.073 world: freq 1 in 17 words, idf 0.134
	// 0.763 in all
}

func ExampleIndex_Delete() {
	ix, remove := library()
	defer remove()
	ctx := context.Background()
	if err := ix.Delete(ctx, "moby"); err != nil {
		log.Fatal(err)
	}
	found := func() {
		results, err := ix.Search(ctx, griffin.Query{Text: "ishmael"})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(len(results.Hits))
	}
	found() // not committed yet
	if err := ix.Commit(ctx); err != nil {
		log.Fatal(err)
	}
	found()
	// Output:
	// 1
	// 0
}

func ExampleIndex_Document() {
	ix, remove := library()
	defer remove()
	doc, err := ix.Document(context.Background(), "around")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(doc.Title, doc.Fields)
	// Output:
	// Around the World in Eighty Days [{author Jules Verne}]
}

func ExampleIndex_IndexFiles() {
	dir, err := os.MkdirTemp("", "griffin-example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "books.jsonl")
	const records = `{"id": "1", "title": "Moby-Dick", "text": "Call me Ishmael."}
{"id": "2", "title": "Anna Karenina"
{"id": "3", "title": "Middlemarch", "text": "Miss Brooke had that kind of beauty."}
`
	if err := os.WriteFile(file, []byte(records), 0o600); err != nil {
		log.Fatal(err)
	}
	ix, err := griffin.Create(filepath.Join(dir, "books"), griffin.Settings{}, griffin.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer ix.Close()
	report, err := ix.IndexFiles(context.Background(), []string{file}, griffin.FilesOptions{
		MaxErrors:   10,
		OnBadRecord: func(err error) { fmt.Println("line 2 is bad:", strings.Contains(err.Error(), "books.jsonl:2")) },
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Docs, "documents,", report.BadRecords, "bad record")
	// Output:
	// line 2 is bad: true
	// 2 documents, 1 bad record
}

func ExampleSnippet_Parts() {
	s := griffin.Snippet{Text: "fish & ships", Highlights: []griffin.Span{{Start: 7, End: 12}}}
	for text, highlighted := range s.Parts() {
		if highlighted {
			fmt.Print("<mark>", html.EscapeString(text), "</mark>")
		} else {
			fmt.Print(html.EscapeString(text))
		}
	}
	fmt.Println()
	// Output:
	// fish &amp; <mark>ships</mark>
}

func ExampleIndex_Stats() {
	ix, remove := library()
	defer remove()
	s, err := ix.Stats()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(s.NumDocs, "documents, analyzer", s.Analyzer)
	for _, f := range s.Fields {
		fmt.Printf("%q: %d tokens\n", f.Name, f.NumTokens)
	}
	// Output:
	// 3 documents, analyzer english-full
	// "": 61 tokens
	// "title": 14 tokens
	// "author": 6 tokens
}

func ExampleIndex_BuildImpacts() {
	ix, remove := library()
	defer remove()
	ctx := context.Background()
	if _, err := ix.BuildImpacts(ctx, griffin.ImpactOptions{}); err != nil {
		log.Fatal(err)
	}
	r, err := ix.Search(ctx, griffin.Query{Text: "eighty days", Mode: griffin.ModeSaat})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Hits[0].ID, "by", r.Traversal)
	// Output: around by windowed
}

// A server limits running and waiting searches. Excess searches get an Overload.
func ExampleLimits() {
	runtime, err := griffin.NewRuntime(griffin.RuntimeOptions{Limits: &griffin.Limits{Running: 2, Waiting: 100, Deadline: time.Minute}})
	if err != nil {
		log.Fatal(err)
	}
	defer runtime.Close()
	ix, remove := libraryWith(griffin.Options{Runtime: runtime})
	defer remove()
	r, err := ix.Search(context.Background(), griffin.Query{Text: "world"})
	var overload *griffin.Overload
	switch {
	case errors.As(err, &overload) && overload.Reason == griffin.ReasonQueueFull:
		fmt.Println("too many at once, try again in", overload.RetryAfter)
	case errors.As(err, &overload):
		fmt.Println("no time for it, try again in", overload.RetryAfter)
	case err != nil:
		log.Fatal(err)
	default:
		printHits(r)
	}
	// Output:
	// 1. Around the World in Eighty Days (0.092)
	// 2. Twenty Thousand Leagues Under the Seas (0.073)
	// 3. Moby-Dick (0.068)
}

// The second search has the same meaning and reuses the answer of the first.
func ExampleIndex_ResultCacheStats() {
	ix, remove := libraryWith(griffin.Options{ResultCache: 1 << 20})
	defer remove()
	for _, text := range []string{"world sea", "Seas worlds"} {
		if _, err := ix.Search(context.Background(), griffin.Query{Text: text}); err != nil {
			log.Fatal(err)
		}
	}
	if s, used := ix.ResultCacheStats(); used {
		fmt.Println(s.Misses, "run,", s.Hits, "found")
	}
	// Output: 1 run, 1 found
}

// Indexes that share a Runtime share its GPUs.
func ExampleNewRuntime() {
	runtime, err := griffin.NewRuntime(griffin.RuntimeOptions{
		GPU: griffin.GPUOptions{Device: "auto", Memory: griffin.MemorySize{Bytes: 8 << 30}},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer runtime.Close()
	ix, err := griffin.Open("books.idx", griffin.Options{Runtime: runtime})
	if err != nil {
		log.Fatal(err)
	}
	defer ix.Close()
	if _, err := ix.Search(context.Background(), griffin.Query{Text: "sea world", Mode: griffin.ModeAnd}); err != nil {
		log.Fatal(err)
	}
	s := runtime.DispatchStats()
	fmt.Println(s.CPUSteps, "steps on the CPU,", s.GPUSteps, "on the GPU,", s.Migrations, "migrations")
}

func ExamplePolicies() {
	for _, p := range griffin.Policies() {
		fmt.Println(p.Name)
	}
	// Output:
	// cpu
	// gpu
	// ratio
	// query
	// batch
	// cost
}

func ExampleTrace() {
	ix, remove := library()
	defer remove()
	r, err := ix.Search(context.Background(), griffin.Query{Text: "sea world", Trace: true})
	if err != nil {
		log.Fatal(err)
	}
	for _, s := range r.Trace.Steps {
		fmt.Println(s.Name, "on the", s.Processor) // s.Start and s.Took are the times
	}
	// Output:
	// parse on the cpu
	// plan on the cpu
	// segment on the cpu
	// fetch on the cpu
}

func ExampleSuggester() {
	ix, remove := library()
	defer remove()
	ctx := context.Background()
	results, err := ix.Search(ctx, griffin.Query{Text: "ishmeal", Suggest: true})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("did you mean", results.Suggestions)
	s := griffin.NewSuggester(ix)
	corrections, err := s.Phrases(ctx, griffin.PhraseSuggest{Candidates: griffin.TermSuggest{Text: "the watry prt", MinWordLength: 3}, MaxErrors: 2})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(corrections[0].Text)
	values, err := s.Complete(ctx, griffin.Complete{Text: "jul", Field: "author"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(values[0].Text, values[0].Freq)
	// Output:
	// did you mean [ishmael]
	// the watery part
	// Jules Verne 2
}
