package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/inverter"
)

func newAddCommand(a *app) *cobra.Command {
	o := indexOptions{memory: defaultWriterMemory}
	var server serverFlag
	var fields []string
	c := &cobra.Command{
		Use:   "add INDEX PATH…",
		Short: "Add documents to an index, or replace them",
		Long: `Add reads documents as griffin index does, from files, folders or standard input
("-"), and writes them to an index in batches. A document replaces the one with its
id, also an earlier one of the input. The index is made if there is none; the flags
for its settings apply only then.

Each batch is durable before the next begins, and all are committed at the end. After
an error or Ctrl-C, the index has the documents of the batches before it, and the
same command can be repeated. Use griffin index --update to add all documents or
none. With --server, INDEX is the name of an index on a running server.

--add-fields declares further fields that queries can name. They find the documents
of this input and later ones, not earlier documents. A server declares the fields of
documents itself, with the types of their values in JSON. CSV has no types: a column
whose values are all numbers, or all true and false, is sent as such. To decide about
types, give the index a mapping first.`,
		Example: `  griffin add notes.idx ~/notes/new
  zstdcat wiki-1.jsonl.zst | griffin add wiki.idx --format jsonl -
  griffin add wiki.idx --add-fields author,year wiki-1.jsonl.zst
  griffin add new.idx --analyzer simple --fields title,author wiki-1.jsonl.zst`,
		Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if server.url != "" {
				return a.addToServer(cmd.Context(), &server, o, cmd.Flags(), args[0], args[1:])
			}
			return a.add(cmd.Context(), o, cmd.Flags(), fields, args[0], args[1:])
		},
	}
	f := c.Flags()
	o.registerSettings(f)
	o.registerInput(f)
	f.Var(&o.memory, "memory", "memory for documents that are not in a segment yet, such as 512M or 4G")
	f.StringSliceVar(&fields, "add-fields", nil, "further fields that queries can name (name:word)")
	f.BoolVar(&o.notes.verbose, "verbose", false, "list every file that was split into records or skipped")
	server.register(f)
	c.MarkFlagsMutuallyExclusive("positions", "no-positions")
	return c
}

func (a *app) addToServer(ctx context.Context, server *serverFlag, o indexOptions, flags *pflag.FlagSet, index string, paths []string) error {
	if name, given := changedSetting(flags); given {
		return usagef("--%s does not apply with --server: the settings are the server's", name)
	}
	if err := errors.Join(server.check(flags, "memory", "add-fields"), o.checkInput(flags)); err != nil {
		return err
	}
	s, err := server.open(index)
	if err != nil {
		return err
	}
	in := corpus.Options{Kinds: true}
	if in.Mapped, err = s.mapped(ctx); err != nil {
		return err
	}
	result, err := a.addTo(ctx, s, &o, in, paths)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(result)
	}
	if o.notes.listSkipped {
		listSkipped(a.console, result.FilesReport)
	}
	noteInput(a.console, result.FilesReport, o.notes.verbose)
	a.printAdded(s.url, &result)
	return nil
}

// added is the JSON of "griffin add".
type added struct {
	griffin.FilesReport
	Index *griffin.Stats `json:"index,omitempty"`
}

func (a *app) add(ctx context.Context, o indexOptions, flags *pflag.FlagSet, fields []string, dir string, paths []string) error {
	if err := errors.Join(o.checkInput(flags), o.memory.check()); err != nil {
		return err
	}
	ix, err := a.openForWriting(dir, &o, flags, paths)
	if err != nil {
		return err
	}
	s := &indexSink{index: ix, memory: int64(o.memory), fields: fields}
	result, err := a.addTo(ctx, s, &o, s.input(&o), paths)
	switch {
	case err != nil:
		return ofDisk(dir, err)
	case s.last.Generation == 0:
		return errNoDocuments(paths, indexed{FilesReport: result.FilesReport})
	}
	result.Index = &s.last
	if a.json {
		return a.printJSON(result)
	}
	if o.notes.listSkipped {
		listSkipped(a.console, result.FilesReport)
	}
	noteInput(a.console, result.FilesReport, o.notes.verbose)
	a.printAdded(dir, &result)
	a.noteComputed(s.last.Impacts, dir)
	return nil
}

// openForWriting makes the index if there is none, but no file before the first write.
func (a *app) openForWriting(dir string, o *indexOptions, flags *pflag.FlagSet, paths []string) (*griffin.Index, error) {
	ix, err := openIndex(dir, griffin.Options{})
	if errors.Is(err, griffin.ErrNotIndex) && !hasIndexes(dir) {
		settings, err := o.settings(paths)
		if err != nil {
			return nil, badFlags(err)
		}
		ix, err := griffin.Create(dir, settings, griffin.Options{})
		return ix, badFlags(err)
	}
	if err != nil {
		return nil, err
	}
	if name, given := changedSetting(flags); given {
		return nil, errors.Join(usagef("--%s is fixed when an index is made, and %s exists", name, dir), ix.Close())
	}
	return ix, nil
}

// addTo closes the sink, which commits the writes, also after an error.
func (a *app) addTo(ctx context.Context, s sink, o *indexOptions, in corpus.Options, paths []string) (result added, err error) {
	began := time.Now()
	in.Format, in.IDField, in.TitleField, in.TextField = o.files.Format, o.files.IDField, o.files.TitleField, o.files.TextField
	in.PDFToText = o.files.PDFToText
	in.ExtraFields, in.Stdin = o.files.ExtraFields, interruptible{ctx, a.in}
	reader, err := corpus.Open(paths, in)
	if err != nil {
		return result, errors.Join(err, s.close(ctx))
	}
	bar := a.newProgress()
	f := feeder{sink: s, maxErrors: o.files.MaxErrors, messages: messages{progress: bar}, typed: in.Kinds}
	f.progress = func() {
		p := griffin.Progress{Phase: "read", Docs: f.docs, Bytes: f.bytes, BadRecords: f.bad, Elapsed: time.Since(began)}
		p.Done, p.Total = reader.Progress()
		bar.indexing(p)
	}
	err = f.feed(ctx, reader)
	err = errors.Join(err, reader.Close())
	if closing := s.close(context.WithoutCancel(ctx)); closing != nil && (err == nil || closing.Error() != err.Error()) { // a server has one error for both
		err = errors.Join(err, closing)
	}
	bar.close()
	result.FilesReport = griffin.FilesReport{
		Docs: f.docs, InputBytes: f.bytes, BadRecords: f.bad, Replaced: f.replaced, Skipped: reader.Skipped(), Took: time.Since(began),
	}
	summary := reader.Summary()
	result.SkippedBy, result.Notes = summary.NumSkipped, summary.Notes
	for _, skipped := range summary.Skipped {
		result.SkippedFiles = append(result.SkippedFiles, griffin.SkippedFile(skipped))
	}
	for _, c := range summary.Collections {
		result.Collections = append(result.Collections, griffin.Collection(c))
	}
	if err == nil && f.docs == 0 && f.bad > 0 { // as griffin index does
		err = fmt.Errorf("no documents in %s: nothing is added; %s left out: %w", strings.Join(paths, ", "), plural(f.bad, "bad record"), griffin.ErrBadInput)
	}
	if err != nil && f.docs > 0 {
		a.notef("%s added before the error", plural(f.docs, "document"))
	}
	return result, err
}

func (a *app) printAdded(to string, r *added) {
	size := ""
	if r.Index != nil {
		size = fmt.Sprintf(", %s, %s", plural(r.Index.NumDocs, "document"), sizeOf(r.Index.SizeBytes))
	}
	a.printf("%s added, %s of text in %s → %s%s\n", plural(r.Docs, "document"), sizeOf(r.InputBytes), took(r.Took), to, size)
	if r.Replaced > 0 {
		a.printf("%s of them replaced another\n", count(r.Replaced))
	}
	if r.BadRecords > 0 {
		a.printf("%s left out\n", plural(r.BadRecords, "bad record"))
	}
	if r.Skipped > 0 {
		a.printf("%s without text skipped\n", plural(r.Skipped, "file or record"))
	}
}

// Limits of a batch. A batch is one sync, and one request to a server.
const (
	maxBatchDocs  = 5000
	maxBatchBytes = 4 << 20
)

// feeder writes documents to a sink in batches.
type feeder struct {
	sink      sink
	maxErrors int
	messages  messages
	progress  func() // may be nil
	// before, if not nil, is called with each batch before it is written.
	before func([]griffin.Write) error
	// typed: documents keep the types of their values, as JSON.
	typed bool

	kinds      [][]corpus.Kind // of the batch
	batch      []griffin.Write
	places     []corpus.Location
	batchBytes int
	first      *corpus.RecordError

	docs, replaced, bad, bytes int64
}

func (f *feeder) feed(ctx context.Context, reader corpus.Reader) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		b, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return f.flush(ctx)
		}
		if err != nil {
			return err
		}
		err = b.Parse(func(d *corpus.Document) error { return f.add(ctx, d) }, func(bad *corpus.RecordError) error {
			if err := ctx.Err(); err != nil {
				return err // the input ended because of it
			}
			if f.first == nil && f.maxErrors != 0 { // a record before may be rejected when its batch is written
				if err := f.flush(ctx); err != nil {
					return err
				}
			}
			return f.reject(bad)
		})
		if err != nil {
			return err
		}
		f.bytes += b.SizeBytes
		if f.progress != nil {
			f.progress()
		}
	}
}

func (f *feeder) add(ctx context.Context, d *corpus.Document) error {
	f.batch = append(f.batch, griffin.Write{Kind: griffin.WriteIndex, Document: publicDocument(d)})
	f.places = append(f.places, d.Source)
	if f.typed {
		f.kinds = append(f.kinds, d.Kinds)
	}
	f.batchBytes += len(d.Title) + len(d.Text)
	for _, x := range d.Extra {
		f.batchBytes += len(x.Value)
	}
	if len(f.batch) < maxBatchDocs && f.batchBytes < maxBatchBytes {
		return nil
	}
	return f.flush(ctx)
}

func (f *feeder) flush(ctx context.Context) error {
	if len(f.batch) == 0 {
		return nil
	}
	if f.typed {
		if err := encodeSources(f.batch, f.kinds); err != nil {
			return err
		}
	}
	if f.before != nil {
		if err := f.before(f.batch); err != nil {
			return err
		}
	}
	results, err := applyPatiently(ctx, f.sink, f.batch)
	for i, r := range results {
		switch {
		case err != nil && r.Outcome == griffin.WriteFailed && r.Err == nil:
			continue // the batch ended before it
		case r.Err != nil:
			if tooMany := f.reject(&corpus.RecordError{Location: f.places[i], Err: r.Err}); tooMany != nil && err == nil {
				return tooMany
			}
			continue
		case r.Outcome == griffin.WriteUpdated:
			f.replaced++
		}
		f.docs++
	}
	if err != nil {
		return err
	}
	f.batch, f.places, f.kinds, f.batchBytes = f.batch[:0], f.places[:0], f.kinds[:0], 0
	return nil
}

// reject returns an error if there are more bad records than allowed.
func (f *feeder) reject(bad *corpus.RecordError) error {
	if f.first == nil {
		f.first = bad
	}
	f.bad++
	if f.maxErrors >= 0 && f.bad > int64(f.maxErrors) {
		return &inverter.TooManyErrors{Limit: f.maxErrors, First: f.first}
	}
	f.messages.add("griffin: skipped: %s", base.Message(bad))
	return nil
}

func publicDocument(d *corpus.Document) griffin.Document {
	out := griffin.Document{ID: d.ID, Title: d.Title, Text: d.Text}
	for _, x := range d.Extra {
		out.Fields = append(out.Fields, griffin.Field(x))
	}
	if d.Vector != nil {
		out.Vector = make(map[string]float64, len(d.Vector))
		for _, w := range d.Vector {
			out.Vector[w.Term] = w.Weight
		}
	}
	return out
}
