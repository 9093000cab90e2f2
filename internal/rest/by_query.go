package rest

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/griffin-search/griffin"
)

const (
	// byQueryBatch is the default of scroll_size, the number of documents that are written together, and maxByQueryBatch its
	// limit.
	byQueryBatch    = 1000
	maxByQueryBatch = 10_000
	// byQueryBytes is the size of documents that are read and written together. An update of 100 documents of 3 MB left a
	// heap of 2,190 MiB when they were read together, and of 443 in parts.
	byQueryBytes = 8 << 20
	// maxByQueryRetries is how often a refused write is repeated, after byQueryPause.
	maxByQueryRetries = 10
	byQueryPause      = time.Second
)

// byQueryRun is one _delete_by_query or _update_by_query.
type byQueryRun struct {
	r         *request
	x         *Index
	update    bool
	proceed   bool // conflicts=proceed
	batch     int  // documents
	most      int  // documents that are written; 0: all
	total     int
	done      int
	batches   int
	retries   int
	conflicts int
	failures  []failure
}

type failure struct {
	Index  string     `json:"index"`
	ID     string     `json:"id,omitempty"`
	Cause  errorCause `json:"cause"`
	Status int        `json:"status"`
}

func deleteByQuery(r *request) (answer, *Error) { return r.byQuery(false /* update */) }

func updateByQuery(r *request) (answer, *Error) { return r.byQuery(true /* update */) }

func (r *request) byQuery(update bool) (answer, *Error) {
	done, err := r.beginWrite()
	if err != nil {
		return answer{}, err
	}
	defer done()
	x, err := r.h.dir.find(r.PathValue("index"))
	if err != nil {
		return answer{}, err
	}
	run := byQueryRun{r: r, x: x, update: update, batch: byQueryBatch, failures: []failure{}}
	if err := run.options(); err != nil {
		return answer{}, err
	}
	q, err := run.query()
	if err != nil {
		return answer{}, err
	}
	_ = http.NewResponseController(r.w).SetWriteDeadline(time.Time{}) // its time depends on the matches
	if err := run.stopped(run.all(r.Context(), q)); err != nil {
		return answer{}, err
	}
	if _, err := r.refresh(r.Context(), x); err != nil {
		return answer{}, err
	}
	return run.answer(), nil
}

// stopped makes an error a failure if documents were written before: the answer has their number.
func (b *byQueryRun) stopped(err *Error) *Error {
	if err == nil || b.done == 0 {
		return err
	}
	b.failures = append(b.failures, failure{Index: b.x.name, Cause: err.cause(), Status: err.Status})
	return nil
}

// options reads the parameters of the address.
func (b *byQueryRun) options() *Error {
	r := b.r
	if err := b.onConflict(r.values.Get("conflicts")); err != nil {
		return err
	}
	if wait, err := r.boolean("wait_for_completion", true); err != nil {
		return err
	} else if !wait {
		return illegal("[wait_for_completion] false is not supported: there are no tasks")
	}
	if n, given, err := r.number("scroll_size"); err != nil {
		return err
	} else if given {
		if n == 0 || n > maxByQueryBatch {
			return illegal("[scroll_size] is [%d]: want 1 to %d", n, maxByQueryBatch)
		}
		b.batch = int(n)
	}
	if n, given, err := r.number("max_docs"); err != nil {
		return err
	} else if given {
		if err := b.limit(n); err != nil {
			return err
		}
	}
	if v := r.values.Get("slices"); v != "" && v != "1" && v != "auto" {
		return illegal("[slices] is [%s]: an index is 1 slice; leave it out, or send 1 or auto", v)
	}
	if v := r.values.Get("requests_per_second"); v != "" && v != "-1" {
		return illegal("[requests_per_second] is [%s]: there is no limit of the rate; leave it out, or send -1", v)
	}
	return nil
}

func (b *byQueryRun) onConflict(v string) *Error {
	switch v {
	case "", "abort":
	case "proceed":
		b.proceed = true
	default:
		return illegal("conflicts may only be \"proceed\" or \"abort\" but was [%s]", v)
	}
	return nil
}

// limit is max_docs, in the address or the body.
func (b *byQueryRun) limit(n uint64) *Error {
	switch {
	case n == 0:
		return illegal("[max_docs] is [0]: want 1 or more; all matches are written without it")
	case b.most > 0 && b.most != int(n):
		return illegal("[max_docs] set to two different values [%d] and [%d]", b.most, n)
	}
	b.most = int(n)
	return nil
}

// query reads the body: a query, conflicts and max_docs. The query can be in the address.
func (b *byQueryRun) query() (q searchQuery, err *Error) {
	body, err := b.r.searchBody()
	if err != nil {
		return q, err
	}
	o := map[string]json.RawMessage{}
	if len(body) > 0 {
		var e error
		if o, e = decodeObject(body); e != nil {
			return q, badRequest(typeParsing, "the body: %s", jsonReason(e))
		}
	}
	if raw, found := o["conflicts"]; found {
		var v string
		if json.Unmarshal(raw, &v) != nil || v == "" {
			return q, illegal("conflicts may only be \"proceed\" or \"abort\" but was [%.60s]", raw)
		}
		if err := b.onConflict(v); err != nil {
			return q, err
		}
		delete(o, "conflicts")
	}
	if raw, found := o["max_docs"]; found {
		n, e := strconv.ParseUint(string(raw), 10, 63)
		if e != nil {
			return q, illegal("[max_docs] is [%.60s]: want a number", raw)
		}
		if err := b.limit(n); err != nil {
			return q, err
		}
		delete(o, "max_docs")
	}
	if !b.r.values.Has("q") {
		return b.x.objectQuery(o, !b.update /* required */)
	}
	if len(o) > 0 {
		return q, illegal("the address has a query in [q], and the body has [%s]: send one query", slices.Sorted(maps.Keys(o))[0])
	}
	return b.x.queryString(b.r.values.Get("q"), b.r.values.Get("default_operator"), b.r.values.Get("df"))
}

func (b *byQueryRun) answer() answer {
	out := map[string]any{
		"took": time.Since(b.r.began).Milliseconds(), "timed_out": false, "total": b.total, "batches": b.batches,
		"version_conflicts": b.conflicts, "noops": 0, "retries": map[string]int{"bulk": b.retries, "search": 0},
		"throttled_millis": 0, "requests_per_second": -1.0, "throttled_until_millis": 0, "failures": b.failures, "deleted": 0,
	}
	if b.update {
		out["updated"] = b.done
	} else {
		out["deleted"] = b.done
	}
	status := http.StatusOK
	for _, f := range b.failures {
		status = max(status, f.Status)
	}
	return answer{status: status, body: out}
}

// all writes the documents that the query finds now.
func (b *byQueryRun) all(ctx context.Context, q searchQuery) *Error {
	pit, err := b.x.ix.PointInTime()
	if err != nil {
		return b.r.h.explain(ctx, b.x, err)
	}
	defer pit.Close()
	batch := make([]foundDocument, 0, b.batch)
	flush := func() *Error {
		b.batches++
		failed := b.write(ctx, batch)
		batch = batch[:0]
		return failed
	}
	for found, err := range b.find(ctx, pit, q) {
		if err != nil {
			return b.r.h.explain(ctx, b.x, err)
		}
		if batch = append(batch, found); len(batch) < b.room() {
			continue
		}
		if err := flush(); err != nil || len(b.failures) > 0 || b.room() == 0 {
			return err
		}
	}
	if len(batch) == 0 {
		return nil
	}
	return flush()
}

// room is the number of documents of the next batch. Conflicts do not count for max_docs.
func (b *byQueryRun) room() int {
	if b.most == 0 {
		return b.batch
	}
	return min(b.batch, b.most-b.done)
}

// foundDocument is a document that the query matches. seqNo is for griffin.Write.IfSeqNo.
type foundDocument struct {
	id    string
	seqNo uint64
}

// find sets total and iterates over the documents of a point in time that the query matches.
func (b *byQueryRun) find(ctx context.Context, pit *griffin.PointInTime, q searchQuery) iter.Seq2[foundDocument, error] {
	return func(yield func(foundDocument, error) bool) {
		if q.all {
			numDocs, _ := pit.NumDocs() // it is open
			b.found(numDocs)
			for doc, err := range pit.Versions(ctx) {
				if !yield(foundDocument{doc.ID, unchanged(doc.SeqNo)}, err) {
					return
				}
			}
			return
		}
		matches, docs, err := pit.Matches(ctx, griffin.Query{Node: q.node, Mode: q.mode})
		if err != nil {
			yield(foundDocument{}, err)
			return
		}
		b.found(int(matches))
		for doc, err := range docs {
			if !yield(foundDocument{doc.ID, unchanged(doc.SeqNo)}, err) {
				return
			}
		}
	}
}

// found sets total for a number of matches.
func (b *byQueryRun) found(matches int) {
	if b.total = matches; b.most > 0 {
		b.total = min(b.total, b.most)
	}
}

// write deletes documents, or writes them again, unless they have changed since they were found.
func (b *byQueryRun) write(ctx context.Context, found []foundDocument) *Error {
	for writes, err := range b.parts(ctx, found) {
		if err != nil {
			return err
		}
		if err := b.apply(ctx, writes); err != nil {
			return err
		}
	}
	return nil
}

// parts iterates over the writes, in parts of byQueryBytes and one document more at most. A part is valid until the next.
func (b *byQueryRun) parts(ctx context.Context, found []foundDocument) iter.Seq2[[]griffin.Write, *Error] {
	return func(yield func([]griffin.Write, *Error) bool) {
		var writes []griffin.Write
		size := 0
		for _, f := range found {
			w := griffin.Write{Kind: griffin.WriteDelete, Document: griffin.Document{ID: f.id}, IfSeqNo: f.seqNo}
			if b.update {
				if ok, err := b.read(ctx, f, &w); err != nil {
					yield(nil, err)
					return
				} else if !ok {
					continue
				}
			}
			writes = append(writes, w)
			if size += sizeBytes(&w.Document); size < byQueryBytes {
				continue
			}
			if !yield(writes, nil) {
				return
			}
			clear(writes)
			writes, size = writes[:0], 0
		}
		if len(writes) > 0 {
			yield(writes, nil)
		}
	}
}

func sizeBytes(d *griffin.Document) int {
	n := len(d.Title) + len(d.Text)
	for i := range d.Fields {
		n += len(d.Fields[i].Value)
	}
	return n
}

func (b *byQueryRun) apply(ctx context.Context, writes []griffin.Write) *Error {
	h := b.r.h
	results, err := b.patiently(ctx, func() ([]griffin.WriteResult, error) { return b.x.writer.Apply(ctx, writes...) })
	if err != nil {
		return h.explain(ctx, b.x, err)
	}
	for i := range results {
		switch err := results[i].Err; {
		case err == nil:
			b.done++
			b.x.grow(&writes[i])
			h.metrics.wrote(&results[i], &writes[i])
		case errors.Is(err, griffin.ErrConflict):
			b.conflict(results[i].ID, h.explainWrite(ctx, b.x, &writes[i], &results[i]).Reason)
		default:
			e := h.explainWrite(ctx, b.x, &writes[i], &results[i])
			b.failures = append(b.failures, failure{Index: b.x.name, ID: results[i].ID, Cause: e.cause(), Status: e.Status})
		}
	}
	return nil
}

// patiently repeats a write that is refused because others wait for memory or merges. Each attempt waits for them, too.
func (b *byQueryRun) patiently(ctx context.Context, write func() ([]griffin.WriteResult, error)) ([]griffin.WriteResult, error) {
	for n := 0; ; n++ {
		results, err := write()
		if !errors.Is(err, griffin.ErrBusy) || blocked(b.x.name, err) != nil || n == maxByQueryRetries {
			return results, err
		}
		b.retries++
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(byQueryPause):
		}
	}
}

// read sets w to write a document again, unless it is not as it was found.
func (b *byQueryRun) read(ctx context.Context, f foundDocument, w *griffin.Write) (ok bool, failed *Error) {
	doc, err := b.x.ix.Versioned(ctx, f.id)
	switch {
	case errors.Is(err, griffin.ErrNotFound):
		b.conflict(f.id, "the document was deleted")
		return false, nil
	case err != nil:
		return false, b.r.h.explain(ctx, b.x, err)
	case unchanged(doc.SeqNo) != f.seqNo:
		b.conflict(f.id, "the document has changed since it was found")
		return false, nil
	}
	if failed := b.again(w, &doc); failed != nil {
		b.failures = append(b.failures, failure{Index: b.x.name, ID: f.id, Cause: failed.cause(), Status: failed.Status})
		return false, nil
	}
	return true, nil
}

// again sets w to write a document with the fields of today's mapping. One that this API did not write
// stays as it is.
func (b *byQueryRun) again(w *griffin.Write, doc *griffin.VersionedDocument) *Error {
	w.Kind, w.Document = griffin.WriteIndex, doc.Document
	for i := len(doc.Fields) - 1; i >= 0; i-- {
		if doc.Fields[i].Name == sourceField {
			return b.x.document(w, doc.ID, doc.Fields[i].Value)
		}
	}
	return nil
}

func (b *byQueryRun) conflict(id, reason string) {
	b.conflicts++
	if !b.proceed {
		b.failures = append(b.failures, failure{
			Index: b.x.name, ID: id, Status: http.StatusConflict, Cause: errorCause{Type: typeConflict, Reason: reason, Index: b.x.name},
		})
	}
}
