package main

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/analysis"
	"github.com/griffin-search/griffin/internal/corpus"
)

type indexOptions struct {
	out       string
	analyzer  string
	codec     string
	fields    []string
	positions bool
	noStored  bool
	weights   float64
	k1, b     float32
	memory    sizeFlag
	threads   int
	update    bool
	replace   bool
	impacts   bool
	files     griffin.FilesOptions
}

// generalAnalyzers are those that are no other language's.
var generalAnalyzers = []string{"english", "english-porter2", "simple", "whitespace"}

func languageAnalyzers() []string {
	return slices.DeleteFunc(griffin.Analyzers(), func(name string) bool { return slices.Contains(generalAnalyzers, name) })
}

func newIndexCommand(a *app) *cobra.Command {
	o := indexOptions{memory: 1 << 30}
	c := &cobra.Command{
		Use:   "index --out INDEX PATH…",
		Short: "Index files and folders",
		Long: `Index reads documents from files, folders or standard input ("-") and writes an
index. What a path holds is recognised, compressed or not; --format says it where
that fails. The work is done in parallel within --memory; the index appears all at
once at the end, so an interruption leaves nothing behind, or the index as it was.

Formats:
` + described(griffin.Formats(), corpus.Describe) + `
Analyzers:
` + described(generalAnalyzers, analysis.Describe) + `  and by language, with its Snowball stemmer:
  ` + joinWrapped(languageAnalyzers(), "  "),
		Example: `  griffin index --out notes.idx ~/notes
  griffin index --out wiki.idx --positions wiki-*.jsonl.zst
  zcat dump.tsv.gz | griffin index --out d.idx --format msmarco-tsv -
  griffin index --out splade.idx --weights vectors.jsonl.gz   # {"id": …, "vector": {"term": 1.7, …}}
  griffin index --out notes.idx --update ~/notes/new   # add to it, same ids replace`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(cmd.Flags()); err != nil {
				return err
			}
			build := a.createIndex
			if o.update {
				build = a.updateIndex
			}
			built, err := build(cmd.Context(), o, args)
			if err != nil {
				return err
			}
			return a.printIndexed(o.out, built)
		},
	}
	f := c.Flags()
	f.StringVarP(&o.out, "out", "o", "", "folder of the index (required)")
	f.BoolVar(&o.update, "update", false, "add to the index that is there; documents with the same id replace it")
	f.BoolVar(&o.replace, "replace", false, "build anew and put it in the place of the index that is there")
	f.StringVar(&o.files.Format, "format", "", "format of the input (default: recognised)")
	f.StringVar(&o.analyzer, "analyzer", "english", "how text becomes terms")
	f.StringVar(&o.codec, "codec", "simdbp", "how posting lists are compressed: "+strings.Join(griffin.Codecs(), ", "))
	f.StringSliceVar(&o.fields, "fields", []string{"title"}, "fields that can be searched by name:word, beside the whole text")
	f.BoolVar(&o.positions, "positions", false, "keep the places of words, which \"phrases\" need")
	f.BoolVar(&o.noStored, "no-stored", false, "keep no text: hits have no title and no snippet")
	f.Float64Var(&o.weights, "weights", 0, "index the \"vector\" of JSON records, terms with weights of a learned model, to a precision of one part in N (1 for whole numbers)")
	f.Lookup("weights").NoOptDefVal = "100"
	f.StringVar(&o.files.Reorder, "reorder", "none", "renumber documents so that like ones are neighbours: bp or none")
	f.BoolVar(&o.impacts, "impacts", false, "make impact-ordered lists, too, which mode saat searches: griffin impacts")
	f.Float32Var(&o.k1, "k1", 0.9, "BM25's k1")
	f.Float32Var(&o.b, "b", 0.4, "BM25's b")
	f.Var(&o.memory, "memory", "memory to use, such as 512M or 4G")
	f.IntVar(&o.threads, "threads", 0, "processors to use, 0 for all")
	f.IntVar(&o.files.MaxErrors, "max-errors", 100, "bad records to pass over before giving up, -1 for any number")
	f.StringVar(&o.files.IDField, "id-field", "", "name of the id in JSON records (default: _id, id, docid, …)")
	f.StringVar(&o.files.TitleField, "title-field", "", "name of the title in JSON records (default: title)")
	f.StringVar(&o.files.TextField, "text-field", "", "name of the text in JSON records (default: text, contents, …)")
	f.StringSliceVar(&o.files.ExtraFields, "extra-fields", nil, "further fields of records to keep (default: all)")
	_ = c.MarkFlagRequired("out")
	c.MarkFlagsMutuallyExclusive("update", "replace")
	return c
}

// check returns a usage error for flags that have no such value or do not go
// together. What is left, Create checks.
func (o *indexOptions) check(flags *pflag.FlagSet) error {
	if o.update {
		for _, name := range []string{"analyzer", "codec", "fields", "positions", "no-stored", "weights", "k1", "b"} {
			if flags.Changed(name) {
				return usagef("--%s was settled when the index was made, and --update keeps it; build it anew with --replace", name)
			}
		}
	}
	if o.weights != 0 {
		for _, name := range []string{"fields", "positions", "k1", "b"} {
			if flags.Changed(name) {
				return usagef("--%s means nothing to an index of --weights", name)
			}
		}
		o.fields = nil
		if !flags.Changed("analyzer") {
			o.analyzer = ""
		}
	}
	if flags.Changed("format") {
		if err := oneOf("--format", o.files.Format, griffin.Formats()...); err != nil {
			return err
		}
	}
	if err := oneOf("--reorder", o.files.Reorder, "none", "bp"); err != nil {
		return err
	}
	return o.memory.check()
}

// indexed is what "griffin index --json" prints.
type indexed struct {
	griffin.FilesReport
	Index griffin.Stats `json:"index"`
}

func (a *app) createIndex(ctx context.Context, o indexOptions, paths []string) (built indexed, err error) {
	err = a.buildIndex(o.out, o.replace, func(dir string) error {
		ix, err := griffin.Create(dir, o.createOptions()...)
		if err != nil {
			return badFlags(err)
		}
		built, err = a.indexFiles(ctx, ix, o, paths)
		return err
	})
	return built, err
}

func (o *indexOptions) createOptions() []griffin.Option {
	opts := []griffin.Option{
		griffin.WithAnalyzer(o.analyzer), griffin.WithCodec(o.codec), griffin.WithFields(o.fields...), griffin.WithWeights(o.weights),
		griffin.WithBM25(o.k1, o.b), griffin.WithMemory(int64(o.memory)), griffin.WithThreads(o.threads),
	}
	if o.positions {
		opts = append(opts, griffin.WithPositions())
	}
	if o.noStored {
		opts = append(opts, griffin.WithoutStored())
	}
	return opts
}

func (a *app) updateIndex(ctx context.Context, o indexOptions, paths []string) (indexed, error) {
	ix, err := griffin.Open(o.out, griffin.WithMemory(int64(o.memory)), griffin.WithThreads(o.threads))
	if err != nil {
		return indexed{}, badFlags(err)
	}
	before, statsErr := ix.Stats()
	built, err := a.indexFiles(ctx, ix, o, paths)
	if err == nil && statsErr == nil && before.Impacts != nil && built.Index.Impacts == nil {
		a.notef("its impact-ordered lists were those of before; make them anew: griffin impacts %s", o.out)
	}
	return built, err
}

// indexFiles adds the paths to the index and closes it.
func (a *app) indexFiles(ctx context.Context, ix *griffin.Index, o indexOptions, paths []string) (built indexed, err error) {
	defer func() {
		if closeErr := ix.Close(); err == nil {
			err = closeErr
		}
	}()
	limitHeap(int64(o.memory))
	bar := a.newProgress()
	files := o.files
	files.Progress = bar.indexing
	skipped, duplicates := messages{progress: bar}, messages{progress: bar}
	files.OnBadRecord = func(bad error) { skipped.add("griffin: skipped: %v", bad) }
	files.OnDuplicate = func(id, earlier, later string) {
		duplicates.add("griffin: duplicate id %q: %s replaces %s", id, later, earlier)
	}
	built.FilesReport, err = ix.IndexFiles(ctx, paths, files)
	bar.close()
	if err != nil {
		return built, err
	}
	if o.impacts {
		if _, err := a.buildImpacts(ctx, ix, impactsOptions{}); err != nil {
			return built, err
		}
	}
	built.Index, err = ix.Stats()
	return built, err
}

func (a *app) printIndexed(out string, built indexed) error {
	if a.json {
		return a.printJSON(built)
	}
	a.printReport(out, built)
	if built.Index.NumDocs > 0 {
		a.notef("search it: griffin search %[1]s QUERY   or: griffin serve %[1]s", out)
	}
	return nil
}

func (a *app) printReport(out string, r indexed) {
	rate := float64(r.InputBytes) / 1e6 / max(r.Took.Seconds(), 1e-9)
	a.printf("%s, %s of text in %s (%.1f MB/s) → %s, %s\n", plural(r.Docs, "document"), sizeOf(r.InputBytes), took(r.Took), rate, out, sizeOf(r.Index.SizeBytes))
	for _, lost := range []struct {
		n         int64
		one, many string
	}{
		{r.BadRecords, "bad record left out", "bad records left out"},
		{r.Duplicates, "document left out for a later one with the same id", "documents left out for later ones with the same id"},
		{r.Replaced, "document of the index replaced", "documents of the index replaced"},
		{r.Skipped, "file or record without text skipped", "files or records without text skipped"},
	} {
		switch {
		case lost.n == 1:
			a.printf("1 %s\n", lost.one)
		case lost.n > 1:
			a.printf("%s %s\n", count(lost.n), lost.many)
		}
	}
}

// limitHeap makes the collector work harder before the process exceeds what the
// user allowed; the quarter on top is for what indexing does not count.
func limitHeap(memory int64) { debug.SetMemoryLimit(memory + memory/4) }

// sizeFlag is a number of bytes with an optional unit: 512M, 1GiB, 2000000.
type sizeFlag int64

// minMemory is the least that an index can be built in.
const minMemory = 16 << 20

func (s *sizeFlag) check() error {
	if *s < minMemory {
		return usagef("--memory %s: must be at least %s", s, sizeOf(minMemory))
	}
	return nil
}

// String implements pflag.Value.
func (s *sizeFlag) String() string { return sizeOf(int64(*s)) }

// Type implements pflag.Value.
func (s *sizeFlag) Type() string { return "SIZE" }

// Set implements pflag.Value.
func (s *sizeFlag) Set(text string) error {
	number := strings.TrimRight(strings.ToUpper(strings.TrimSpace(text)), "IB")
	shift := 0
	if n := len(number); n > 0 {
		if i := strings.IndexByte("KMGT", number[n-1]); i >= 0 {
			shift, number = 10*(i+1), strings.TrimSpace(number[:n-1])
		}
	}
	var v float64
	if _, err := fmt.Sscanf(number+"\n", "%g\n", &v); err != nil || !(v > 0) || v > 1<<20 && shift >= 40 {
		return fmt.Errorf("want a size such as 512M or 4G")
	}
	*s = sizeFlag(v * float64(int64(1)<<shift))
	return nil
}

// buildIndex makes a new index at out: directly where there is nothing, since
// an index comes into being by its first commit, and else, if replace is set, in
// a folder beside it that takes its place when it is complete.
func (a *app) buildIndex(out string, replace bool, build func(dir string) error) (err error) {
	occupied, err := mayBuild(out, replace)
	if err != nil {
		return err
	}
	if !occupied {
		return build(out)
	}
	staging, err := newStaging(out)
	if err != nil {
		return err
	}
	defer func() {
		if removeErr := staging.remove(); err == nil {
			err = removeErr
		}
	}()
	if err := build(staging.dir); err != nil {
		return err
	}
	return staging.moveTo(out)
}

// mayBuild checks before any work is done that an index may be put at out, and
// tells whether there is one already.
func mayBuild(out string, replace bool) (occupied bool, err error) {
	ix, err := griffin.Open(out)
	switch {
	case err == nil:
		if err := ix.Close(); err != nil {
			return false, err
		}
		if !replace {
			return false, fmt.Errorf("%s: %w", out, griffin.ErrExists)
		}
		return true, nil
	case errors.Is(err, griffin.ErrNotIndex):
		return false, nil // Create looks at what else there may be
	case replace:
		return false, fmt.Errorf("%s holds an index that cannot be read, and is left alone; remove it yourself: %w", out, err)
	}
	return false, err
}
