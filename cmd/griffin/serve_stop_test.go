package main

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// A server says that it waits for requests, but nothing if none is running.
func TestServeTellsThatItStops(t *testing.T) {
	for name, wait := range map[string]time.Duration{"idle": 0, "busy": 3 * quietStop} {
		t.Run(name, func(t *testing.T) {
			listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			var log bytes.Buffer
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			var client sync.WaitGroup
			defer client.Wait()
			handler := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
				interrupt()
				time.Sleep(wait)
			})
			client.Go(func() {
				request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+listener.Addr().String()+"/wait", http.NoBody)
				if err != nil {
					t.Error(err)
					return
				}
				if response, err := http.DefaultClient.Do(request); err != nil {
					t.Error(err)
				} else if err := response.Body.Close(); err != nil {
					t.Error(err)
				}
			})
			if err := serveUntil(ctx, listener, handler, time.Minute, slog.New(slog.NewTextHandler(&log, nil))); err != nil {
				t.Error(err)
			}
			if told := strings.Contains(log.String(), "a second interrupt stops it at once"); told != (wait > 0) {
				t.Errorf("the log: %q", &log)
			}
		})
	}
}
