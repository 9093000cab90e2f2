package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/griffin-search/griffin"
)

// updateRequest is the body of an update.
type updateRequest struct {
	id            string
	doc, upsert   string // "": none
	docAsUpsert   bool
	keepIdentical bool // detect_noop is false
	retry         int
	ifSeqNo       uint64 // as in griffin.Write
}

const resultNoop = "noop"

// parseUpdate reads a body that is valid JSON.
func parseUpdate(raw []byte) (u updateRequest, err *Error) {
	if !isObject(string(raw)) {
		return u, badRequest(typeParsing, "the body of an update is not a JSON object")
	}
	for _, m := range members(string(raw)) {
		switch m.key {
		case "doc", "upsert":
			if !isObject(m.value) {
				return u, badRequest(typeParsing, "[%s] of an update is not an object", m.key)
			}
			if m.key == "doc" {
				u.doc = m.value
			} else {
				u.upsert = m.value
			}
		case "doc_as_upsert", "detect_noop":
			var v bool
			if json.Unmarshal([]byte(m.value), &v) != nil {
				return u, badRequest(typeParsing, "[%s] of an update is not a boolean", m.key)
			}
			if m.key == "detect_noop" {
				u.keepIdentical = !v
			} else {
				u.docAsUpsert = v
			}
		case "script", "scripted_upsert":
			return u, illegal("[UpdateRequest] scripts are not supported: send [doc]")
		default:
			return u, badRequest("x_content_parse_exception", "[UpdateRequest] unknown field [%s]", m.key)
		}
	}
	switch {
	case u.doc == "":
		return u, badRequest(typeValidation, "Validation Failed: 1: script or doc is missing;")
	case u.docAsUpsert:
		u.upsert = u.doc
	}
	return u, nil
}

// update reads, changes and writes a document; a write in between is a conflict, or a repetition.
func (h *Handler) update(ctx context.Context, x *Index, u updateRequest) (result griffin.WriteResult, noop bool, err *Error) {
	for range max(u.retry, 0) + 1 {
		result, noop, err = h.tryUpdate(ctx, x, &u)
		if err == nil || err.Status != http.StatusConflict || u.ifSeqNo > 0 {
			return result, noop, err
		}
	}
	return result, noop, err
}

func (h *Handler) tryUpdate(ctx context.Context, x *Index, u *updateRequest) (result griffin.WriteResult, noop bool, err *Error) {
	w := griffin.Write{Kind: griffin.WriteIndex, Document: griffin.Document{ID: u.id}}
	source := u.upsert
	old, getErr := x.writer.Get(ctx, u.id)
	switch {
	case errors.Is(getErr, griffin.ErrNotFound):
		if source == "" || u.ifSeqNo > 0 {
			return result, false, (&Error{Status: http.StatusNotFound, Type: "document_missing_exception", Reason: fmt.Sprintf("[%s]: document missing", u.id)}).of(x.name)
		}
		w.Kind = griffin.WriteCreate
	case getErr != nil:
		return result, false, h.explain(ctx, x, getErr)
	default:
		merged, changed := mergeObjects(string(sourceOf(old.Title, old.Text, old.Fields)), u.doc)
		if u.ifSeqNo > 0 && u.ifSeqNo != unchanged(old.SeqNo) {
			result := griffin.WriteResult{SeqNo: old.SeqNo, Version: old.Version, Err: griffin.ErrConflict}
			return result, false, h.explainWrite(ctx, x, &griffin.Write{IfSeqNo: u.ifSeqNo, Document: w.Document}, &result)
		}
		if !changed && !u.keepIdentical {
			return griffin.WriteResult{ID: u.id, Outcome: griffin.WriteUpdated, SeqNo: old.SeqNo, Version: old.Version}, true, nil
		}
		source, w.IfSeqNo = merged, unchanged(old.SeqNo)
	}
	if err = x.document(&w, u.id, source); err != nil {
		return result, false, err
	}
	result, err = h.write1(ctx, x, &w)
	return result, false, err
}

func updateDocument(r *request) (answer, *Error) {
	done, err := r.beginWrite()
	if err != nil {
		return answer{}, err
	}
	defer done()
	c, err := r.conditions()
	if err != nil {
		return answer{}, err
	}
	w := griffin.Write{Kind: griffin.WriteIndex}
	if err := c.apply(&w); err != nil {
		return answer{}, err
	}
	id := r.PathValue("id")
	if err := checkID(id); err != nil {
		return answer{}, err
	}
	retry, _, err := r.number("retry_on_conflict")
	if err != nil {
		return answer{}, err
	}
	raw, err := r.sourceBody()
	if err == nil {
		err = checkSource(id, raw)
	}
	if err != nil {
		return answer{}, err
	}
	u, err := parseUpdate(raw)
	if err != nil {
		return answer{}, err
	}
	const maxRetries = 1000
	ctx, cancel := r.limit()
	defer cancel()
	x, err := r.h.dir.find(r.PathValue("index"))
	if err != nil && u.upsert != "" {
		x, err = r.h.dir.findOrCreate(ctx, r.PathValue("index"), u.upsert)
	}
	if err != nil {
		return answer{}, err
	}
	c.settle(&w, x)
	u.id, u.retry, u.ifSeqNo = id, int(min(retry, maxRetries)), w.IfSeqNo
	result, noop, err := r.h.update(ctx, x, u)
	if err != nil {
		return answer{}, err
	}
	forced, err := r.refresh(ctx, x)
	if err != nil {
		return answer{}, err
	}
	body := x.written(&result)
	body.ForcedRefresh = forced
	if noop {
		body.Result, body.Shards = resultNoop, shards{} // none was written to
	}
	return answer{status: statusOf(result.Outcome), body: body}, nil
}
