package rest

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/wal"
)

// TestExplain: errors of an index have the status and type of OpenSearch, and only errors of requests
// are sent with their text.
func TestExplain(t *testing.T) {
	n := newNode(t)
	n.must(200, "PUT /a", "")
	x, apiErr := n.d.find("a")
	if apiErr != nil {
		t.Fatal(apiErr)
	}
	gone := &Index{name: "gone"}
	for _, c := range []struct {
		x      *Index
		err    error
		status int
		kind   string
	}{
		{x, griffin.ErrBusy, 429, typeRejected},
		{x, &griffin.Overload{}, 429, typeRejected},
		{x, griffin.ErrFull, 429, "cluster_block_exception"},
		{x, syscall.ENOSPC, 429, "cluster_block_exception"},
		{x, griffin.ErrReadOnly, 403, "cluster_block_exception"},
		{x, griffin.ErrDenied, 403, "cluster_block_exception"},
		{x, syscall.EACCES, 403, "cluster_block_exception"},
		{x, griffin.ErrDown, 503, "unavailable_shards_exception"},
		{x, fmt.Errorf("%w: %w", griffin.ErrDown, griffin.ErrFull), 429, "cluster_block_exception"},
		{x, syscall.EROFS, 403, "cluster_block_exception"},
		{x, fmt.Errorf("%w: %w", griffin.ErrBusy, griffin.ErrFull), 429, "cluster_block_exception"},
		{x, wal.ErrFailed, 500, "exception"},
		{x, griffin.ErrCorrupt, 500, "exception"},
		{x, errors.New("secret"), 500, "exception"},
		{x, griffin.ErrBadInput, 400, typeIllegalArgument},
		{x, context.DeadlineExceeded, 504, "timeout_exception"},
		{x, griffin.ErrClosed, 503, "node_closed_exception"},
		{gone, griffin.ErrClosed, 404, "index_not_found_exception"},
	} {
		e := n.h.explain(t.Context(), c.x, fmt.Errorf("at a place: %w", c.err))
		if e.Status != c.status || e.Type != c.kind || e.Index != c.x.name {
			t.Errorf("%v: status %d, type %s, index %q; want %d, %s", c.err, e.Status, e.Type, e.Index, c.status, c.kind)
		}
		if c.status == 500 && e.Reason != "the request failed; the reason is in the server's log" {
			t.Errorf("%v: the cause is sent: %s", c.err, e.Reason)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if e := n.h.explain(ctx, x, context.Canceled); e.Status != statusClientGone {
		t.Errorf("a client that left: status %d", e.Status)
	}
	ctx, stop := context.WithCancelCause(t.Context())
	stop(errors.New("the server is stopping"))
	if e := n.h.explain(ctx, x, context.Canceled); e.Status != 503 {
		t.Errorf("a server that stops: status %d", e.Status)
	}
}
