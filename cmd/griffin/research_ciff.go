package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/corpus"
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
	bar := a.newProgress()
	duplicates := messages{progress: bar}
	var report griffin.CIFFReport
	err := buildIndex(o.out, o.replace, func(dir string) (err error) {
		ix, err := griffin.Create(dir, o.settings(), griffin.Options{IndexMemory: int64(o.memory), IndexThreads: o.threads})
		if err != nil {
			return badFlags(err)
		}
		defer func() { err = errors.Join(err, ix.Close()) }()
		open := func() (io.ReadCloser, error) { return corpus.OpenFile(path) }
		report, err = ix.ImportCIFF(ctx, open, griffin.CIFFImportOptions{
			Reorder: griffin.Reorder(o.reorder), Progress: bar.indexing,
			OnDuplicate: func(id string) {
				duplicates.add("griffin: duplicate id %q: the last document with it replaces those before", id)
			},
		})
		return err
	})
	bar.close()
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return printCIFF(a.console, o.out, &report)
}

// CIFF has neither text nor fields.
func (o *ciffImportOptions) settings() griffin.Settings {
	s := griffin.Settings{
		Analyzer: o.analyzer, Codec: o.codec, NoPositions: true, NoStored: true, Fields: []string{}, WeightScale: o.weights,
	}
	if o.weights == 0 {
		s.BM25 = &griffin.BM25{K1: o.k1, B: o.b}
	}
	return s
}

func printCIFF(con *console, out string, r *griffin.CIFFReport) error {
	if con.json {
		return con.printJSON(map[string]any{"out": out, "docs": r.Docs, "posting_lists": r.Lists, "took_ns": r.Took})
	}
	con.printf("%s and %s in %s → %s\n", plural(r.Docs, "document"), plural(r.Lists, "posting list"), took(r.Took), out)
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
	switch {
	case out == "-" && a.json:
		return usagef("--json needs --out FILE: without it the CIFF file is on standard output")
	case out == "-" && isTerminal(a.out):
		return usagef("CIFF is binary: name a file with --out, or pipe it")
	}
	ix, err := griffin.Open(dir, griffin.Options{})
	if err != nil {
		return err
	}
	defer ix.Close()
	bar := a.newProgress()
	var report griffin.CIFFReport
	err = a.writeFile(out, func(w io.Writer) (err error) {
		report, err = ix.ExportCIFF(ctx, w, griffin.CIFFExportOptions{Description: description, Progress: bar.items("export", "lists")})
		return err
	})
	bar.close()
	if err != nil || out == "-" {
		return err
	}
	return printCIFF(a.console, out, &report)
}
