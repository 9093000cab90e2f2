package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/griffin-search/griffin"
)

// Limits of a batch, which is applied before more of the body is read.
const (
	batchBytes = 2 << 20
	batchItems = 4096
	// At most maxLargeBatches requests can have a batch above smallBatchBytes; others apply their batch at that size.
	maxLargeBatches = 16
	smallBatchBytes = 256 << 10
	// maxBulkItems bounds the memory of the answer.
	maxBulkItems = 500_000
	// maxWaitingBytes is the size of an answer above which a request with refresh=wait_for counts as one that writes until
	// it ends.
	maxWaitingBytes = 1 << 20
)

// bulkRun is one bulk request.
type bulkRun struct {
	r       *request
	answer  []byte // the items, of all batches
	items   int
	failed  bool
	touched map[string]*Index
	made    []madeIndex
	refused map[*Index]*Error // it takes no more writes of this request

	batch []pending
	bytes int
	large bool // it has one of Handler.batches
}

// pending is an operation of the batch.
type pending struct {
	op    bulkOp
	name  string
	index *Index // nil: it failed
	id    string
	write griffin.Write
	err   *Error
	reply griffin.WriteResult
	noop  bool
	done  bool // it has taken effect, before the others of the batch; only the first of a batch
}

// madeIndex is an index that did not exist before an operation with the number first, from 1.
type madeIndex struct {
	name  string
	first int
}

// freePending has the memory of batches, of up to batchItems operations.
var freePending = sync.Pool{New: func() any { return new([]pending) }}

func bulk(r *request) (answer, *Error) {
	done, apiErr := r.beginWrite()
	if apiErr != nil {
		return answer{}, apiErr
	}
	defer done()
	if r.ContentLength > r.h.options.MaxBodyBytes {
		return answer{}, tooLarge(r.h.options.MaxBodyBytes, sendParts)
	}
	body, apiErr := r.reader()
	if apiErr != nil {
		return answer{}, apiErr
	}
	batch := freePending.Get().(*[]pending)
	run := bulkRun{r: r, touched: map[string]*Index{}, refused: map[*Index]*Error{}, batch: (*batch)[:0]}
	defer func() {
		run.leave()
		clear(run.batch) // for the garbage collector
		*batch = run.batch
		freePending.Put(batch)
	}()
	if apiErr := run.read(newBulkReader(body, r.h.options.MaxDocumentBytes)); apiErr != nil {
		return answer{}, apiErr
	}
	if run.items == 0 {
		return answer{}, badRequest(typeValidation, "Validation Failed: 1: no requests added;")
	}
	r.keepSlot = len(run.answer) > maxWaitingBytes
	ctx, cancel := r.limit()
	defer cancel()
	for _, name := range slices.Sorted(maps.Keys(run.touched)) {
		if _, err := r.refresh(ctx, run.touched[name]); err != nil {
			return answer{}, err
		}
	}
	r.deadlines()
	out := fmt.Appendf(nil, `{"took":%d,"errors":%t,"items":[`, time.Since(r.began).Milliseconds(), run.failed)
	return answer{status: http.StatusOK, body: rawJSON(append(append(out, run.answer...), ']', '}', '\n'))}, nil
}

func (b *bulkRun) read(lines *bulkReader) *Error {
	b.r.deadlines()
	for {
		b.r.h.dir.Runtime().Yield()
		item, err := lines.next()
		if errors.Is(err, io.EOF) {
			return b.apply()
		}
		if err != nil {
			return b.stopped(err)
		}
		if b.items == maxBulkItems {
			return b.stopped(fmt.Errorf("a bulk request has at most %d operations: %s: %w", maxBulkItems, sendParts, errLongLine))
		}
		if item.Index == "" && b.r.PathValue("index") == "" { // OpenSearch refuses the request before it writes
			return b.stopped(errNoIndex)
		}
		b.items++
		if apiErr := b.add(&item); apiErr != nil {
			return apiErr
		}
		if b.bytes >= batchBytes || len(b.batch) >= batchItems || b.bytes >= smallBatchBytes && !b.enter() {
			if err := b.apply(); err != nil {
				return err
			}
			b.r.deadlines()
		}
	}
}

// enter reports whether the batch may become large.
func (b *bulkRun) enter() bool {
	if !b.large {
		select {
		case b.r.h.batches <- struct{}{}:
			b.large = true
		default:
		}
	}
	return b.large
}

func (b *bulkRun) leave() {
	if b.large {
		b.large = false
		<-b.r.h.batches
	}
}

var errNoIndex = errors.New("neither the path nor the operation names an index")

// stopped is the answer to a request that cannot be read on.
func (b *bulkRun) stopped(err error) *Error {
	before := b.items - len(b.batch)
	if len(b.batch) > 0 && b.batch[0].done {
		before++
	}
	var large *http.MaxBytesError
	var e *Error
	switch {
	case errors.As(err, &large):
		e = tooLarge(large.Limit, sendParts)
	case errors.Is(err, errLongLine):
		e = tooLarge(int64(b.r.h.options.MaxDocumentBytes), sendParts)
		e.Reason = err.Error()
	case errors.Is(err, errNoIndex):
		e = badRequest(typeValidation, "Validation Failed: 1: index is missing; in operation %d", b.items+1)
	case b.r.Context().Err() != nil:
		return &Error{Status: statusClientGone, Type: "client_gone", Reason: "the client left"}
	default:
		e = illegal("%v", err)
	}
	if before > 0 {
		e.Reason += fmt.Sprintf("; the first %d operations have taken effect", before)
	} else {
		e.Reason += "; none of the operations has taken effect"
	}
	e.Reason += b.madeAfter(before)
	return e
}

// madeAfter names the indexes that operations after the first ones have made.
func (b *bulkRun) madeAfter(operations int) string {
	made := slices.DeleteFunc(b.made, func(m madeIndex) bool { return m.first <= operations })
	switch len(made) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf(", but index [%s] was made", made[0].name)
	}
	return fmt.Sprintf(", but %d indexes were made, the first is [%s]", len(made), made[0].name)
}

// add prepares an operation.
func (b *bulkRun) add(item *bulkItem) *Error {
	p := pending{op: item.op, name: item.Index, write: griffin.Write{Kind: griffin.WriteIndex}}
	if p.name == "" {
		p.name = b.r.PathValue("index")
	}
	if item.ID != nil {
		p.id = string(*item.ID)
	}
	p.err = b.prepare(&p, item)
	b.bytes += len(item.source) + 64
	if p.err == nil && p.op == bulkUpdate { // it reads the writes of earlier operations
		if err := b.apply(); err != nil {
			return err
		}
		b.update(&p, item)
	}
	b.batch = append(b.batch, p)
	return nil
}

func (b *bulkRun) prepare(p *pending, item *bulkItem) *Error {
	h := b.r.h
	var err *Error
	switch p.op {
	case bulkCreate:
		p.write.Kind = griffin.WriteCreate
	case bulkDelete:
		p.write.Kind = griffin.WriteDelete
	}
	if item.ID == nil && (p.op == bulkIndex || p.op == bulkCreate) {
		p.id = newID()
	}
	if err := checkID(p.id); err != nil {
		return err
	}
	switch {
	case p.op == bulkUpdate && (item.Version != nil || item.VersionType != ""):
		return badRequest(typeValidation, "Validation Failed: 1: an update does not support [version] and [version_type];")
	case p.op != bulkUpdate && item.Retry != 0:
		return badRequest(typeValidation, "Validation Failed: 1: [retry_on_conflict] is for updates;")
	case item.RequireAlias:
		return badRequest(typeValidation, "Validation Failed: 1: [require_alias] is true, and there are no aliases;")
	}
	c := conditions{ifSeqNo: item.IfSeqNo, ifTerm: item.IfPrimaryTerm, version: item.Version, versionType: item.VersionType}
	if err := c.apply(&p.write); err != nil {
		return err
	}
	if item.source != nil {
		if err := checkSource(p.id, item.source); err != nil {
			return err
		}
	}
	if p.index = b.touched[p.name]; p.index == nil {
		p.index, err = h.dir.find(p.name)
		missing := err != nil && err.Status == http.StatusNotFound && p.op != bulkDelete
		if missing {
			p.index, err = h.dir.findOrCreate(b.r.Context(), p.name, firstSource(item))
		}
		if err != nil {
			return err
		}
		if missing {
			b.made = append(b.made, madeIndex{p.name, b.items})
		}
		b.touched[p.name] = p.index
	}
	c.settle(&p.write, p.index)
	switch p.op {
	case bulkIndex, bulkCreate:
		err = p.index.document(&p.write, p.id, string(item.source))
	default:
		p.write.Document.ID = p.id
	}
	return err
}

// firstSource is the document that an operation would make an index with.
func firstSource(item *bulkItem) string {
	if item.op == bulkUpdate { // its document is inside
		return ""
	}
	return string(item.source)
}

// update runs an update at once.
func (b *bulkRun) update(p *pending, item *bulkItem) {
	u, err := parseUpdate(item.source)
	if err == nil {
		u.id, u.retry, u.ifSeqNo = p.id, item.Retry, p.write.IfSeqNo
		ctx, cancel := b.r.limit()
		p.reply, p.noop, err = b.r.h.update(ctx, p.index, u)
		cancel()
	}
	p.err, p.done = err, err == nil
	p.index = nil // it is not part of the batch
}

// apply makes the batch durable and appends its results to the answer.
func (b *bulkRun) apply() *Error {
	ctx, cancel := b.r.limit()
	defer cancel()
	by := map[*Index][]int{}
	for i := range b.batch {
		if p := &b.batch[i]; p.index != nil && p.err == nil {
			by[p.index] = append(by[p.index], i)
		}
	}
	for x, items := range by {
		if err := b.applyTo(ctx, x, items); err != nil {
			return err
		}
	}
	const itemBytes = 192 // usually less
	b.answer = slices.Grow(b.answer, len(b.batch)*itemBytes)
	for i := range b.batch {
		b.report(&b.batch[i])
	}
	clear(b.batch) // for the garbage collector
	b.batch, b.bytes = b.batch[:0], 0
	b.leave()
	return nil
}

func (b *bulkRun) applyTo(ctx context.Context, x *Index, items []int) *Error {
	h := b.r.h
	refused := b.refused[x]
	if refused == nil {
		writes := make([]griffin.Write, len(items))
		for i, at := range items {
			writes[i] = b.batch[at].write
		}
		results, err := x.writer.Apply(ctx, writes...)
		if err == nil {
			for i, at := range items {
				p := &b.batch[at]
				p.reply = results[i]
				if results[i].Err != nil {
					p.err = h.explainWrite(ctx, x, &p.write, &results[i])
				} else {
					x.grow(&p.write)
					h.metrics.wrote(&results[i], &p.write)
				}
			}
			return nil
		}
		refused = h.explain(ctx, x, err)
		if refused.Status == statusClientGone {
			return refused
		}
		b.refused[x] = refused
	}
	for _, at := range items {
		b.batch[at].err = refused
	}
	return nil
}

// report appends the result of an operation.
func (b *bulkRun) report(p *pending) {
	out := b.answer
	if len(out) > 0 {
		out = append(out, ',')
	}
	out = append(append(append(out, '{', '"'), p.op...), `":{"_index":`...)
	out = appendString(out, p.name)
	out = append(out, `,"_id":`...)
	if p.id == "" {
		out = append(out, "null"...)
	} else {
		out = appendString(out, p.id)
	}
	if p.err != nil {
		b.failed = true
		b.r.h.metrics.failed(p.err)
		out = strconv.AppendInt(append(out, `,"status":`...), int64(p.err.Status), 10)
		cause, _ := json.Marshal(p.err.cause()) // texts have a JSON form
		b.answer = append(append(append(out, `,"error":`...), cause...), '}', '}')
		return
	}
	result, shards := string(p.reply.Outcome), "1"
	if p.noop {
		result, shards = resultNoop, "0" // none was written to
	}
	out = strconv.AppendUint(append(out, `,"_version":`...), p.reply.Version, 10)
	out = append(append(append(out, `,"result":"`...), result...), `","_shards":{"total":`...)
	out = append(append(append(append(out, shards...), `,"successful":`...), shards...), `,"failed":0}`...)
	out = b.touched[p.name].appendNumbers(out, p.reply.SeqNo)
	out = strconv.AppendInt(append(out, `,"status":`...), int64(statusOf(p.reply.Outcome)), 10)
	b.answer = append(out, '}', '}')
}
