package load

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// wireTo returns a wire to a server that counts its connections.
func wireTo(t *testing.T, f http.HandlerFunc) (w *wire, server *httptest.Server, connections *atomic.Int64) {
	connections = new(atomic.Int64)
	server = httptest.NewUnstartedServer(f)
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	w = newWire(u, 2)
	t.Cleanup(w.close)
	return w, server, connections
}

func (w *wire) ask(ctx context.Context, target string, limit int64) (status int, answer string, err error) {
	err = w.do(ctx, limit, func(dst []byte) []byte { return w.appendRequest(dst, target) }, func(s int, a []byte) error {
		status, answer = s, string(a)
		return nil
	})
	return status, answer, err
}

func TestWire(t *testing.T) {
	w, server, connections := wireTo(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/chunked":
			for i := range 3 {
				_, _ = fmt.Fprint(w, strings.Repeat(fmt.Sprint(i), 3000))
				w.(http.Flusher).Flush()
			}
		case "/close":
			w.Header().Set("Connection", "close")
			_, _ = fmt.Fprint(w, "bye")
		case "/none":
			w.WriteHeader(http.StatusNoContent)
		default:
			w.WriteHeader(http.StatusTeapot)
			_, _ = fmt.Fprint(w, r.URL.Query().Get("q"), " at ", r.Host)
		}
	})
	ctx := t.Context()
	chunks := strings.Repeat("0", 3000) + strings.Repeat("1", 3000) + strings.Repeat("2", 3000)
	for i, c := range []struct {
		target string
		limit  int64
		status int
		answer string
	}{
		{"/?q=a+b", 100, 418, "a b at " + w.host},
		{"/chunked", 1 << 20, 200, chunks},
		{"/chunked", 5000, 200, chunks[:5000]},
		{"/none", 10, 204, ""},
		{"/?q=c", 3, 418, "c a"},
		{"/close", 10, 200, "bye"},
		{"/?q=d", 1, 418, "d"},
	} {
		status, answer, err := w.ask(ctx, c.target, c.limit)
		if err != nil || status != c.status || answer != c.answer {
			t.Errorf("%s: status %d, %d bytes, %v; want %d, %d bytes", c.target, status, len(answer), err, c.status, len(c.answer))
		}
		want := int64(1)
		if i == 6 {
			want = 2
		}
		if got := connections.Load(); got != want {
			t.Errorf("%s: %d connections, want %d", c.target, got, want)
		}
	}
	server.CloseClientConnections() // an idle connection
	if status, _, err := w.ask(ctx, "/none", 10); err != nil || status != 204 {
		t.Errorf("after the server has closed an idle connection: status %d, %v", status, err)
	}
	server.Close()
	first := error(nil)
	for i := range 2 {
		_, _, err := w.ask(ctx, "/none", 10)
		if err == nil {
			t.Fatal("a closed server has answered")
		}
		if i > 0 && err.Error() != first.Error() {
			t.Errorf("two texts of a fault: %v, and %v", first, err)
		}
		first = err
	}
}

// A request ends with its context, and other requests do not.
func TestWireContexts(t *testing.T) {
	entered, door := make(chan struct{}, 2), make(chan struct{})
	w, _, _ := wireTo(t, func(w http.ResponseWriter, _ *http.Request) {
		entered <- struct{}{}
		<-door
		_, _ = fmt.Fprint(w, "late")
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended, other := make(chan error, 1), make(chan error, 1)
	go func() {
		_, _, err := w.ask(ctx, "/", 10)
		ended <- err
	}()
	go func() {
		_, answer, err := w.ask(t.Context(), "/", 10)
		if answer != "late" {
			err = errors.Join(err, fmt.Errorf("answer %q", answer))
		}
		other <- err
	}()
	<-entered
	<-entered
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the request whose context has ended: %v", err)
	}
	close(door)
	if err := <-other; err != nil {
		t.Errorf("the other request: %v", err)
	}
	if _, _, err := w.ask(ctx, "/", 10); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
	late, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	w.address = silent.Addr().String()
	w.close()
	if _, _, err := w.ask(late, "/", 10); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a server that does not answer: %v", err)
	}
}

// The end of another request's context does not race with an answer after which the server closes the connection.
func TestWireClosedWhileInterrupted(t *testing.T) {
	w, _, _ := wireTo(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Connection", "close") })
	limit := 50 * time.Millisecond // of a timer, which nothing orders after the answer
	for ; ; limit *= 2 {
		other, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		_, _, err := w.ask(other, "/", 10)
		if err == nil {
			break
		}
		if !errors.Is(err, context.DeadlineExceeded) || limit > time.Minute {
			t.Fatal(err)
		}
	}
	err := w.do(t.Context(), 10, func(dst []byte) []byte { return w.appendRequest(dst, "/") }, func(int, []byte) error {
		time.Sleep(limit + 100*time.Millisecond)
		return nil
	})
	if err != nil || len(w.idle) > 0 || len(w.open) > 0 {
		t.Errorf("%v; %d connections are idle, %d open", err, len(w.idle), len(w.open))
	}
}
