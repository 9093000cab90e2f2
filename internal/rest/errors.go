package rest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"syscall"
	"time"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/query"
)

// Error is an answer that is an error, in the form of OpenSearch.
type Error struct {
	Status int
	Type   string
	Reason string
	Index  string // "" if there is none
	// RetryAfter is sent with statuses 429 and 503; at least a second.
	RetryAfter time.Duration
	// value is the part of the body that the error is about, in the memory of the body; nil: not known.
	value []byte
	// around are parts that value is in, the inner ones first, for a value in other memory.
	around [][]byte
}

// at names the part of the body that the error is about, unless the error names one already. e may be nil.
func (e *Error) at(value []byte) *Error {
	if e != nil && e.value == nil {
		e.value = value
	}
	return e
}

// in appends the place of the error in a body. e may be nil.
func (e *Error) in(body []byte) *Error {
	if e == nil {
		return nil
	}
	for _, value := range append([][]byte{e.value}, e.around...) {
		if p, ok := placeOf(body, value); ok {
			e.Reason += " (" + p.String() + ")"
			break
		}
	}
	e.value, e.around = nil, nil
	return e
}

// Error makes it an error.
func (e *Error) Error() string { return e.Type + ": " + e.Reason }

type errorCause struct {
	Type   string `json:"type"`
	Reason string `json:"reason"`
	Index  string `json:"index,omitempty"`
}

type errorDetails struct {
	RootCause []errorCause `json:"root_cause"`
	errorCause
}

type errorBody struct {
	Error  errorDetails `json:"error"`
	Status int          `json:"status"`
}

func (e *Error) cause() errorCause { return errorCause{Type: e.Type, Reason: e.Reason, Index: e.Index} }

func (e *Error) body() errorBody {
	return errorBody{Error: errorDetails{RootCause: []errorCause{e.cause()}, errorCause: e.cause()}, Status: e.Status}
}

const (
	typeIllegalArgument = "illegal_argument_exception"
	typeParsing         = "parsing_exception"
	typeMapperParsing   = "mapper_parsing_exception"
	typeRejected        = "rejected_execution_exception"
	typeValidation      = "action_request_validation_exception"
	typeConflict        = "version_conflict_engine_exception"
)

// statusClientGone is for a client that left; never sent.
const statusClientGone = 499

// badRequest leaves out ErrBadInput of errors among args.
func badRequest(kind, format string, args ...any) *Error {
	for i := range args {
		if err, ok := args[i].(error); ok {
			args[i] = base.Message(err)
		}
	}
	return &Error{Status: http.StatusBadRequest, Type: kind, Reason: fmt.Sprintf(format, args...)}
}

func illegal(format string, args ...any) *Error {
	return badRequest(typeIllegalArgument, format, args...)
}

func indexNotFound(name string) *Error {
	return &Error{Status: http.StatusNotFound, Type: "index_not_found_exception", Reason: fmt.Sprintf("no such index [%s]", name), Index: name}
}

// TooBusy is the answer to a request that is refused now.
func TooBusy(reason string, retryAfter time.Duration) *Error {
	return &Error{Status: http.StatusTooManyRequests, Type: typeRejected, Reason: reason, RetryAfter: retryAfter}
}

// explain turns an error of an index into an answer. Internal causes are logged and not sent.
func (h *Handler) explain(ctx context.Context, x *Index, err error) *Error {
	e := h.classify(ctx, x, err)
	if e.Index == "" {
		e.Index = x.name
	}
	e.around = base.Places(err)
	return e
}

func (h *Handler) classify(ctx context.Context, x *Index, err error) *Error {
	var answer *Error
	var syntax *query.Error
	var overload *griffin.Overload
	switch {
	case errors.As(err, &answer):
		return answer
	case errors.As(err, &overload):
		return TooBusy(fmt.Sprintf("the server is too busy: %v", overload.Reason), overload.RetryAfter)
	case errors.As(err, &syntax):
		return badRequest("query_shard_exception", "Failed to parse query [%s]: %s (at byte %d)", syntax.Text, syntax.Reason, syntax.Offset)
	case blocked(x.name, err) != nil:
		x.logRefusal(h.log, err)
		return blocked(x.name, err)
	case errors.Is(err, griffin.ErrRemoved):
		x.logRefusal(h.log, err)
		return &Error{
			Status: http.StatusServiceUnavailable, Type: "unavailable_shards_exception", RetryAfter: time.Second,
			Reason: fmt.Sprintf("index [%s] takes no writes: another program removed, moved or replaced its folder, or the lock file in it; put the folder back, or delete the index", x.name),
		}
	case errors.Is(err, griffin.ErrDown):
		x.logRefusal(h.log, err)
		return &Error{
			Status: http.StatusServiceUnavailable, Type: "unavailable_shards_exception", RetryAfter: time.Second,
			Reason: fmt.Sprintf("index [%s] takes no writes until it can be opened again, which is repeated; the reason is in the server's log", x.name),
		}
	case errors.Is(err, griffin.ErrBusy):
		return TooBusy("writes arrive faster than they can be indexed", time.Second)
	case errors.Is(err, griffin.ErrConflict):
		return &Error{Status: http.StatusConflict, Type: typeConflict, Reason: base.Message(err)}
	case errors.Is(err, griffin.ErrTooManyBuckets):
		return badRequest("too_many_buckets_exception", "%s", base.Message(err))
	case errors.Is(err, griffin.ErrBadInput):
		return illegal("%s", base.Message(err))
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{Status: http.StatusGatewayTimeout, Type: "timeout_exception", Reason: "the request exceeded its time limit"}
	case errors.Is(err, context.Canceled) && ctx.Err() != nil && !h.stopping(ctx):
		return &Error{Status: statusClientGone, Type: "client_gone", Reason: "the client left"}
	case errors.Is(err, griffin.ErrClosed), errors.Is(err, context.Canceled):
		if h.dir.gone(x) {
			return indexNotFound(x.name)
		}
		return &Error{Status: http.StatusServiceUnavailable, Type: "node_closed_exception", Reason: "the server is stopping", RetryAfter: time.Second}
	}
	h.log.Error("a request failed", "index", x.name, "error", err)
	if errors.Is(err, griffin.ErrCorrupt) {
		x.damaged.Store(true)
	}
	return &Error{Status: http.StatusInternalServerError, Type: "exception", Reason: "the request failed; the reason is in the server's log"}
}

// blocked is the answer to a write while the disk is full or read-only, or the server may not write to it; nil: it may.
func blocked(index string, err error) *Error {
	switch {
	case errors.Is(err, griffin.ErrFull), errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return &Error{
			Status: http.StatusTooManyRequests, Type: "cluster_block_exception", Index: index, RetryAfter: time.Second,
			Reason: fmt.Sprintf("index [%s] blocked by: [TOO_MANY_REQUESTS/12/the disk is full: free space on it, and writes go on by themselves]", index),
		}
	case errors.Is(err, griffin.ErrDenied), errors.Is(err, fs.ErrPermission):
		return &Error{
			Status: http.StatusForbidden, Type: "cluster_block_exception", Index: index,
			Reason: fmt.Sprintf("index [%s] blocked by: [FORBIDDEN/5/the server has no permission to write: change the owner or mode of the folder and its files, and writes go on by themselves]", index),
		}
	case errors.Is(err, griffin.ErrReadOnly), errors.Is(err, syscall.EROFS):
		return &Error{
			Status: http.StatusForbidden, Type: "cluster_block_exception", Index: index,
			Reason: fmt.Sprintf("index [%s] blocked by: [FORBIDDEN/5/the file system is read-only: make it writable, and writes go on by themselves]", index),
		}
	}
	return nil
}

// stopping reports whether the server cancelled the request.
func (h *Handler) stopping(ctx context.Context) bool {
	cause := context.Cause(ctx)
	return cause != nil && !errors.Is(cause, context.Canceled) && !errors.Is(cause, context.DeadlineExceeded)
}
