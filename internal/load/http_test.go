package load

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/base"
)

func TestHTTP(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/at/metrics" {
			_, _ = w.Write([]byte("# HELP go_goroutines Number.\ngo_goroutines 12\ngriffin_gpu_memory_used_bytes{device=\"gpu 0\"} 1e3\n" +
				"griffin_gpu_memory_used_bytes{device=\"gpu 1\"} 5\ngriffin_process_anonymous_bytes 4096\nother{a=\"b\"} x\n"))
			return
		}
		if r.URL.Path != "/at/search" || r.URL.Query().Get("k") != "5" {
			t.Errorf("asked for %s", r.URL)
		}
		switch r.URL.Query().Get("q") {
		case "ok":
		case "limited":
			w.WriteHeader(http.StatusTooManyRequests)
		case "full":
			w.WriteHeader(http.StatusServiceUnavailable)
		case "late":
			w.WriteHeader(http.StatusGatewayTimeout)
		case "slow":
			<-r.Context().Done()
		default:
			http.Error(w, "it broke", http.StatusInternalServerError)
		}
	}))
	defer server.Close()
	queries := []string{"ok", "limited", "full", "late", "slow", "a+b & c"}
	h, err := NewHTTP(server.URL+"/at/", queries, url.Values{"k": {"5"}}, 10)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	for i, want := range []Outcome{Answered, Limited, Overloaded, Expired, Failed, Failed} {
		ctx, cancel := context.WithCancel(t.Context())
		if queries[i] == "slow" {
			time.AfterFunc(200*time.Millisecond, cancel)
		}
		got, err := h.Do(ctx, i)
		cancel()
		if got != want || (err == nil) != (want == Answered) {
			t.Errorf("query %q: %v, %v; want %v", queries[i], got, err, want)
		}
		if i == 5 && !strings.Contains(err.Error(), "it broke") {
			t.Errorf("the error does not say what the server said: %v", err)
		}
	}
	r, err := h.Read(t.Context())
	if want := (Reading{Goroutines: 12, DeviceBytes: 1005, HostBytes: 4096}); err != nil || r != want {
		t.Errorf("reading %+v, %v; want %+v", r, err, want)
	}
	for _, bad := range []string{"", "localhost:80", "ftp://x", "http://", "http://x/?a=b", ":"} {
		if _, err := NewHTTP(bad, queries, nil, 1); err == nil {
			t.Errorf("address %q is taken", bad)
		}
	}
}

func TestBadMetrics(t *testing.T) {
	for _, text := range []string{"", "other 1\n", "go_goroutines many\n"} {
		if r, err := parseMetrics(text); err == nil {
			t.Errorf("%q gives %+v", text, r)
		}
	}
}

// Error texts do not depend on the query, so that one cause counts once.
func TestFaultsOfHTTP(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	h, err := NewHTTP(server.URL, []string{"a", "b"}, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	o, err := h.Do(t.Context(), 0)
	other, err2 := h.Do(t.Context(), 1)
	if o != Failed || other != Failed || err.Error() != err2.Error() || !strings.Contains(err.Error(), "refused") {
		t.Errorf("%v %v, %v %v", o, err, other, err2)
	}
}

// Errors that a retry may resolve are not refusals; faults of the query itself
// are marked.
func TestRefusals(t *testing.T) {
	said := func(code string) string { return fmt.Sprintf(`{"error":{"code":%q,"message":"m"}}`, code) }
	for _, c := range []struct {
		status           int
		body             string
		refused, ofQuery bool
		badInput         bool
	}{
		{400, said("query_syntax"), true, true, true},
		{400, said("bad_query"), true, true, true},
		{414, said("query_too_long"), true, true, true},
		{400, said("bad_parameter"), true, false, true},
		{400, said("no_impacts"), true, false, true},
		{404, "not found", true, false, false},
		{302, "", false, false, false},
		{408, "", false, false, false},
		{429, said("too_many_requests"), false, false, false},
		{500, said("internal"), false, false, false},
		{503, said("overloaded"), false, false, false},
	} {
		err := statusError(c.status, []byte(c.body))
		var r *Refusal
		if refused := errors.As(err, &r); refused != c.refused || refused && r.OfQuery != c.ofQuery || errors.Is(err, base.ErrBadInput) != c.badInput {
			t.Errorf("%d %s: %#v", c.status, c.body, err)
		}
	}
}

func TestStatusError(t *testing.T) {
	for body, want := range map[string]string{
		`{"error":{"code":"query_syntax","message":"quote is not closed","offset":0}}`: "status 400: quote is not closed",
		"it broke\n":             "status 400: it broke",
		`{"error":{"code":"quer`: `status 400: {"error":{"code":"quer`,
		`{"other":1}`:            `status 400: {"other":1}`,
	} {
		if got := statusError(400, []byte(body)).Error(); got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
}
