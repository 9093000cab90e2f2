package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// limits bounds what one connection may cost.
type limits struct {
	readHeader, read, write, idle time.Duration
	told                          time.Duration // to answer requests that are cut off
	headerBytes                   int
	connections                   int
}

var defaultLimits = limits{
	readHeader:  5 * time.Second,
	read:        10 * time.Second,
	write:       MaxTimeout + 30*time.Second,
	idle:        time.Minute,
	told:        time.Second,
	headerBytes: 32 << 10,
	connections: 4096, // above Options.MaxConcurrent: what is refused wants to be told
}

// errStopping is why requests are cancelled whose clients have not gone.
var errStopping = errors.New("the server is stopping")

// Serve answers requests on listener until ctx ends. Then it accepts no more,
// lets the requests that are being answered end for at most grace, cancels
// what is left, and returns: nil, or an error if requests were cut off or
// listener failed. It closes listener.
func Serve(ctx context.Context, listener net.Listener, handler http.Handler, grace time.Duration) error {
	return serve(ctx, listener, handler, grace, defaultLimits)
}

func serve(ctx context.Context, listener net.Listener, handler http.Handler, grace time.Duration, l limits) error {
	// Requests outlive ctx by up to grace: they end with requestCtx.
	requestCtx, cancelRequests := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancelRequests(errStopping)
	open := newConnections(listener, l.connections)
	srv := &http.Server{
		ConnState:         open.state,
		Handler:           handler,
		ReadHeaderTimeout: l.readHeader,
		ReadTimeout:       l.read,
		WriteTimeout:      l.write,
		IdleTimeout:       l.idle,
		MaxHeaderBytes:    l.headerBytes,
		BaseContext:       func(net.Listener) context.Context { return requestCtx },
	}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(open) }()

	select {
	case err := <-failed:
		return fmt.Errorf("server: %w", err)
	case <-ctx.Done():
	}
	err := shutdown(ctx, srv, grace)
	cancelRequests(errStopping)
	if errors.Is(err, context.DeadlineExceeded) {
		// They end now, and say so: a client would take silence for an answer.
		err = fmt.Errorf("server: requests were still running after %v and were cut off", grace)
		if shutdown(ctx, srv, l.told) != nil {
			err = errors.Join(err, srv.Close())
		}
		return err
	}
	if err != nil {
		return fmt.Errorf("server: stopping: %w", err)
	}
	return nil
}

// shutdown waits for requests for at most grace, though ctx has ended.
func shutdown(ctx context.Context, srv *http.Server, grace time.Duration) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	return srv.Shutdown(ctx)
}
