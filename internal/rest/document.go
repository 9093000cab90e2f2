package rest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/mapping"
	"github.com/griffin-search/griffin/internal/wal"
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
	PrimaryTerm   uint64 `json:"_primary_term"`
}

// conditions of a write.
type conditions struct {
	ifSeqNo, ifTerm, version *uint64
	versionType              string
}

const (
	// unloggedTerm is the term of documents that griffin index wrote, without a number. It is above all terms of the log
	// (wal.Seq). Clients send both numbers back, so that such a document cannot be confused with a
	// write of the API.
	unloggedTerm = math.MaxInt32
	// noWrite is a griffin.Write.IfSeqNo that no write has.
	noWrite = 1<<63 + 1
)

// numbers returns _seq_no and _primary_term of the document that a write made, as in OpenSearch: writes are numbered from
// 0, and a new term begins if acknowledged writes may be lost. Documents of griffin index have the number of the commit that the server found:
// if they were replaced while no server ran, it is another one.
func (x *Index) numbers(seq uint64) (seqNo, term uint64) {
	if seq == 0 || seq == griffin.Unnumbered {
		return x.writer.Base(), unloggedTerm
	}
	return wal.Seq(seq).Number(), wal.Seq(seq).Term()
}

// appendNumbers appends them to a JSON object.
func (x *Index) appendNumbers(dst []byte, seq uint64) []byte {
	number, term := x.numbers(seq)
	dst = strconv.AppendUint(append(dst, `,"_seq_no":`...), number, 10)
	return strconv.AppendUint(append(dst, `,"_primary_term":`...), term, 10)
}

// unchanged is the griffin.Write.IfSeqNo for a document with a SeqNo.
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
	for name, n := range map[string]*uint64{"if_seq_no": c.ifSeqNo, "if_primary_term": c.ifTerm, "version": c.version} {
		if n != nil && *n > math.MaxInt64 {
			return illegal("[%s] is [%d], more than [%d]", name, *n, int64(math.MaxInt64))
		}
	}
	if c.ifSeqNo != nil {
		seq, ok := wal.SeqOf(*c.ifTerm, *c.ifSeqNo)
		switch {
		case ok:
			w.IfSeqNo = uint64(seq)
		case *c.ifTerm == unloggedTerm:
			w.IfSeqNo = griffin.Unnumbered // see settle
		default:
			w.IfSeqNo = noWrite
		}
	}
	switch c.versionType {
	case "", "internal":
		if c.version != nil {
			return badRequest(typeValidation, "Validation Failed: 1: internal versioning can not be used for optimistic concurrency control. Please use `if_seq_no` and `if_primary_term` instead;")
		}
	case "external", "external_gte", "external_gt":
		if c.version == nil {
			return badRequest(typeValidation, "Validation Failed: 1: version type [%s] needs a [version] of at least 0;", c.versionType)
		}
		if c.ifSeqNo != nil {
			return badRequest(typeValidation, "Validation Failed: 1: compare and write operations can not use version type [%s];", c.versionType)
		}
		w.ExternalVersion, w.ExternalEqual = *c.version, c.versionType == "external_gte"
		if *c.version == 0 {
			w.ExternalVersion = griffin.ExternalZero
		}
	default:
		return illegal("No version type match [%s]", c.versionType)
	}
	if w.Kind == griffin.WriteCreate && (c.version != nil || c.ifSeqNo != nil) {
		return badRequest(typeValidation, "Validation Failed: 1: create operations do not support compare and set. use index instead;")
	}
	return nil
}

// settle completes the condition of a write to an index.
func (c *conditions) settle(w *griffin.Write, x *Index) {
	if w.IfSeqNo == griffin.Unnumbered && *c.ifSeqNo != x.writer.Base() {
		w.IfSeqNo = noWrite
	}
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
	raw, err := r.sourceBody()
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
	c.settle(&w, x)
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
		provided, relation := w.ExternalVersion, "higher or equal to"
		if provided == griffin.ExternalZero {
			provided = 0
		}
		if w.ExternalEqual {
			relation = "higher than"
		}
		e.Reason = fmt.Sprintf("[%s]: version conflict, current version [%d] is %s the one provided [%d]", id, result.Version, relation, provided)
	default:
		e.Reason = fmt.Sprintf("[%s]: version conflict, %s", id, x.mismatch(w.IfSeqNo, result))
	}
	return e
}

// mismatch describes a condition that does not hold.
func (x *Index) mismatch(required uint64, result *griffin.WriteResult) string {
	text := "the required seqNo and primary term are of no write"
	if required != noWrite {
		number, term := x.numbers(required)
		text = fmt.Sprintf("required seqNo [%d], primary term [%d]", number, term)
	}
	if result.SeqNo == 0 && result.Version == 0 {
		return text + ". but no document was found"
	}
	number, term := x.numbers(result.SeqNo)
	return text + fmt.Sprintf(". current document has seqNo [%d] and primary term [%d]", number, term)
}

func (x *Index) written(result *griffin.WriteResult) written {
	number, term := x.numbers(result.SeqNo)
	return written{
		Index: x.name, ID: result.ID, Version: result.Version, Result: string(result.Outcome), Shards: oneShard,
		SeqNo: number, PrimaryTerm: term,
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

// refresh makes writes visible as the request wants. One that waits lets others write, unless it keeps much memory meanwhile
// (keepSlot).
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
		if !r.keepSlot {
			r.endWrite()
		}
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
	c.settle(&w, x)
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
	out = append(x.appendNumbers(out, doc.SeqNo), `,"found":true`...)
	if source {
		out = append(append(out, `,"_source":`...), sourceOf(doc.Title, doc.Text, doc.Fields)...)
	}
	return answer{status: http.StatusOK, body: rawJSON(append(out, '}'))}, nil
}
