package rest

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"time"

	"github.com/griffin-search/griffin"
)

const (
	// byQueryBatch is the number of documents that are found together.
	byQueryBatch = 1000
	// byQueryBytes is the size of documents that are read and written together. An update of 100 documents of 3 MB left a
	// heap of 2,190 MiB when they were read together, and of 443 in parts.
	byQueryBytes = 8 << 20
)

// byQueryRun is one _delete_by_query or _update_by_query.
type byQueryRun struct {
	r         *request
	x         *Index
	update    bool
	proceed   bool // conflicts=proceed
	total     int
	done      int
	batches   int
	conflicts int
	failures  []failure
}

type failure struct {
	Index  string     `json:"index"`
	ID     string     `json:"id"`
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
	run := byQueryRun{r: r, x: x, update: update, failures: []failure{}}
	switch v := r.values.Get("conflicts"); v {
	case "", "abort":
	case "proceed":
		run.proceed = true
	default:
		return answer{}, illegal("conflicts may only be \"proceed\" or \"abort\" but was [%s]", v)
	}
	if wait, err := r.boolean("wait_for_completion", true); err != nil {
		return answer{}, err
	} else if !wait {
		return answer{}, illegal("[wait_for_completion] false is not supported: there are no tasks")
	}
	body, err := r.searchBody()
	if err != nil {
		return answer{}, err
	}
	var q searchQuery
	if r.values.Has("q") && len(body) == 0 {
		q, err = x.queryString(r.values.Get("q"), r.values.Get("default_operator"), r.values.Get("df"))
	} else {
		q, err = x.bodyQuery(body, !update /* required */)
	}
	if err != nil {
		return answer{}, err
	}
	_ = http.NewResponseController(r.w).SetWriteDeadline(time.Time{}) // its time depends on the matches
	if err := run.all(r.Context(), q); err != nil {
		return answer{}, err
	}
	if _, err := r.refresh(r.Context(), x); err != nil {
		return answer{}, err
	}
	return run.answer(), nil
}

func (b *byQueryRun) answer() answer {
	out := map[string]any{
		"took": time.Since(b.r.began).Milliseconds(), "timed_out": false, "total": b.total, "batches": b.batches,
		"version_conflicts": b.conflicts, "noops": 0, "retries": map[string]int{"bulk": 0, "search": 0},
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
	batch := make([]foundDocument, 0, byQueryBatch)
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
		if batch = append(batch, found); len(batch) < byQueryBatch {
			continue
		}
		if err := flush(); err != nil || len(b.failures) > 0 {
			return err
		}
	}
	if len(batch) == 0 {
		return nil
	}
	return flush()
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
			b.total, _ = pit.NumDocs() // it is open
			for doc, err := range pit.Versions(ctx) {
				if !yield(foundDocument{doc.ID, unchanged(doc.SeqNo)}, err) {
					return
				}
			}
			return
		}
		counted, err := pit.Search(ctx, griffin.Query{Node: q.node, Mode: q.mode, K: 1, Count: true, Load: griffin.LoadNone})
		if err == nil && counted.Matches > griffin.MaxK {
			err = illegal("the query finds %d documents, more than %d", counted.Matches, griffin.MaxK)
		}
		if err != nil {
			yield(foundDocument{}, err)
			return
		}
		if b.total = int(counted.Matches); b.total == 0 {
			return
		}
		results, err := pit.Search(ctx, griffin.Query{Node: q.node, Mode: q.mode, K: b.total, Load: griffin.LoadIDs, LoadVersions: true})
		if err != nil {
			yield(foundDocument{}, err)
			return
		}
		for _, hit := range results.Hits {
			if !yield(foundDocument{hit.ID, unchanged(hit.SeqNo)}, nil) {
				return
			}
		}
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
	results, err := b.x.writer.Apply(ctx, writes...)
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
