package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/query"
)

type deleteOptions struct {
	query   string
	mode    string
	dryRun  bool
	yes     bool
	queried bool // --query is given
	server  serverFlag
}

func newDeleteCommand(a *app) *cobra.Command {
	o := deleteOptions{}
	c := &cobra.Command{
		Use:   "delete INDEX [ID…]",
		Short: "Delete documents by id or by a query",
		Long: `Delete removes the documents with the given ids ("-": one id a line from standard
input), or with --query all documents that match. Ids without a document are
reported and counted. Deleted documents are no longer found and do not count in
scores; griffin merge frees their space.

A query of which a part would be ignored or read as plain words, such as a field that
the index does not have, is an error and deletes nothing.

At a terminal, --query shows the number of documents and asks before it deletes,
unless --yes is given. With --server, INDEX is the name of an index on a running
server.`,
		Example: `  griffin delete notes.idx http.md parser.md
  cut -f1 queries.tsv | griffin delete notes.idx -
  griffin delete notes.idx --query '"rate limit"' --dry-run
  griffin delete notes.idx --query '"rate limit"' --yes`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.queried = cmd.Flags().Changed("query")
			return a.delete(cmd.Context(), &o, args[0], args[1:])
		},
	}
	f := c.Flags()
	f.StringVar(&o.query, "query", "", "delete the documents that match `QUERY`")
	f.StringVar(&o.mode, "mode", "or", "with --query, match any word (or) or all words (and)")
	f.BoolVar(&o.dryRun, "dry-run", false, "print the number of documents and change nothing")
	o.server.register(f)
	f.BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	return c
}

// deleted is the JSON of "griffin delete".
type deleted struct {
	Deleted  int64 `json:"deleted"`   // with --dry-run: that would be deleted
	NotFound int64 `json:"not_found"` // ids without a document
	DryRun   bool  `json:"dry_run"`
}

func (o *deleteOptions) check(ids []string) (griffin.Mode, error) {
	switch {
	case o.queried && len(ids) > 0:
		return 0, usagef("give ids or --query, not both")
	case !o.queried && len(ids) == 0:
		return 0, usagef("give ids, - to read them, or --query")
	case o.queried && strings.TrimSpace(o.query) == "":
		return 0, usagef("--query is empty")
	}
	if err := oneOf("--mode", o.mode, "or", "and"); err != nil {
		return 0, err
	}
	return griffin.ParseMode(o.mode)
}

func (a *app) delete(ctx context.Context, o *deleteOptions, dir string, ids []string) (err error) {
	mode, err := o.check(ids)
	if err != nil {
		return err
	}
	target, err := o.open(dir)
	if err != nil {
		return err
	}
	d := deletion{console: a.console, target: target, options: o}
	if err = d.run(ctx, &griffin.Query{Text: o.query, Mode: mode}, ids, dir); err != nil && o.server.url == "" {
		return ofDisk(dir, err)
	}
	return err
}

func (o *deleteOptions) open(index string) (deleteTarget, error) {
	if o.server.url != "" {
		return o.server.open(index)
	}
	ix, err := openIndex(index, griffin.Options{})
	if err != nil {
		return nil, err
	}
	return &writableIndex{indexSink{index: ix, memory: defaultWriterMemory}}, nil
}

// deleteTarget is a sink whose documents can be searched.
type deleteTarget interface {
	sink
	// exists reports which ids have a document.
	exists(ctx context.Context, ids []string) ([]bool, error)
	// count is the number of documents that match.
	count(ctx context.Context, q *griffin.Query) (int64, error)
	// deleteMatches deletes them, and calls progress with the present number of deletions.
	deleteMatches(ctx context.Context, q *griffin.Query, progress func(done int64)) (int64, error)
}

type deletion struct {
	*console
	target  deleteTarget
	options *deleteOptions
	report  deleted
}

func (d *deletion) run(ctx context.Context, q *griffin.Query, ids []string, name string) (err error) {
	d.report.DryRun = d.options.dryRun
	if d.options.queried {
		err = d.matching(ctx, q, name)
	} else {
		err = d.byID(ctx, ids)
	}
	if err = errors.Join(err, d.target.close(context.WithoutCancel(ctx))); err != nil {
		if d.report.Deleted > 0 && !d.report.DryRun {
			d.notef("%s deleted before the error", plural(d.report.Deleted, "document"))
		}
		return err
	}
	if d.json {
		return d.printJSON(d.report)
	}
	what := "deleted"
	if d.report.DryRun {
		what = "would be deleted"
	}
	if d.report.NotFound > 0 {
		what += fmt.Sprintf(", %s not found", count(d.report.NotFound))
	}
	d.printf("%s: %s %s\n", name, plural(d.report.Deleted, "document"), what)
	return nil
}

func (d *deletion) matching(ctx context.Context, q *griffin.Query, name string) (err error) {
	ask := !d.options.yes && isTerminal(d.in)
	if d.options.dryRun || ask {
		n, err := d.target.count(ctx, q)
		if err != nil {
			return err
		}
		if d.options.dryRun || n == 0 {
			d.report.Deleted = n
			return nil
		}
		if ok, err := d.confirm(ctx, fmt.Sprintf("Delete %s of %s? [y/N] ", plural(n, "document"), name)); err != nil || !ok {
			return err
		}
	}
	bar := d.newProgress()
	defer bar.close()
	d.report.Deleted, err = d.target.deleteMatches(ctx, q, func(done int64) {
		d.report.Deleted = done
		bar.show("delete", done, 0, plural(done, "document"))
	})
	return err
}

func (d *deletion) confirm(ctx context.Context, question string) (bool, error) {
	fmt.Fprint(d.err, question)
	answer, err := bufio.NewReader(interruptible{ctx, d.in}).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes", nil
}

func (d *deletion) byID(ctx context.Context, ids []string) error {
	missing := messages{progress: d.newProgress()}
	defer missing.progress.close()
	var batch []string
	flush := func() error {
		gone, err := d.deleteIDs(ctx, batch)
		for i, id := range batch {
			if err == nil && !gone[i] {
				d.report.NotFound++
				if !d.quiet && !d.json {
					missing.add("griffin: no document %q", id)
				}
			}
		}
		batch = batch[:0]
		return err
	}
	err := eachID(interruptible{ctx, d.in}, ids, func(id string) error {
		if batch = append(batch, id); len(batch) < maxBatchDocs {
			return nil
		}
		missing.progress.show("delete", d.report.Deleted, 0, plural(d.report.Deleted, "document"))
		return flush()
	})
	if err != nil {
		return err
	}
	return flush()
}

// deleteIDs reports which ids had a document.
func (d *deletion) deleteIDs(ctx context.Context, ids []string) (gone []bool, err error) {
	if len(ids) == 0 {
		return nil, nil
	}
	if d.options.dryRun {
		gone, err = d.target.exists(ctx, ids)
	} else {
		gone, err = d.deleteNow(ctx, ids)
	}
	for _, was := range gone {
		if was {
			d.report.Deleted++
		}
	}
	return gone, err
}

func (d *deletion) deleteNow(ctx context.Context, ids []string) (gone []bool, err error) {
	results, err := applyPatiently(ctx, d.target, deletesOf(ids))
	if err != nil {
		return nil, err
	}
	for _, r := range results {
		if r.Err != nil {
			return nil, r.Err
		}
		gone = append(gone, r.Outcome == griffin.WriteDeleted)
	}
	return gone, nil
}

func deletesOf(ids []string) []griffin.Write {
	writes := make([]griffin.Write, len(ids))
	for i, id := range ids {
		writes[i] = griffin.Write{Kind: griffin.WriteDelete, Document: griffin.Document{ID: id}}
	}
	return writes
}

// eachID reads one id a line in the place of "-". It leaves out empty lines.
func eachID(in io.Reader, ids []string, each func(id string) error) error {
	for _, id := range ids {
		if id != "-" {
			if err := each(id); err != nil {
				return err
			}
			continue
		}
		lines := bufio.NewScanner(in)
		for lines.Scan() {
			if id := strings.TrimSuffix(lines.Text(), "\r"); id != "" {
				if err := each(id); err != nil {
					return err
				}
			}
		}
		if err := lines.Err(); err != nil {
			return fmt.Errorf("ids from standard input: %w", err)
		}
	}
	return nil
}

// writableIndex is an index in a folder.
type writableIndex struct{ indexSink }

var _ deleteTarget = (*writableIndex)(nil)

func (t *writableIndex) exists(ctx context.Context, ids []string) ([]bool, error) {
	found, before := make([]bool, len(ids)), map[string]bool{}
	for i, id := range ids {
		if before[id] {
			continue // it would be deleted by then
		}
		before[id] = true
		_, err := t.index.Document(ctx, id)
		if err != nil && !errors.Is(err, griffin.ErrNotFound) {
			return nil, err
		}
		found[i] = err == nil
	}
	return found, nil
}

func (t *writableIndex) count(ctx context.Context, q *griffin.Query) (int64, error) {
	counted := *q
	counted.Count, counted.K, counted.Load = true, 1, griffin.LoadIDs
	r, err := t.search(ctx, &counted)
	if err != nil {
		return 0, err
	}
	return r.Matches, nil
}

// search returns notes as an error: a query of which a part is ignored, or read as words, would delete more than was
// meant.
func (t *writableIndex) search(ctx context.Context, q *griffin.Query) (r *griffin.Results, err error) {
	if !query.IsWeights(q.Text) {
		_, err = griffin.ParseFilter(t.index, q.Text)
	}
	if err == nil {
		r, err = t.index.Search(ctx, *q)
	}
	if err == nil && len(r.Notes) > 0 {
		err = fmt.Errorf("%s: %w", r.Notes[0], griffin.ErrBadInput)
	}
	if err != nil {
		return nil, fmt.Errorf("--query: %w", err)
	}
	return r, nil
}

// maxDeleteHits bounds the hits of one search for documents to delete.
const maxDeleteHits = 20_000

// deleteMatches searches, deletes and refreshes until there is no hit. Other writers are locked
// out meanwhile.
func (t *writableIndex) deleteMatches(ctx context.Context, q *griffin.Query, progress func(done int64)) (done int64, err error) {
	next := *q
	next.K, next.Load = maxDeleteHits, griffin.LoadIDs
	if r, err := t.search(ctx, &next); err != nil || len(r.Hits) == 0 {
		return 0, err // the index stays as it is
	}
	if err := t.open(ctx); err != nil {
		return 0, err
	}
	for {
		r, err := t.search(ctx, &next)
		if err != nil || len(r.Hits) == 0 {
			return done, err
		}
		ids := make([]string, len(r.Hits))
		for i := range r.Hits {
			ids[i] = r.Hits[i].ID
		}
		for batch := range slices.Chunk(ids, maxBatchDocs) {
			if _, err := applyPatiently(ctx, t, deletesOf(batch)); err != nil {
				return done, err
			}
			done += int64(len(batch))
			progress(done)
		}
		if err := t.writer.Refresh(ctx); err != nil {
			return done, err
		}
	}
}
