package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/ciff"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/interchange"
	"github.com/griffin-search/griffin/internal/score"
	"github.com/griffin-search/griffin/internal/vfs"
)

func newCIFFCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "ciff",
		Short: "Import and export indexes in the Common Index File Format",
		Long: `CIFF is the exchange format for inverted indexes of Anserini, PISA, JASS, Terrier and
others. It holds terms, posting lists, document lengths and ids, but no text, positions
or fields.`,
		Example: "  griffin ciff import --out pisa.idx --analyzer english index.ciff.gz\n  griffin ciff export wiki.idx --out wiki.ciff",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(newCIFFImportCommand(a), newCIFFExportCommand(a))
	return c
}

type ciffImportOptions struct {
	out      string
	analyzer string
	codec    string
	reorder  string
	replace  bool
	weights  float64
	k1, b    float32
	memory   sizeFlag
	threads  int
}

func newCIFFImportCommand(a *app) *cobra.Command {
	o := ciffImportOptions{memory: 1 << 30}
	c := &cobra.Command{
		Use:   "import --out INDEX FILE",
		Short: "Make an index from a CIFF file",
		Long: `Import makes an index from a CIFF file, plain or compressed. It keeps the terms
unchanged; choose with --analyzer the analysis of queries that matches them. The
default splits queries at white space. A file of a learned sparse model holds weights
instead of frequencies, but does not declare it: give --weights.`,
		Example: "  griffin ciff import --out robust.idx --analyzer english robust04.ciff.gz\n" +
			"  griffin ciff import --out splade.idx --weights=100 splade.ciff",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, name := range []string{"k1", "b"} {
				if o.weights != 0 && cmd.Flags().Changed(name) {
					return usagef("--%s does not apply to an index with --weights", name)
				}
			}
			return a.importCIFF(cmd.Context(), o, args[0])
		},
	}
	f := c.Flags()
	f.StringVarP(&o.out, "out", "o", "", "folder of the index (required)")
	f.StringVar(&o.analyzer, "analyzer", "whitespace", "`NAME` of the chain that turns queries into terms")
	f.StringVar(&o.codec, "codec", "simdbp", "compression of posting lists")
	f.StringVar(&o.reorder, "reorder", "none", "renumber documents so that similar ones are neighbours: bp or none")
	f.BoolVar(&o.replace, "replace", false, "replace the existing index")
	f.Float64Var(&o.weights, "weights", 0, "frequencies are learned weights times N; scores are dot products")
	f.Lookup("weights").NoOptDefVal = "1"
	f.Float32Var(&o.k1, "k1", 0.9, "BM25's k1")
	f.Float32Var(&o.b, "b", 0.4, "BM25's b")
	f.Var(&o.memory, "memory", "memory to use, such as 512M or 4G")
	f.IntVar(&o.threads, "threads", 0, "processors to use; 0: all")
	_ = c.MarkFlagRequired("out")
	return c
}

func (a *app) importCIFF(ctx context.Context, o ciffImportOptions, path string) error {
	if err := oneOf("--reorder", o.reorder, "none", "bp"); err != nil {
		return err
	}
	if err := o.memory.check(); err != nil {
		return err
	}
	limitHeap(int64(o.memory))
	start := time.Now()
	source, err := interchange.NewSource(func() (io.ReadCloser, error) { return corpus.OpenFile(path) })
	if err != nil {
		return ciffError(path, err)
	}
	bar := a.newProgress()
	duplicates := messages{progress: bar}
	var report index.Report
	err = buildIndex(o.out, o.replace, func(dir string) (err error) {
		ix, err := index.Create(vfs.OS, dir, index.Options{
			Analyzer: o.analyzer, Codec: o.codec, BM25: score.BM25{K1: o.k1, B: o.b}, BM25IsSet: true, NoStored: true, Fields: []string{},
			WeightScale: o.weights,
		})
		if err != nil {
			return badFlags(err)
		}
		defer func() { err = errors.Join(err, ix.Close()) }()
		report, err = ix.Import(ctx, source, index.ImportOptions{
			MemoryBytes: int64(o.memory), Threads: o.threads, Reorder: o.reorder, Progress: bar.importing,
			OnDuplicate: func(id string, _, _ corpus.Location) {
				duplicates.add("griffin: duplicate id %q: the last document with it replaces those before", id)
			},
		})
		return err
	})
	bar.close()
	if err != nil {
		return ciffError(path, err)
	}
	return printCIFF(a.console, o.out, report.Docs, int64(source.Header().NumPostingsLists), time.Since(start))
}

// ciffError adds the name of the file. It wraps an invalid file as bad input.
func ciffError(path string, err error) error {
	if errors.Is(err, ciff.ErrInvalid) {
		return fmt.Errorf("%s: %w: %w", path, err, griffin.ErrBadInput)
	}
	return fmt.Errorf("%s: %w", path, err)
}

func printCIFF(con *console, out string, docs, lists int64, elapsed time.Duration) error {
	if con.json {
		return con.printJSON(map[string]any{"out": out, "docs": docs, "posting_lists": lists, "took_ns": elapsed})
	}
	con.printf("%s and %s in %s → %s\n", plural(docs, "document"), plural(lists, "posting list"), took(elapsed), out)
	return nil
}

func newCIFFExportCommand(a *app) *cobra.Command {
	var out, description string
	c := &cobra.Command{
		Use:   "export INDEX --out FILE",
		Short: "Write an index as a CIFF file",
		Long: `Export writes the terms, posting lists, lengths and ids of an index as a CIFF
file. Deleted documents are left out; the others are renumbered without gaps.`,
		Example: "  griffin ciff export wiki.idx --out wiki.ciff\n  griffin ciff export wiki.idx | gzip > wiki.ciff.gz",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.exportCIFF(cmd.Context(), args[0], out, description)
		},
	}
	c.Flags().StringVarP(&out, "out", "o", "-", "file to write, - for standard output")
	c.Flags().StringVar(&description, "description", "", "description in the header (default: name, analyzer and version)")
	return c
}

func (a *app) exportCIFF(ctx context.Context, dir, out, description string) error {
	start := time.Now()
	switch {
	case out == "-" && a.json:
		return usagef("--json needs --out FILE: without it the CIFF file is on standard output")
	case out == "-" && isTerminal(a.out):
		return usagef("CIFF is binary: name a file with --out, or pipe it")
	}
	snapshot, err := openSnapshot(dir)
	if err != nil {
		return err
	}
	defer snapshot.Release()
	if description == "" {
		description = fmt.Sprintf("Griffin %s, analyzer %s", griffin.Version, snapshot.Options.Analyzer)
		if scale := snapshot.Options.WeightScale; scale != 0 {
			description += fmt.Sprintf(", weights times %g", scale)
		}
	}
	parts := make([]interchange.Part, len(snapshot.Segments))
	for i, view := range snapshot.Segments {
		parts[i] = interchange.Part{Segment: view.Segment, Live: view.Live}
	}
	bar := a.newProgress()
	var header ciff.Header
	err = a.writeFile(out, func(w io.Writer) (err error) {
		header, err = interchange.Export(ctx, w, parts, interchange.ExportOptions{Description: description, Progress: bar.items("export", "lists")})
		return err
	})
	bar.close()
	if err != nil {
		return err
	}
	if out == "-" {
		return nil
	}
	return printCIFF(a.console, out, int64(header.NumDocs), int64(header.NumPostingsLists), time.Since(start))
}
