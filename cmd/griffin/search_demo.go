package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/griffin-search/griffin"
)

// Each query demonstrates a feature on the Go installation.
var goQueries = []demoQuery{
	{"words, best first", griffin.ModeOr, "garbage collector write barrier"},
	{"a phrase", griffin.ModeOr, `"happens before" memory model`},
	{"required and excluded words", griffin.ModeOr, `+goroutine +leak -test`},
	{"a field, and more weight", griffin.ModeOr, `title:http server^2 timeout`},
	{"all of the words", griffin.ModeAnd, "race detector shadow memory"},
}

type demoQuery struct {
	shows string
	mode  griffin.Mode
	text  string
}

func newDemoCommand(a *app) *cobra.Command {
	var out string
	c := &cobra.Command{
		Use:   "demo [DIR]",
		Short: "Index a folder and run a few queries on it",
		Long: `Demo indexes a folder, by default the source and documentation of the Go
installation, and runs a few queries on it. The index is kept for further
searches.`,
		Example: "  griffin demo\n  griffin demo ~/notes",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, queries := "", []demoQuery(nil)
			if len(args) == 1 {
				dir = args[0]
			}
			if dir == "" {
				root, err := goRoot(cmd.Context())
				if err != nil {
					return err
				}
				dir, queries = root, goQueries
			}
			return a.demo(cmd.Context(), dir, out, queries)
		},
	}
	c.Flags().StringVarP(&out, "out", "o", "", "folder of the index (default: griffin/demo.idx in the user's cache folder)")
	return c
}

func goRoot(ctx context.Context) (string, error) {
	output, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if root := strings.TrimSpace(string(output)); err == nil && root != "" {
		return root, nil
	}
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	return "", errors.New("no Go installation found to index; name a folder: griffin demo DIR")
}

// demoPaths are relative to a Go installation.
func demoPaths() []string {
	return slices.DeleteFunc([]string{"doc", "src", "api", "README.md"}, func(part string) bool { return !exists(part) })
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func (a *app) demo(ctx context.Context, dir, out string, queries []demoQuery) (err error) {
	if out == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			cache = os.TempDir()
		}
		out = filepath.Join(cache, "griffin", "demo.idx")
		if err := removeUnreadable(out); err != nil {
			return err
		}
	}
	paths, place := []string{dir}, out
	if queries != nil {
		if place, err = filepath.Abs(out); err != nil {
			return err
		}
		// Relative paths keep ids short: src/runtime/mgc.go.
		if err := os.Chdir(dir); err != nil {
			return err
		}
		paths = demoPaths()
	}
	if !a.json {
		what := dir
		if queries != nil {
			what = fmt.Sprintf("%s of %s", strings.Join(paths, ", "), dir)
		}
		a.printf("Indexing %s with %d processors\n", what, runtime.GOMAXPROCS(0))
	}
	o := indexOptions{
		out: place, analyzer: "english", codec: "simdbp", fields: []string{"title"}, bm25: griffin.BM25{K1: 0.9, B: 0.4}, memory: 1 << 30,
		replace: true, files: griffin.FilesOptions{MaxErrors: -1, Reorder: "none"},
	}
	built, err := a.createIndex(ctx, o, paths)
	if err != nil {
		return err
	}
	if !a.json {
		printReport(a.console, out, built)
	}
	ix, err := griffin.Open(place, griffin.Options{})
	if err != nil {
		return err
	}
	defer ix.Close()
	if queries == nil {
		if queries, err = folderQueries(ctx, ix); err != nil {
			return err
		}
	}
	answers := make([]*griffin.Results, len(queries))
	for i, q := range queries {
		answers[i], err = ix.Search(ctx, griffin.Query{Text: q.text, K: 3, Mode: q.mode, SnippetLength: griffin.DefaultSnippetLength})
		if err != nil {
			return err
		}
		if !a.json {
			printAnswer(a.console, q, answers[i])
		}
	}
	if a.json {
		return a.printJSON(map[string]any{"out": out, "indexed": built, "answers": answers})
	}
	printNext(a.console, out)
	return nil
}

// removeUnreadable removes an index of an earlier demo that is damaged or of another version.
func removeUnreadable(dir string) error {
	ix, err := griffin.Open(dir, griffin.Options{})
	switch {
	case err == nil:
		return ix.Close()
	case errors.Is(err, griffin.ErrCorrupt), errors.Is(err, griffin.ErrVersion):
		return os.RemoveAll(dir)
	}
	return nil // building will tell
}

func printAnswer(con *console, q demoQuery, results *griffin.Results) {
	st := con.style(con.out)
	con.printf("\n%s▸ %s%s   %s(%s)%s\n", st.bold, q.text, st.reset, st.dim, q.shows, st.reset)
	printHits(con, results, 0, nil)
}

func printNext(con *console, out string) {
	st := con.style(con.out)
	con.printf("\n%sWhat next%s\n", st.bold, st.reset)
	program := "griffin"
	if strings.ContainsRune(os.Args[0], filepath.Separator) {
		program = os.Args[0] // not on the PATH
	}
	for _, next := range [][2]string{
		{program + " search " + out, "a prompt; or add a query"},
		{program + " serve " + out, "a search page in the browser"},
		{program + " index --out my.idx DIR", "index your own documents"},
		{program + " stats " + out, "what the index holds"},
	} {
		con.printf("  %-52s %s%s%s\n", next[0], st.dim, next[1], st.reset)
	}
}

// folderQueries are titles of documents throughout an unknown folder.
func folderQueries(ctx context.Context, ix *griffin.Index) ([]demoQuery, error) {
	const wanted = 4
	stats, err := ix.Stats()
	if err != nil {
		return nil, err
	}
	var queries []demoQuery
	step := max(stats.NumDocs/wanted, 1)
	n := 0
	for d, err := range ix.Documents(ctx) {
		if err != nil {
			return nil, err
		}
		if n++; n < len(queries)*step {
			continue
		}
		if words := titleWords(d.Title); words != "" {
			if queries = append(queries, demoQuery{"words of a title", griffin.ModeOr, words}); len(queries) == wanted {
				break
			}
		}
	}
	if len(queries) == 0 {
		return nil, fmt.Errorf("no document with a title: nothing to show: %w", griffin.ErrBadInput)
	}
	return queries, nil
}

func titleWords(title string) string {
	words := strings.FieldsFunc(strings.ToLower(title), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	return strings.Join(words[:min(len(words), 3)], " ")
}
