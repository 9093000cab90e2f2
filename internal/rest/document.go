package rest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/mapping"
)

// shards is the same in all answers: an index is one shard.
type shards struct {
	Total      int `json:"total"`
	Successful int `json:"successful"`
	Failed     int `json:"failed"`
}

var oneShard = shards{Total: 1, Successful: 1}

// written is the answer to a write.
type written struct {
	Index         string `json:"_index"`
	ID            string `json:"_id"`
	Version       uint64 `json:"_version"`
	Result        string `json:"result"`
	ForcedRefresh bool   `json:"forced_refresh,omitempty"`
	Shards        shards `json:"_shards"`
	SeqNo         uint64 `json:"_seq_no"`
	PrimaryTerm   int    `json:"_primary_term"`
}

// conditions of a write.
type conditions struct {
	ifSeqNo, ifTerm, version *uint64
	versionType              string
}

// primaryTerm is the same for ever: an index has one owner.
const primaryTerm = 1

// seqNo numbers writes from 0, as OpenSearch does; the index numbers them from 1.
func seqNo(seq uint64) uint64 {
	if seq == griffin.Unnumbered {
		return 0
	}
	return writtenSeqNo(seq) - 1
}

// writtenSeqNo is what a client's condition, plus 1, is compared with.
func writtenSeqNo(seq uint64) uint64 { return max(seq, 1) }

// unchanged is the griffin.Write.IfSeqNo for a document with a SeqNo. The first write of an index that griffin index
// made is a conflict, though the API has the number 0 for it and for the document before it.
func unchanged(seq uint64) uint64 {
	if seq == 0 {
		return griffin.Unnumbered
	}
	return seq
}

func (c *conditions) apply(w *griffin.Write) *Error {
	if (c.ifSeqNo == nil) != (c.ifTerm == nil) {
		return badRequest(typeValidation, "Validation Failed: 1: ifSeqNo and primaryTerm must be set together;")
	}
	if c.ifSeqNo != nil {
		w.IfSeqNo = *c.ifSeqNo + 1
		if *c.ifTerm != primaryTerm {
			w.IfSeqNo = 1<<63 - 1 // no write has it
		}
	}
	switch c.versionType {
	case "", "internal":
		if c.version != nil {
			return badRequest(typeValidation, "Validation Failed: 1: internal versioning can not be used for optimistic concurrency control. Please use `if_seq_no` and `if_primary_term` instead;")
		}
	case "external", "external_gte", "external_gt":
		if c.version == nil || *c.version == 0 {
			return badRequest(typeValidation, "Validation Failed: 1: version type [%s] needs a version of at least 1;", c.versionType)
		}
		if c.ifSeqNo != nil {
			return badRequest(typeValidation, "Validation Failed: 1: compare and write operations can not use version type [%s];", c.versionType)
		}
		w.ExternalVersion, w.ExternalEqual = *c.version, c.versionType == "external_gte"
	default:
		return illegal("No version type match [%s]", c.versionType)
	}
	if w.Kind == griffin.WriteCreate && (c.version != nil || c.ifSeqNo != nil) {
		return badRequest(typeValidation, "Validation Failed: 1: create operations do not support compare and set. use index instead;")
	}
	return nil
}

func (r *request) conditions() (c conditions, err *Error) {
	for name, to := range map[string]**uint64{"if_seq_no": &c.ifSeqNo, "if_primary_term": &c.ifTerm, "version": &c.version} {
		n, given, err := r.number(name)
		if err != nil {
			return c, err
		}
		if given {
			*to = &n
		}
	}
	c.versionType = r.values.Get("version_type")
	return c, nil
}

// checkID of a document.
func checkID(id string) *Error {
	if id == "" || len(id) > maxIDBytes {
		return badRequest(typeValidation, "Validation Failed: 1: id [%.40s] has %d bytes, not 1 to %d;", id, len(id), maxIDBytes)
	}
	return nil
}

func putDocument(r *request) (answer, *Error) {
	kind := griffin.WriteIndex
	switch op := r.values.Get("op_type"); op {
	case "", "index":
	case "create":
		kind = griffin.WriteCreate
	default:
		return answer{}, illegal("opType must be 'create' or 'index', found: [%s]", op)
	}
	return r.put(kind)
}

func createDocument(r *request) (answer, *Error) { return r.put(griffin.WriteCreate) }

func (r *request) put(kind griffin.WriteKind) (answer, *Error) {
	done, err := r.beginWrite()
	if err != nil {
		return answer{}, err
	}
	defer done()
	id := r.PathValue("id")
	if r.Request.Pattern == "POST /{index}/_doc" {
		id = newID()
	}
	if err := checkID(id); err != nil {
		return answer{}, err
	}
	w := griffin.Write{Kind: kind}
	c, err := r.conditions()
	if err == nil {
		err = c.apply(&w)
	}
	if err != nil {
		return answer{}, err
	}
	raw, err := r.body()
	if err == nil {
		if len(raw) == 0 {
			return answer{}, badRequest("parse_exception", "request body is required")
		}
		err = checkSource(id, raw)
	}
	if err != nil {
		return answer{}, err
	}
	ctx, cancel := r.limit()
	defer cancel()
	x, err := r.h.dir.findOrCreate(ctx, r.PathValue("index"), string(raw))
	if err != nil {
		return answer{}, err
	}
	if err = x.document(&w, id, string(raw)); err != nil {
		return answer{}, err
	}
	return r.apply(ctx, x, &w)
}

// apply writes and refreshes.
func (r *request) apply(ctx context.Context, x *Index, w *griffin.Write) (answer, *Error) {
	result, err := r.h.write1(ctx, x, w)
	if err != nil {
		return answer{}, err
	}
	forced, err := r.refresh(ctx, x)
	if err != nil {
		return answer{}, err
	}
	body := x.written(&result)
	body.ForcedRefresh = forced
	return answer{status: statusOf(result.Outcome), body: body}, nil
}

// write1 is a write whose conflict is an error.
func (h *Handler) write1(ctx context.Context, x *Index, w *griffin.Write) (griffin.WriteResult, *Error) {
	results, err := x.writer.Apply(ctx, *w)
	if err != nil {
		return griffin.WriteResult{}, h.explain(ctx, x, err)
	}
	if err := results[0].Err; err != nil {
		return results[0], h.explainWrite(ctx, x, w, &results[0])
	}
	x.grow(w)
	h.metrics.wrote(&results[0], w)
	return results[0], nil
}

func (h *Handler) explainWrite(ctx context.Context, x *Index, w *griffin.Write, result *griffin.WriteResult) *Error {
	if errors.Is(result.Err, griffin.ErrTooManyFields) {
		return tooManyFields().of(x.name)
	}
	var value *mapping.ValueError
	if errors.As(result.Err, &value) {
		return badValue(value, w.Document.ID).of(x.name)
	}
	if !errors.Is(result.Err, griffin.ErrConflict) {
		e := h.explain(ctx, x, result.Err)
		if errors.Is(result.Err, griffin.ErrBadInput) {
			e.Type = typeMapperParsing
		}
		return e
	}
	id := w.Document.ID
	e := &Error{Status: http.StatusConflict, Type: typeConflict, Index: x.name}
	switch {
	case w.Kind == griffin.WriteCreate:
		e.Reason = fmt.Sprintf("[%s]: version conflict, document already exists (current version [%d])", id, result.Version)
	case w.ExternalVersion > 0:
		e.Reason = fmt.Sprintf("[%s]: version conflict, current version [%d] is higher or equal to the one provided [%d]", id, result.Version, w.ExternalVersion)
	case result.SeqNo == 0:
		e.Reason = fmt.Sprintf("[%s]: version conflict, required seqNo [%d], primary term [%d]. but no document was found", id, seqNo(w.IfSeqNo), primaryTerm)
	default:
		e.Reason = fmt.Sprintf("[%s]: version conflict, required seqNo [%d], primary term [%d]. current document has seqNo [%d] and primary term [%d]", id, seqNo(w.IfSeqNo), primaryTerm, seqNo(result.SeqNo), primaryTerm)
	}
	return e
}

func (x *Index) written(result *griffin.WriteResult) written {
	return written{
		Index: x.name, ID: result.ID, Version: result.Version, Result: string(result.Outcome), Shards: oneShard,
		SeqNo: seqNo(result.SeqNo), PrimaryTerm: primaryTerm,
	}
}

func statusOf(o griffin.WriteOutcome) int {
	switch o {
	case griffin.WriteCreated:
		return http.StatusCreated
	case griffin.WriteNotFound:
		return http.StatusNotFound
	}
	return http.StatusOK
}

// checkRefresh reads the parameter refresh.
func (r *request) checkRefresh() (policy string, err *Error) {
	policy = r.values.Get("refresh")
	switch {
	case !r.values.Has("refresh") || policy == "false":
		return "", nil
	case policy == "" || policy == "true":
		return "true", nil
	case policy == "wait_for":
		return policy, nil
	}
	return "", illegal("Unknown value for refresh: [%s].", policy)
}

// refresh makes writes visible as the request wants.
func (r *request) refresh(ctx context.Context, x *Index) (forced bool, apiErr *Error) {
	policy, apiErr := r.checkRefresh()
	if apiErr != nil {
		return false, apiErr
	}
	var err error
	switch policy {
	case "true":
		err = r.h.refresh(ctx, x)
	case "wait_for":
		err = x.refresh.wait(ctx)
	}
	if err != nil {
		return false, r.h.explain(ctx, x, err)
	}
	return policy == "true", nil
}

func (h *Handler) refresh(ctx context.Context, x *Index) error {
	h.metrics.refreshes.Inc()
	return x.writer.Refresh(ctx)
}

func deleteDocument(r *request) (answer, *Error) {
	done, err := r.beginWrite()
	if err != nil {
		return answer{}, err
	}
	defer done()
	w := griffin.Write{Kind: griffin.WriteDelete, Document: griffin.Document{ID: r.PathValue("id")}}
	c, err := r.conditions()
	if err == nil {
		err = c.apply(&w)
	}
	if err == nil {
		err = checkID(w.Document.ID)
	}
	if err != nil {
		return answer{}, err
	}
	x, err := r.h.dir.find(r.PathValue("index"))
	if err != nil {
		return answer{}, err
	}
	ctx, cancel := r.limit()
	defer cancel()
	return r.apply(ctx, x, &w)
}

func getDocument(r *request) (answer, *Error) {
	x, err := r.h.dir.find(r.PathValue("index"))
	if err != nil {
		return answer{}, err
	}
	realtime, err := r.boolean("realtime", true)
	if err != nil {
		return answer{}, err
	}
	source, err := r.boolean("_source", true)
	if err != nil {
		return answer{}, err
	}
	ctx, cancel := r.limit()
	defer cancel()
	if _, err := r.refresh(ctx, x); err != nil {
		return answer{}, err
	}
	get := x.writer.Get
	if !realtime {
		get = x.ix.Versioned
	}
	doc, getErr := get(ctx, r.PathValue("id"))
	out := appendString([]byte(`{"_index":`), x.name)
	out = appendString(append(out, `,"_id":`...), r.PathValue("id"))
	switch {
	case errors.Is(getErr, griffin.ErrNotFound):
		return answer{status: http.StatusNotFound, body: rawJSON(append(out, `,"found":false}`...))}, nil
	case getErr != nil:
		return answer{}, r.h.explain(ctx, x, getErr)
	}
	out = strconv.AppendUint(append(out, `,"_version":`...), doc.Version, 10)
	out = strconv.AppendUint(append(out, `,"_seq_no":`...), seqNo(doc.SeqNo), 10)
	out = append(out, `,"_primary_term":1,"found":true`...)
	if source {
		out = append(append(out, `,"_source":`...), sourceOf(doc.Title, doc.Text, doc.Fields)...)
	}
	return answer{status: http.StatusOK, body: rawJSON(append(out, '}'))}, nil
}
