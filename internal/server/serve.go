package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Of one connection, and of all.
type limits struct {
	readHeader, read, write, idle time.Duration
	told                          time.Duration // to answer cancelled requests
	headerBytes                   int
	connections, requests         int // of all
	streams                       int // of HTTP/2: requests that a connection may have open
}

var defaultLimits = limits{
	readHeader:  5 * time.Second,
	read:        10 * time.Second,
	write:       MaxTimeout + 30*time.Second,
	idle:        time.Minute,
	told:        time.Second,
	headerBytes: 32 << 10,
	connections: 4096, // above Options.MaxConcurrent, so that rejections can be sent
	requests:    4096,
	streams:     32,
}

// The cause of cancelling requests whose clients are still connected.
var errStopping = errors.New("the server is stopping")

// Serve answers requests of HTTP/1.1, and of HTTP/2 without TLS, on listener until ctx ends. Then it accepts no more, lets
// running requests end for at most grace, cancels the others, closes listener and
// returns. The error is nil unless requests were cancelled or listener failed.
func Serve(ctx context.Context, listener net.Listener, handler http.Handler, grace time.Duration) error {
	return serve(ctx, listener, handler, grace, defaultLimits)
}

func serve(ctx context.Context, listener net.Listener, handler http.Handler, grace time.Duration, l limits) error {
	// Requests may outlive ctx by up to grace.
	requestCtx, cancelRequests := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancelRequests(errStopping)
	open := newConnections(listener, l.connections)
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true) // there is no TLS
	srv := &http.Server{
		Protocols:         protocols,
		ConnState:         open.state,
		Handler:           bounded(handler, l.requests),
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: l.streams},
		ReadHeaderTimeout: l.readHeader,
		ReadTimeout:       l.read,
		WriteTimeout:      l.write,
		IdleTimeout:       l.idle,
		MaxHeaderBytes:    l.headerBytes,
		BaseContext:       func(net.Listener) context.Context { return requestCtx },
	}
	searches := newLean(requestCtx, open, srv.Handler, l)
	watching, stopWatching := context.WithCancel(requestCtx)
	defer stopWatching()
	go searches.watch(watching)
	failed := make(chan error, 2)
	go func() { failed <- srv.Serve(searches.others) }()
	go func() { failed <- searches.serve() }()

	select {
	case err := <-failed:
		searches.stop()
		searches.close()
		return errors.Join(fmt.Errorf("server: %w", err), srv.Close(), open.Close())
	case <-ctx.Done():
	}
	err := open.Close()
	searches.stop()
	err = errors.Join(err, shutdown(ctx, srv, searches, grace))
	cancelRequests(errStopping)
	if errors.Is(err, context.DeadlineExceeded) {
		// They end now with an error: a client could take silence for an answer.
		err = fmt.Errorf("server: requests were still running after %v and were cancelled", grace)
		if shutdown(ctx, srv, searches, l.told) != nil {
			searches.close()
			err = errors.Join(err, srv.Close())
		}
		return err
	}
	if err != nil {
		return fmt.Errorf("server: stopping: %w", err)
	}
	return nil
}

// shutdown waits at most grace, although ctx has ended. A connection of searches may still go to srv.
func shutdown(ctx context.Context, srv *http.Server, searches *lean, grace time.Duration) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	return errors.Join(searches.wait(ctx), srv.Shutdown(ctx))
}
