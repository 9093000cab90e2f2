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
		Short: "Exchange indexes with other engines: Common Index File Format",
		Long: `CIFF is a file format in which search engines (Anserini, PISA, JASS, Terrier and
others) exchange inverted indexes: terms, posting lists, document lengths and ids.
It holds no text, no positions and no fields.`,
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
		Short: "Make an index of a CIFF file",
		Long: `Import makes an index of a CIFF file, plain or compressed. Its terms are taken as
they are, so name with --analyzer how queries must be analysed to fit them; the
default splits queries at white space and changes nothing. A file of a learned
sparse model holds weights in the place of frequencies and does not say so:
--weights does.`,
		Example: "  griffin ciff import --out robust.idx --analyzer english robust04.ciff.gz\n" +
			"  griffin ciff import --out splade.idx --weights=100 splade.ciff",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, name := range []string{"k1", "b"} {
				if o.weights != 0 && cmd.Flags().Changed(name) {
					return usagef("--%s means nothing to an index of --weights", name)
				}
			}
			return a.importCIFF(cmd.Context(), o, args[0])
		},
	}
	f := c.Flags()
	f.StringVarP(&o.out, "out", "o", "", "folder of the index (required)")
	f.StringVar(&o.analyzer, "analyzer", "whitespace", "how queries become terms")
	f.StringVar(&o.codec, "codec", "simdbp", "how posting lists are compressed")
	f.StringVar(&o.reorder, "reorder", "none", "renumber documents so that like ones are neighbours: bp or none")
	f.BoolVar(&o.replace, "replace", false, "put it in the place of the index that is there")
	f.Float64Var(&o.weights, "weights", 0, "frequencies are weights of a learned model, times N: scores are dot products")
	f.Lookup("weights").NoOptDefVal = "1"
	f.Float32Var(&o.k1, "k1", 0.9, "BM25's k1")
	f.Float32Var(&o.b, "b", 0.4, "BM25's b")
	f.Var(&o.memory, "memory", "memory to use, such as 512M or 4G")
	f.IntVar(&o.threads, "threads", 0, "processors to use, 0 for all")
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
	err = a.buildIndex(o.out, o.replace, func(dir string) (err error) {
		ix, err := index.Create(vfs.OS, dir, index.Options{
			Analyzer: o.analyzer, Codec: o.codec, BM25: score.BM25{K1: o.k1, B: o.b}, NoStored: true, Fields: []string{},
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
	return a.printCIFF(o.out, report.Docs, int64(source.Header().NumPostingsLists), time.Since(start))
}

// ciffError names the file, and makes an invalid one bad input.
func ciffError(path string, err error) error {
	if errors.Is(err, ciff.ErrInvalid) {
		return fmt.Errorf("%s: %w: %w", path, err, griffin.ErrBadInput)
	}
	return fmt.Errorf("%s: %w", path, err)
}

func (a *app) printCIFF(out string, docs, lists int64, elapsed time.Duration) error {
	if a.json {
		return a.printJSON(map[string]any{"out": out, "docs": docs, "posting_lists": lists, "took_ns": elapsed})
	}
	a.printf("%s and %s in %s → %s\n", plural(docs, "document"), plural(lists, "posting list"), took(elapsed), out)
	return nil
}

func newCIFFExportCommand(a *app) *cobra.Command {
	var out, description string
	c := &cobra.Command{
		Use:   "export INDEX --out FILE",
		Short: "Write an index as a CIFF file",
		Long: `Export writes the terms, posting lists, lengths and ids of an index as a CIFF
file. Deleted documents are left out, and the others numbered without gaps.`,
		Example: "  griffin ciff export wiki.idx --out wiki.ciff\n  griffin ciff export wiki.idx | gzip > wiki.ciff.gz",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.exportCIFF(cmd.Context(), args[0], out, description)
		},
	}
	c.Flags().StringVarP(&out, "out", "o", "-", "file to write, - for standard output")
	c.Flags().StringVar(&description, "description", "", "what the header says of the file (default: name, analyzer and version)")
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
	return a.printCIFF(out, int64(header.NumDocs), int64(header.NumPostingsLists), time.Since(start))
}
