package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/spf13/cobra"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/rest"
)

type exportOptions struct {
	out    string
	server serverFlag
}

// exported is the JSON of "griffin export --out".
type exported struct {
	Docs      int64 `json:"docs"`
	SizeBytes int64 `json:"size_bytes"`
	uncommitted
}

func newExportCommand(a *app) *cobra.Command {
	o := exportOptions{}
	c := &cobra.Command{
		Use:   "export INDEX",
		Short: "Write all documents as JSON Lines",
		Long: `Export writes the stored documents, one JSON object a line, to standard output or to a
file. griffin index reads them. Every line is whole, also after Ctrl-C; a file appears
when it is complete.

The documents are those of the last commit, whatever is written meanwhile. With --server,
INDEX is the name of an index on a running server, and the documents are the visible ones.`,
		Example: "  griffin export notes.idx > notes.jsonl\n  griffin export notes.idx --out notes.jsonl",
		Args:    cobra.ExactArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return a.export(cmd.Context(), &o, args[0]) },
	}
	f := c.Flags()
	f.StringVarP(&o.out, "out", "o", "", "write to `FILE` (default: standard output)")
	o.server.registerReading(f)
	return c
}

func (a *app) export(ctx context.Context, o *exportOptions, index string) error {
	if o.out == "" {
		_, err := a.exportTo(ctx, o, index, a.out)
		return err
	}
	temp := o.out + ".partial"
	f, err := os.Create(temp)
	if err != nil {
		return err
	}
	report, err := a.exportTo(ctx, o, index, f)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(temp, o.out)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	if a.json {
		return a.printJSON(report)
	}
	a.printf("%s, %s → %s\n", plural(report.Docs, "document"), sizeOf(report.SizeBytes), o.out)
	return nil
}

func (a *app) exportTo(ctx context.Context, o *exportOptions, index string, out io.Writer) (report exported, err error) {
	bar := a.newProgress()
	defer bar.close()
	e := exporter{out: bufio.NewWriterSize(out, 256<<10), bar: bar}
	if o.server.url != "" {
		err = e.fromServer(ctx, o, index)
	} else {
		err = a.exportFolder(ctx, &e, index)
	}
	return e.report, errors.Join(err, e.out.Flush())
}

// exporter writes whole lines.
type exporter struct {
	out    *bufio.Writer
	bar    *progress
	total  int64
	report exported
}

func (e *exporter) write(line []byte) error {
	if len(line) > e.out.Available() && e.out.Buffered() > 0 {
		if err := e.out.Flush(); err != nil { // a part of a line is never written alone
			return err
		}
	}
	n, err := e.out.Write(line)
	e.report.SizeBytes += int64(n)
	if e.report.Docs++; e.report.Docs%1000 == 0 {
		e.bar.show("export", e.report.Docs, e.total, plural(e.report.Docs, "document"))
	}
	return err
}

func (a *app) exportFolder(ctx context.Context, e *exporter, dir string) (err error) {
	ix, err := openIndex(dir, griffin.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ix.Close()) }()
	if e.report.uncommitted, err = a.noteUncommitted(dir); err != nil {
		return err
	}
	stats, err := ix.Stats()
	switch {
	case err != nil:
		return err
	case !stats.Stored:
		return fmt.Errorf("%s stores no text (it was made with --no-stored): %w", dir, griffin.ErrBadInput)
	case stats.WeightScale != 0:
		a.notef("the index has no vectors to export, only titles, texts and fields")
	}
	e.total = int64(stats.NumDocs)
	lines := rest.NewLines(ix.Mapping())
	var line []byte
	for d, err := range ix.Documents(ctx) {
		if err != nil {
			return err
		}
		line = lines.Append(line[:0], &d)
		if err := e.write(line); err != nil {
			return err
		}
	}
	return nil
}

func (e *exporter) fromServer(ctx context.Context, o *exportOptions, index string) (err error) {
	s, err := o.server.open(index)
	if err != nil {
		return err
	}
	var counted struct {
		Count int64 `json:"count"`
	}
	if err := callServer(ctx, s.client, http.MethodGet, s.url+"/_count", nil, &counted); err != nil {
		return err
	}
	e.total = counted.Count
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/_export", nil)
	if err != nil {
		return err
	}
	response, err := s.client.Do(request)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	if response.StatusCode != http.StatusOK {
		text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswerBytes))
		if err != nil {
			return err
		}
		return answeredError(response.StatusCode, text)
	}
	lines := bufio.NewReaderSize(response.Body, 256<<10)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) && len(line) == 0 {
			return nil
		}
		if err != nil {
			return fmt.Errorf("server: the answer was cut off after %s: %w", plural(e.report.Docs, "document"), err)
		}
		if err := e.write(line); err != nil {
			return err
		}
	}
}
