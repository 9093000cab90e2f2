package griffin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/query"
)

// The code of docs/guides/go.md is part of the examples of this file, which internal/arch checks.

func ExampleIndex_Search_aggregations() {
	ix, remove := publications()
	defer remove()
	ctx := context.Background()

	r, err := ix.Search(ctx, griffin.Query{
		Text:         "telescope",
		Sort:         json.RawMessage(`[{"published": "desc"}, "_doc"]`),
		Facets:       []griffin.Facet{{Field: "publisher"}},
		Aggregations: json.RawMessage(`{"years": {"date_histogram": {"field": "published", "calendar_interval": "year", "format": "yyyy"}}}`),
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, v := range r.Facets["publisher"] {
		fmt.Println(v.Text, v.Count)
	}
	years, _ := r.Aggregations.Get("years")
	for _, b := range years.Buckets() {
		fmt.Println(b.Key, b.DocCount)
	}
	// Output:
	// Orbit 2
	// Lens 1
	// 2021 1
	// 2022 0
	// 2023 2
}

// publications returns an index with typed fields, and a function that removes it.
func publications() (*griffin.Index, func()) {
	dir, err := os.MkdirTemp("", "griffin")
	if err != nil {
		log.Fatal(err)
	}
	mapping, err := griffin.ParseMapping([]byte(`{"properties": {"publisher": {"type": "keyword"}, "published": {"type": "date"}}}`))
	if err != nil {
		log.Fatal(err)
	}
	ix, err := griffin.Create(filepath.Join(dir, "index"), griffin.Settings{Mapping: mapping}, griffin.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for i, publisher := range []string{"Orbit", "Lens", "Orbit"} {
		d := griffin.Document{ID: fmt.Sprint(i), Text: "A telescope.", Fields: []griffin.Field{
			{Name: "publisher", Value: publisher}, {Name: "published", Value: fmt.Sprintf("202%d-05-01", []int{1, 3, 3}[i])},
		}}
		if err := ix.Add(context.Background(), d); err != nil {
			log.Fatal(err)
		}
	}
	if err := ix.Commit(context.Background()); err != nil {
		log.Fatal(err)
	}
	return ix, func() { _ = errors.Join(ix.Close(), os.RemoveAll(dir)) }
}

func ExampleIndex_SearchBatch() {
	ix, remove := library()
	defer remove()
	ctx := context.Background()

	results, err := ix.SearchBatch(ctx, []griffin.Query{
		{Text: "sea world", K: 1},
		{Text: "eighty days", Load: griffin.LoadIDs},
		{Text: "\"no end"},
	})
	if err != nil {
		log.Fatal(err) // of ctx or of the index: there are no results
	}
	for _, r := range results {
		if r.Err != nil { // of this query
			fmt.Println("error:", r.Err)
			continue
		}
		fmt.Println(r.Query, "→", r.Hits[0].ID)
	}
	// Output:
	// sea world → twenty
	// eighty days → around
	// error: query syntax: byte 0: quote is not closed (write \" for the character)
}

func ExampleIndex_Writer() {
	ix, remove := library()
	defer remove()
	ctx := context.Background()

	w, err := ix.Writer(ctx, griffin.WriterOptions{})
	if err != nil {
		log.Fatal(err)
	}
	results, err := w.Apply(ctx,
		griffin.Write{Document: griffin.Document{ID: "20", Title: "Twenty Thousand Leagues", Text: "Under the sea."}},
		griffin.Write{Kind: griffin.WriteCreate, Document: griffin.Document{ID: "20", Text: "Exists already."}},
		griffin.Write{Kind: griffin.WriteDelete, Document: griffin.Document{ID: "around"}},
	)
	if err != nil {
		log.Fatal(err) // no write took effect
	}
	for _, r := range results {
		fmt.Println(r.ID, r.Outcome, errors.Is(r.Err, griffin.ErrConflict))
	}
	if err := errors.Join(w.Refresh(ctx), w.Close(ctx)); err != nil {
		log.Fatal(err)
	}
	// Output:
	// 20 created false
	// 20  true
	// around deleted false
}

func ExampleCount() {
	ix, remove := library()
	defer remove()
	ctx := context.Background()
	q := &query.Words{Text: "world sea"}

	n, err := griffin.Count(ctx, ix, griffin.Query{Node: q})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(n, "documents")
	// Output:
	// 3 documents
}

func ExampleQuery_node() {
	ix, remove := library()
	defer remove()
	ctx := context.Background()
	userInput := "world -sea"

	q := query.Exclude(
		query.All(
			&query.Words{Text: userInput},
			&query.Term{Field: "title", Text: "world", Boost: 2},
		),
		&query.Phrase{Text: "watery part"},
	)
	r, err := ix.Search(ctx, griffin.Query{Node: q})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Query, "→", len(r.Hits), "hit")

	// The same input within query text:
	text := query.Quote(userInput) + " title:world^2"
	if r, err = ix.Search(ctx, griffin.Query{Text: text}); err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Query)
	// Output:
	// +(+(world \-sea) +title:world^2) -"watery part" → 1 hit
	// "world -sea" title:world^2
}

func ExampleReplace() {
	dir, err := os.MkdirTemp("", "griffin-example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()

	rebuild := func(docs ...griffin.Document) error {
		return griffin.Replace(filepath.Join(dir, "news.idx"), func(dir string) (err error) {
			ix, err := griffin.Create(dir, griffin.Settings{}, griffin.Options{})
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, ix.Close()) }()
			if err := ix.Add(ctx, docs...); err != nil {
				return err
			}
			return ix.Commit(ctx)
		})
	}
	if err := rebuild(griffin.Document{ID: "1", Text: "old news"}); err != nil {
		log.Fatal(err)
	}
	if err := rebuild(griffin.Document{ID: "2", Text: "new news"}); err != nil {
		log.Fatal(err)
	}

	ix, err := griffin.Open(filepath.Join(dir, "news.idx"), griffin.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer ix.Close()
	r, err := ix.Search(ctx, griffin.Query{Text: "news"})
	if err != nil {
		log.Fatal(err)
	}
	for _, h := range r.Hits {
		fmt.Println(h.ID)
	}
	// Output: 2
}

func ExampleIndex_Merge() {
	ix, remove := library()
	defer remove()
	ctx := context.Background()
	if err := ix.Delete(ctx, "moby"); err != nil {
		log.Fatal(err)
	}
	if err := ix.Commit(ctx); err != nil {
		log.Fatal(err)
	}

	report, err := ix.Merge(ctx, griffin.MergeOptions{Segments: 1})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d deleted documents before, %d after\n", report.Before.Deleted, report.After.Deleted)
	// Output: 1 deleted documents before, 0 after
}

func ExampleIndex_ExportCIFF() {
	ix, remove := library()
	defer remove()
	ctx := context.Background()

	var file bytes.Buffer
	exported, err := ix.ExportCIFF(ctx, &file, griffin.CIFFExportOptions{})
	if err != nil {
		log.Fatal(err)
	}

	dir, err := os.MkdirTemp("", "griffin-example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	// CIFF has neither text nor positions nor fields.
	settings := griffin.Settings{NoStored: true, NoPositions: true, Fields: []string{}}
	copied, err := griffin.Create(filepath.Join(dir, "copy.idx"), settings, griffin.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer copied.Close()
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(file.Bytes())), nil }
	imported, err := copied.ImportCIFF(ctx, open, griffin.CIFFImportOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(imported.Docs, "documents,", imported.Lists == exported.Lists)
	// Output: 3 documents, true
}

func ExampleRuntime() {
	books, remove := library()
	defer remove()
	dir, err := os.MkdirTemp("", "griffin-example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()

	runtime, err := griffin.NewRuntime(griffin.RuntimeOptions{
		GPU:     griffin.GPUOptions{Device: "auto"},
		Limits:  &griffin.Limits{Deadline: time.Minute},
		CostDir: dir,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer runtime.Close() // after its indexes
	for _, name := range []string{"news.idx", "mail.idx"} {
		ix, err := griffin.OpenOrCreate(filepath.Join(dir, name), griffin.Settings{}, griffin.Options{Runtime: runtime})
		if err != nil {
			log.Fatal(err)
		}
		defer ix.Close()
		if !ix.Calibrated() { // only with a GPU
			if err := ix.Calibrate(ctx, nil); err != nil {
				log.Fatal(err)
			}
		}
	}

	_, err = books.Search(ctx, griffin.Query{Text: "sea"}) // has a Runtime of its own
	fmt.Println(err)
	// Output: <nil>
}

func ExampleIndex_Train() {
	dir, err := os.MkdirTemp("", "griffin-example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	runtime, err := griffin.NewRuntime(griffin.RuntimeOptions{Limits: &griffin.Limits{}, CostDir: dir})
	if err != nil {
		log.Fatal(err)
	}
	defer runtime.Close()
	ix, err := griffin.Create(filepath.Join(dir, "numbers.idx"), griffin.Settings{}, griffin.Options{Runtime: runtime})
	if err != nil {
		log.Fatal(err)
	}
	defer ix.Close()
	var userQueries []string
	for i := range 200 {
		userQueries = append(userQueries, fmt.Sprintf("n%d n%d", i%7, i%11))
		if err := ix.Add(ctx, griffin.Document{ID: fmt.Sprint(i), Text: userQueries[i]}); err != nil {
			log.Fatal(err)
		}
	}
	if err := ix.Commit(ctx); err != nil {
		log.Fatal(err)
	}

	var queries []query.Node
	for _, text := range userQueries {
		queries = append(queries, &query.Words{Text: text})
	}
	report, err := ix.Train(ctx, queries, griffin.TrainOptions{})
	if err != nil {
		log.Fatal(err)
	}
	if report.SaveErr != nil {
		log.Print("the model is lost with this process: ", report.SaveErr)
	}
	for _, tree := range report.Trees {
		fmt.Println(tree.Processor, tree.Mode) // and the errors of its predictions
	}
	// Output:
	// cpu or
	// cpu and
}
