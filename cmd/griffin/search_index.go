package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/analysis"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
)

type indexOptions struct {
	out         string
	analyzer    string
	analysis    string
	codec       string
	fields      []string
	mapping     mappingFile
	noPositions bool
	noStored    bool
	weights     float64
	bm25        griffin.BM25
	titleWeight int
	memory      sizeFlag
	threads     int
	update      bool
	replace     bool
	impacts     bool
	notes       noteOptions
	files       griffin.FilesOptions
}

var generalAnalyzers = []string{"english", "english-full", "english-porter2", "standard", "simple", "stop", "whitespace", "keyword", "code", "cjk"}

func languageAnalyzers() []string {
	return slices.DeleteFunc(griffin.Analyzers(), func(name string) bool { return slices.Contains(generalAnalyzers, name) })
}

func newIndexCommand(a *app) *cobra.Command {
	o := indexOptions{memory: 1 << 30}
	c := &cobra.Command{
		Use:   "index --out INDEX PATH…",
		Short: "Index files and folders",
		Long: `Index reads documents from files, folders or standard input ("-") and writes an
index. It recognises the content of each file, compressed or not, unless --format
names it. The files of a folder may differ: JSON Lines, JSON lists and CSV are split
into records, other texts are one document each. Indexing runs in parallel within --memory. The index appears
as a whole at the end: an interrupted run leaves nothing, or the old index.

Formats:
` + described(griffin.Formats(), corpus.Describe) + `
Analyzers:
` + described(generalAnalyzers, analysis.Describe) + `  and by language, with its Snowball stemmer:
  ` + joinWrapped(languageAnalyzers(), "  "),
		Example: `  griffin index --out notes.idx ~/notes
  griffin index --out wiki.idx wiki-*.jsonl.zst
  zcat dump.tsv.gz | griffin index --out d.idx --format msmarco-tsv -
  griffin index --out splade.idx --weights vectors.jsonl.gz   # {"id": …, "vector": {"term": 1.7, …}}
  griffin index --out cities.idx --mapping cities.json cities.jsonl.zst
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
			return printIndexed(a.console, &o, built)
		},
	}
	f := c.Flags()
	f.StringVarP(&o.out, "out", "o", "", "folder of the index (required)")
	f.BoolVar(&o.update, "update", false, "add to the existing index; a document replaces the one with its id")
	f.BoolVar(&o.replace, "replace", false, "build a new index and replace the existing one when it is complete")
	o.registerSettings(f)
	o.registerInput(f)
	f.StringVar((*string)(&o.files.Reorder), "reorder", "none", "renumber documents so that similar ones are neighbours: bp or none")
	f.BoolVar(&o.impacts, "impacts", false, "also make impact-ordered lists, for mode saat (see griffin impacts)")
	f.Var(&o.memory, "memory", "memory to use, such as 512M or 4G")
	f.IntVar(&o.threads, "threads", 0, "processors to use; 0: all")
	f.BoolVar(&o.notes.verbose, "verbose", false, "list every file that was split into records or skipped")
	_ = c.MarkFlagRequired("out")
	c.MarkFlagsMutuallyExclusive("update", "replace")
	c.MarkFlagsMutuallyExclusive("positions", "no-positions")
	return c
}

// registerSettings adds the flags that only a new index has.
func (o *indexOptions) registerSettings(f *pflag.FlagSet) {
	f.StringVar(&o.analyzer, "analyzer", "", "`NAME` of the chain that turns text into terms (default: english-full, or \"default\" of --analysis)")
	f.StringVar(&o.analysis, "analysis", "", "JSON `FILE` that defines analyzers, as OpenSearch's analysis settings")
	f.StringVar(&o.codec, "codec", "simdbp", "compression of posting lists: "+strings.Join(griffin.Codecs(), ", "))
	f.StringSliceVar(&o.fields, "fields", []string{"title"}, "fields that queries can name, as in title:word")
	f.StringVar(&o.mapping.name, "mapping", "", "`FILE` with the types of fields, as a mapping of OpenSearch in JSON, in place of --fields; it may also be the body of a request that creates an index, with mappings and analysis settings")
	f.BoolVar(&o.noPositions, "no-positions", false, "leave out the positions of words: the index is smaller, and \"phrases\" are errors")
	f.Bool("positions", true, "the default")
	_ = f.MarkHidden("positions") // it was needed before positions became the default
	f.BoolVar(&o.noStored, "no-stored", false, "do not store text: hits have no title and no snippet")
	f.Float64Var(&o.weights, "weights", 0, "index the \"vector\" of JSON records (terms with learned weights) with a precision of 1/N; 1 for whole numbers")
	f.Lookup("weights").NoOptDefVal = "100"
	f.Float32Var(&o.bm25.K1, "k1", 0.9, "BM25's k1")
	f.Float32Var(&o.bm25.B, "b", 0.4, "BM25's b")
	f.IntVar(&o.titleWeight, "title-weight", 0, "how often a title and a file's name count; 1: a title as its text (default: 5 for folders, 1 for files)")
}

// changedSetting is the first flag of registerSettings that was given.
func changedSetting(flags *pflag.FlagSet) (name string, given bool) {
	for _, name := range []string{"analyzer", "analysis", "codec", "fields", "mapping", "positions", "no-positions", "no-stored", "weights", "k1", "b", "title-weight"} {
		if flags.Changed(name) {
			return name, true
		}
	}
	return "", false
}

// registerInput adds the flags about reading documents.
func (o *indexOptions) registerInput(f *pflag.FlagSet) {
	o.registerFormat(f)
	f.BoolVar(&o.notes.listSkipped, "list-skipped", false, "list every file, and part of a file, that was left out, with the reason")
	f.IntVar(&o.files.MaxErrors, "max-errors", 100, "stop after this many bad records; -1: never")
}

// registerFormat adds the flags about documents of files.
func (o *indexOptions) registerFormat(f *pflag.FlagSet) {
	f.StringVar(&o.files.Format, "format", "", "format of the input: "+strings.Join(griffin.Formats(), ", ")+" (default: auto, by content and name)")
	f.StringVar(&o.files.IDField, "id-field", "", "name of the id in JSON and CSV records (default: _id, id, docid, …)")
	f.StringVar(&o.files.TitleField, "title-field", "", "name of the title in JSON and CSV records (default: title)")
	f.StringVar(&o.files.TextField, "text-field", "", "name of the text in JSON and CSV records (default: text, contents, …)")
	f.StringVar(&o.files.PDFToText, "pdftotext", "", "`PROGRAM` that converts PDF files (default: pdftotext, if it is installed)")
	f.StringSliceVar(&o.files.ExtraFields, "extra-fields", nil, "further fields of records to keep, each with the fields below it (default: all)")
}

// check returns a usage error for invalid or conflicting flags; Create checks the rest.
func (o *indexOptions) check(flags *pflag.FlagSet) error {
	if name, given := changedSetting(flags); given && o.update {
		return usagef("--%s is fixed when an index is made, and --update keeps it; build a new one with --replace", name)
	}
	if err := o.checkInput(flags); err != nil {
		return err
	}
	if err := oneOf("--reorder", string(o.files.Reorder), "none", "bp"); err != nil {
		return err
	}
	return o.memory.check()
}

// checkInput also adjusts the defaults of an index of weights or with a mapping.
func (o *indexOptions) checkInput(flags *pflag.FlagSet) error {
	if flags.Changed("mapping") {
		if flags.Changed("fields") {
			return usagef("--fields beside --mapping: declare the fields in the mapping")
		}
		if err := o.mapping.read(griffin.ParseMapping); err != nil {
			return err
		}
		if o.mapping.analysis {
			if flags.Changed("analysis") {
				return usagef("--analysis beside --mapping %s, which has analysis settings, too", o.mapping.name)
			}
			o.analysis = o.mapping.name
		}
	}
	if o.weights != 0 {
		for _, name := range []string{"fields", "mapping", "positions", "no-positions", "k1", "b"} {
			if flags.Changed(name) {
				return usagef("--%s does not apply to an index with --weights", name)
			}
		}
		o.fields = nil
		if !flags.Changed("analyzer") {
			o.analyzer = ""
		}
	}
	if err := findPDFToText(&o.files.PDFToText); err != nil {
		return err
	}
	if flags.Changed("format") {
		if err := oneOf("--format", o.files.Format, griffin.Formats()...); err != nil {
			return err
		}
	}
	return nil
}

// indexed is the JSON of "griffin index".
type indexed struct {
	griffin.FilesReport
	Index griffin.Stats `json:"index"`
}

func (a *app) createIndex(ctx context.Context, o indexOptions, paths []string) (built indexed, err error) {
	err = buildIndex(o.out, o.replace, func(dir string) error {
		settings, err := o.settings(paths)
		if err != nil {
			return badFlags(err)
		}
		ix, err := griffin.Create(dir, settings, o.options())
		if err != nil {
			return badFlags(err)
		}
		built, err = a.indexFiles(ctx, ix, o, paths)
		if err == nil && built.Docs == 0 {
			return errors.Join(errNoDocuments(paths, built), os.RemoveAll(dir))
		}
		return err
	})
	return built, err
}

// errNoDocuments: a wrong path is likelier than the wish for an empty index.
func errNoDocuments(paths []string, built indexed) error {
	why := ""
	if built.BadRecords > 0 {
		why = fmt.Sprintf("; %s left out", plural(built.BadRecords, "bad record"))
	}
	for _, reason := range slices.Sorted(maps.Keys(built.SkippedBy)) {
		why += fmt.Sprintf("; skipped: %s: %s", reason, count(built.SkippedBy[reason]))
	}
	return fmt.Errorf("no documents in %s: no index is made%s: %w", strings.Join(paths, ", "), why, griffin.ErrBadInput)
}

// The weight of titles and file names for folders.
const folderTitleWeight = 5

// settings are of an index of paths.
func (o *indexOptions) settings(paths []string) (griffin.Settings, error) {
	s := griffin.Settings{
		Analyzer: o.analyzer, Codec: o.codec, Mapping: o.mapping.parsed, NoPositions: o.noPositions, NoStored: o.noStored,
		WeightScale: o.weights, BM25: &o.bm25, TitleWeight: o.titleWeight,
	}
	if o.mapping.parsed == nil {
		s.Fields = append([]string{}, o.fields...)
	}
	if o.weights == 0 && slices.ContainsFunc(paths, isFolder) {
		s.TitleWeight = cmp.Or(s.TitleWeight, folderTitleWeight)
	}
	if s.TitleWeight > 1 {
		s.NameField = "path" // which files of folders have
	}
	if o.analysis == "" {
		return s, nil
	}
	var err error
	s.Analysis, err = griffin.ReadAnalysis(o.analysis)
	return s, err
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func (o *indexOptions) options() griffin.Options {
	return griffin.Options{IndexMemory: int64(o.memory), IndexThreads: o.threads}
}

func (a *app) updateIndex(ctx context.Context, o indexOptions, paths []string) (indexed, error) {
	ix, err := openIndex(o.out, o.options())
	if err != nil {
		return indexed{}, badFlags(err)
	}
	built, err := a.indexFiles(ctx, ix, o, paths)
	if err == nil {
		a.noteComputed(built.Index.Impacts, o.out)
	}
	return built, err
}

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
	files.OnBadRecord = func(bad error) { skipped.add("griffin: skipped: %s", base.Message(bad)) }
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

func printIndexed(con *console, o *indexOptions, built indexed) error {
	if con.json {
		return con.printJSON(built)
	}
	printReport(con, o.out, built)
	if o.notes.listSkipped {
		listSkipped(con, built.FilesReport)
	}
	noteInput(con, built.FilesReport, o.notes.verbose)
	if built.Index.NumDocs > 0 {
		con.notef("search it: griffin search %[1]s QUERY   or: griffin serve %[1]s", o.out)
	}
	return nil
}

func printReport(con *console, out string, r indexed) {
	rate := float64(r.InputBytes) / 1e6 / max(r.Took.Seconds(), 1e-9)
	con.printf("%s, %s of text in %s (%.1f MB/s) → %s, %s\n", plural(r.Docs, "document"), sizeOf(r.InputBytes), took(r.Took), rate, out, sizeOf(r.Index.SizeBytes))
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
			con.printf("1 %s\n", lost.one)
		case lost.n > 1:
			con.printf("%s %s\n", count(lost.n), lost.many)
		}
	}
}

// The extra quarter is memory that indexing does not count.
func limitHeap(memory int64) { debug.SetMemoryLimit(memory + memory/4) }

// sizeFlag takes bytes with an optional unit: 512M, 1GiB, 2000000.
type sizeFlag int64

const minMemory = 16 << 20

func (s *sizeFlag) check() error {
	if *s < minMemory {
		return usagef("--memory %s: must be at least %s", s, sizeOf(minMemory))
	}
	return nil
}

func (s *sizeFlag) String() string {
	if *s == 0 {
		return "0" // help shows no such default
	}
	return sizeOf(int64(*s))
}

func (s *sizeFlag) Type() string { return "SIZE" }

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

// An existing index is an error unless replace is set.
func buildIndex(out string, replace bool, build func(dir string) error) error {
	if replace {
		return griffin.Replace(out, build)
	}
	ix, err := griffin.Open(out, griffin.Options{})
	switch {
	case err == nil:
		return errors.Join(fmt.Errorf("%s: %w", out, griffin.ErrExists), ix.Close())
	case errors.Is(err, griffin.ErrNotIndex):
		return build(out) // Create checks for other files
	}
	return err
}
