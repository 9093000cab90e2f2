package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/query"
)

// Three documents that match every query.
func fakeBackend() backend {
	hits := []griffin.Hit{
		{ID: "a/one.txt", Score: 2.5, Title: "One & only", Snippet: griffin.Snippet{Text: "a <b>fox</b> ran", Highlights: []griffin.Span{{Start: 5, End: 8}}}},
		{ID: "b", Score: 1.25, Fields: []griffin.Field{{Name: "url", Value: "http://b/"}}},
		{ID: "c", Score: 1, Title: "C"},
	}
	return backend{
		search: func(ctx context.Context, req searchRequest) (*griffin.Results, error) {
			r := &griffin.Results{Query: req.Text, Mode: req.Mode, Engine: "griffin", Took: 1500 * time.Microsecond, NumDocs: 3}
			from := min(req.Offset, len(hits))
			r.Hits = hits[from:min(from+req.K, len(hits))]
			if req.Trace {
				r.Trace = &griffin.Trace{Query: req.Text}
			}
			return r, ctx.Err()
		},
		document: func(_ context.Context, id string) (griffin.Document, error) {
			if id != "a/one.txt" {
				return griffin.Document{}, griffin.ErrNotFound
			}
			return griffin.Document{ID: id, Title: "One & only", Text: "a <b>fox</b> ran\naway"}, nil
		},
		stats: func() (griffin.Stats, error) {
			return griffin.Stats{NumDocs: 3, Generation: 7, Segments: make([]griffin.SegmentStats, 2), SizeBytes: 4096}, nil
		},
		gpu: func() (stats griffin.GPUStats, used bool) { return stats, false },
	}
}

func fakeSearch(f func(context.Context, searchRequest) (*griffin.Results, error)) backend {
	b := fakeBackend()
	b.search = f
	return b
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func get(t *testing.T, h http.Handler, target string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, target, http.NoBody))
	return w
}

func errorOf(t *testing.T, w *httptest.ResponseRecorder) apiError {
	t.Helper()
	var body struct{ Error *apiError }
	if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil || body.Error == nil {
		t.Fatalf("status %d, not an error answer: %v: %s", w.Code, err, w.Body)
	}
	return *body.Error
}

func TestSearch(t *testing.T) {
	h := newHandler(Options{Logger: quiet()}, fakeBackend())
	w := get(t, h, "/search?q=fox&k=2&mode=and%2Bor&trace=1")
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "application/json; charset=utf-8" {
		t.Fatalf("status %d, type %s: %s", w.Code, w.Header().Get("Content-Type"), w.Body)
	}
	var got searchResponse
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got.Query != "fox" || got.Mode != griffin.ModeAndOr || got.K != 2 || got.TookMicros != 1500 || got.Trace == nil || len(got.Hits) != 2 {
		t.Errorf("got %+v", got)
	}
	first := got.Hits[0]
	if first.Rank != 1 || first.ID != "a/one.txt" || first.Score != 2.5 || first.Title != "One & only" ||
		first.Snippet != "a <b>fox</b> ran" || first.SnippetHTML != "a &lt;b&gt;<mark>fox</mark>&lt;/b&gt; ran" {
		t.Errorf("first hit %+v", first)
	}
	if got.Hits[1].Fields[0].Value != "http://b/" {
		t.Errorf("second hit %+v", got.Hits[1])
	}
}

func TestSearchDefaults(t *testing.T) {
	var seen searchRequest
	h := newHandler(Options{Logger: quiet()}, fakeSearch(func(_ context.Context, req searchRequest) (*griffin.Results, error) {
		seen = req
		seen.Memory = nil // an earlier search's results, or none
		return &griffin.Results{Query: req.Text}, nil
	}))
	w := get(t, h, "/search?q=a+b")
	if want := (searchRequest{Text: "a b", K: 10, Mode: griffin.ModeOr}); !reflect.DeepEqual(seen, want) {
		t.Errorf("got %+v, want %+v", seen, want)
	}
	if !strings.Contains(w.Body.String(), `"hits":[]`) {
		t.Errorf("no hits must be an empty list: %s", w.Body)
	}
	get(t, h, "/search?q=x&mode=and+or&k=1000")
	if seen.Mode != griffin.ModeAndOr || seen.K != 1000 {
		t.Errorf("a bare plus in mode: got %+v", seen)
	}
	get(t, h, "/search?q=x&mode=saat&rho=1000")
	if seen.Mode != griffin.ModeSaat || seen.Rho != 1000 {
		t.Errorf("mode saat: got %+v", seen)
	}
	get(t, h, "/search?q=x&k=5&offset=20")
	if seen.Offset != 20 || seen.K != 5 {
		t.Errorf("offset: got %+v", seen)
	}
}

func TestRanksGoOnAfterOffset(t *testing.T) {
	w := get(t, newHandler(Options{Logger: quiet()}, fakeBackend()), "/search?q=x&k=2&offset=2")
	if !strings.Contains(w.Body.String(), `{"rank":3,"id":"c"`) {
		t.Error(w.Body)
	}
}

func TestErrorsOfRequests(t *testing.T) {
	h := newHandler(Options{Logger: quiet(), MaxQueryBytes: 100}, fakeBackend())
	for _, c := range []struct {
		target string
		status int
		code   string
	}{
		{"/search", 400, "bad_parameter"},
		{"/search?q=", 400, "bad_parameter"},
		{"/search?q=a&k=0", 400, "bad_parameter"},
		{"/search?q=a&k=-1", 400, "bad_parameter"},
		{"/search?q=a&k=1001", 400, "bad_parameter"},
		{"/search?q=a&k=99999999999999999999999", 400, "bad_parameter"},
		{"/search?q=a&k=NaN", 400, "bad_parameter"},
		{"/search?q=a&k=1e3", 400, "bad_parameter"},
		{"/search?q=a&k=%00", 400, "bad_parameter"},
		{"/search?q=a&k=10&offset=991", 400, "bad_parameter"},
		{"/search?q=a&offset=-1", 400, "bad_parameter"},
		{"/search?q=a&mode=xor", 400, "bad_parameter"},
		{"/search?q=a&mode=" + strings.Repeat("x", 10000), 400, "bad_parameter"},
		{"/search?q=a&trace=yes", 400, "bad_parameter"},
		{"/search?q=a&rho=5", 400, "bad_parameter"},
		{"/search?q=a&mode=saat&rho=0", 400, "bad_parameter"},
		{"/search?q=a&mode=saat&rho=2ms", 400, "bad_parameter"},
		{"/search?q=a&kk=1", 400, "bad_parameter"},
		{"/search?q=a&q=b", 400, "bad_parameter"},
		{"/search?q=%ff%fe", 400, "bad_parameter"},
		{"/search?q=%zz", 400, "bad_parameter"},
		{"/search?q=a;k=1", 400, "bad_parameter"},
		{"/search?q=" + strings.Repeat("a", 101), 414, "query_too_long"},
		{"/search?q=" + strings.Repeat("(", 1<<20), 414, "query_too_long"},
		{"/nothing", 404, "not_found"},
		{"/search/", 404, "not_found"},
	} {
		w := get(t, h, c.target)
		if w.Code != c.status {
			t.Errorf("%.60s: status %d, want %d", c.target, w.Code, c.status)
			continue
		}
		if e := errorOf(t, w); e.Code != c.code || e.Message == "" || len(e.Message) > 300 {
			t.Errorf("%.60s: error %+v, want code %s", c.target, e, c.code)
		}
		if w := get(t, h, strings.Replace(c.target, "/search?", "/?", 1)); w.Code >= 500 {
			t.Errorf("page %.60s: status %d", c.target, w.Code)
		}
	}
}

func TestOnlyGetWithoutBody(t *testing.T) {
	h := newHandler(Options{Logger: quiet()}, fakeBackend())
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/search?q=a", http.NoBody))
	if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: status %d, Allow %q", w.Code, w.Header().Get("Allow"))
	}
	w = httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/search?q=a", strings.NewReader("body")))
	if w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("GET with a body: status %d", w.Code)
	}
}

func TestErrorsOfSearches(t *testing.T) {
	offset := 3
	for _, c := range []struct {
		err    error
		status int
		want   apiError
	}{
		{
			&query.Error{Kind: griffin.ErrBadInput, Text: "a (bc", Offset: offset, Reason: "missing )"}, 400,
			apiError{Code: "query_syntax", Message: "missing )", Offset: &offset},
		},
		{&query.Error{Kind: griffin.ErrBadInput, Reason: "too many"}, 400, apiError{Code: "query_syntax", Message: "too many"}},
		{
			fmt.Errorf("index /secret: %w", griffin.ErrNoImpacts), 400,
			apiError{Code: "no_impacts", Message: "mode saat needs impact-ordered lists, which nobody has made of the index; make them with griffin impacts"},
		},
		{fmt.Errorf("no positions: %w", griffin.ErrBadInput), 400, apiError{Code: "bad_query", Message: "no positions"}},
		{fmt.Errorf("segment 1: %w", context.DeadlineExceeded), 504, apiError{Code: "timeout"}},
		{griffin.ErrClosed, 503, apiError{Code: "closing"}},
		{fmt.Errorf("/secret/path: %w", griffin.ErrCorrupt), 500, apiError{Code: "internal"}},
		{context.Canceled, statusClientGone, apiError{}},
	} {
		h := newHandler(Options{Logger: quiet()}, fakeSearch(func(context.Context, searchRequest) (*griffin.Results, error) { return nil, c.err }))
		w := get(t, h, "/search?q=a")
		if c.status == statusClientGone {
			if w.Body.Len() != 0 {
				t.Errorf("%v: answered %s to nobody", c.err, w.Body)
			}
			continue
		}
		got := errorOf(t, w)
		if w.Code != c.status || got.Code != c.want.Code || c.want.Message != "" && got.Message != c.want.Message ||
			(got.Offset == nil) != (c.want.Offset == nil) || strings.Contains(got.Message, "secret") {
			t.Errorf("%v: status %d, %+v", c.err, w.Code, got)
		}
		if (got.Offset == nil) != (c.want.Offset == nil) || got.Offset != nil && *got.Offset != *c.want.Offset {
			t.Errorf("%v: offset %v", c.err, got.Offset)
		}
		if page := get(t, h, "/?q=a"); page.Code != c.status || strings.Contains(page.Body.String(), "secret") {
			t.Errorf("page, %v: status %d", c.err, page.Code)
		}
	}
}

func TestSlowSearchTimesOut(t *testing.T) {
	h := newHandler(Options{Logger: quiet(), Timeout: 10 * time.Millisecond}, fakeSearch(func(ctx context.Context, _ searchRequest) (*griffin.Results, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}))
	if w := get(t, h, "/search?q=a"); w.Code != http.StatusGatewayTimeout {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
}

func TestPanicIsAnswered(t *testing.T) {
	h := newHandler(Options{Logger: quiet()}, fakeSearch(func(context.Context, searchRequest) (*griffin.Results, error) { panic("a bug") }))
	for range 2 { // the second one shows that the slot was released
		w := get(t, h, "/search?q=a")
		if w.Code != http.StatusInternalServerError || strings.Contains(w.Body.String(), "a bug") {
			t.Errorf("status %d: %s", w.Code, w.Body)
		}
	}
	metrics := get(t, h, "/metrics").Body.String()
	for _, want := range []string{"griffin_http_panics_total 2", `griffin_http_requests_total{code="500",route="search"} 2`, "griffin_http_requests_in_flight 1"} {
		if !strings.Contains(metrics, want+"\n") {
			t.Errorf("metrics lack %s", want)
		}
	}
}

// Afterwards searches are answered.
func TestTooManySearches(t *testing.T) {
	const slots, more = 4, 12
	release := make(chan struct{})
	var running, most atomic.Int32
	h := newHandler(Options{Logger: quiet(), MaxConcurrent: slots}, fakeSearch(func(context.Context, searchRequest) (*griffin.Results, error) {
		most.Store(max(most.Load(), running.Add(1)))
		defer running.Add(-1)
		<-release
		return &griffin.Results{}, nil
	}))
	codes := make(chan int, slots+more)
	var wg sync.WaitGroup
	for range slots + more {
		wg.Go(func() {
			w := get(t, h, "/search?q=a")
			if w.Code == http.StatusServiceUnavailable && w.Header().Get("Retry-After") == "" {
				t.Error("503 without Retry-After")
			}
			codes <- w.Code
		})
	}
	for range more {
		if code := <-codes; code != http.StatusServiceUnavailable {
			t.Errorf("status %d, want 503", code)
		}
	}
	close(release)
	wg.Wait()
	for range slots {
		if code := <-codes; code != http.StatusOK {
			t.Errorf("status %d, want 200", code)
		}
	}
	if most.Load() > slots {
		t.Errorf("%d searches ran at once, want at most %d", most.Load(), slots)
	}
	if w := get(t, h, "/search?q=a"); w.Code != http.StatusOK {
		t.Errorf("afterwards: status %d", w.Code)
	}
}

func TestMetrics(t *testing.T) {
	h := newHandler(Options{Logger: quiet()}, fakeBackend())
	get(t, h, "/search?q=a&mode=and")
	get(t, h, "/search?q=a&mode=nonsense")
	get(t, h, "/healthz")
	get(t, h, "/a/"+url.PathEscape("b\"c"))
	metrics := get(t, h, "/metrics").Body.String()
	for _, want := range []string{
		`griffin_http_requests_total{code="200",route="search"} 1`,
		`griffin_http_requests_total{code="400",route="search"} 1`,
		`griffin_http_requests_total{code="200",route="healthz"} 1`,
		`griffin_http_requests_total{code="404",route="other"} 1`,
		`griffin_searches_total{mode="and",result="ok"} 1`,
		`griffin_search_duration_seconds_count{mode="and"} 1`,
		`griffin_search_duration_seconds_bucket{mode="and",le="1e-05"} 0`,
		`griffin_search_duration_seconds_bucket{mode="and",le="10"} 1`,
		`griffin_search_duration_seconds_count{mode="and+or"} 0`,
		`griffin_searches_total{mode="or",result="ok"} 0`,
		`griffin_index_documents 3`,
		`griffin_index_generation 7`,
		`griffin_index_segments 2`,
		`griffin_index_size_bytes 4096`,
		`griffin_http_panics_total 0`,
		`version="` + griffin.Version + `"`,
		"go_goroutines",
		"process_resident_memory_bytes",
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("metrics lack %s", want)
		}
	}
}

// Only an index on a GPU has GPU metrics.
func TestMetricsOfGPU(t *testing.T) {
	b := fakeBackend()
	if metrics := get(t, newHandler(Options{Logger: quiet()}, b), "/metrics").Body.String(); strings.Contains(metrics, "gpu") {
		t.Error("there are metrics of a GPU without one")
	}
	b.gpu = func() (s griffin.GPUStats, used bool) {
		s.OnGPU, s.OnCPU = 5, 2
		s.Devices = slices.Grow(s.Devices, 1)[:1]
		d := &s.Devices[0]
		d.Name, d.Hits, d.Misses, d.Evictions, d.SizeBytes, d.Host.SizeBytes, d.BytesUploaded, d.Errors, d.Lost = "gpu0", 11, 4, 3, 4096, 512, 8192, 1, "gone"
		d.Asked.Host, d.Asked.Image, d.Packed, d.BytesInPlace, d.Host.LimitBytes = 4, 11, 2, 300, 1024
		return s, true
	}
	metrics := get(t, newHandler(Options{Logger: quiet()}, b), "/metrics").Body.String()
	for _, want := range []string{
		`griffin_queries_total{processor="gpu"} 5`,
		`griffin_queries_total{processor="cpu"} 2`,
		`griffin_gpu_list_hits_total{device="gpu0"} 11`,
		`griffin_gpu_list_misses_total{device="gpu0"} 4`,
		`griffin_gpu_list_evictions_total{device="gpu0"} 3`,
		`griffin_gpu_list_bytes{device="gpu0"} 4096`,
		`griffin_gpu_host_bytes{device="gpu0"} 512`,
		`griffin_gpu_host_limit_bytes{device="gpu0"} 1024`,
		`griffin_gpu_lists_asked_total{device="gpu0",form="host"} 4`,
		`griffin_gpu_lists_asked_total{device="gpu0",form="image"} 11`,
		`griffin_gpu_packed_queries_total{device="gpu0"} 2`,
		`griffin_gpu_in_place_bytes_total{device="gpu0"} 300`,
		`griffin_gpu_uploaded_bytes_total{device="gpu0"} 8192`,
		`griffin_gpu_errors_total{device="gpu0"} 1`,
		`griffin_gpu_lost{device="gpu0"} 1`,
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("metrics lack %s", want)
		}
	}
}

func TestMetricsOfEngine(t *testing.T) {
	b := fakeBackend()
	b.dispatch = func() griffin.DispatchStats { return griffin.DispatchStats{Policy: griffin.PolicyCost} }
	metrics := get(t, newHandler(Options{Logger: quiet()}, b), "/metrics").Body.String()
	for _, want := range []string{`griffin_engine_info{engine="griffin"} 1`, `griffin_policy_info{policy="cost"} 1`} {
		if !strings.Contains(metrics, want+"\n") {
			t.Errorf("metrics of the default engine lack %s", want)
		}
	}
	if strings.Contains(metrics, "griffin_engine_queries_total") {
		t.Error("the default engine has counts of an engine")
	}
	b.dispatch = func() griffin.DispatchStats {
		return griffin.DispatchStats{Engine: &griffin.EngineStats{
			Name: "ding09:on=both", OnCPU: 5, OnGPU: 2, Migrations: 3, BusBytes: 4096, Faults: 1, ListHits: 11, ListMisses: 4, Stolen: 6, UnknownDocs: 7,
		}}
	}
	metrics = get(t, newHandler(Options{Logger: quiet()}, b), "/metrics").Body.String()
	for _, want := range []string{
		`griffin_engine_info{engine="ding09:on=both"} 1`,
		`griffin_engine_queries_total{processor="cpu"} 5`,
		`griffin_engine_queries_total{processor="gpu"} 2`,
		`griffin_engine_migrations_total 3`,
		`griffin_engine_bus_bytes_total 4096`,
		`griffin_engine_faults_total 1`,
		`griffin_engine_list_hits_total 11`,
		`griffin_engine_list_misses_total 4`,
		`griffin_engine_stolen_total 6`,
		`griffin_engine_unknown_documents 7`,
	} {
		if !strings.Contains(metrics, want+"\n") {
			t.Errorf("metrics lack %s", want)
		}
	}
	if strings.Contains(metrics, "griffin_policy_info") {
		t.Error("an engine has no policy")
	}
}

func TestMetricsOfBrokenIndex(t *testing.T) {
	b := fakeBackend()
	b.stats = func() (griffin.Stats, error) { return griffin.Stats{}, errors.New("broken") }
	h := newHandler(Options{Logger: quiet()}, b)
	if w := get(t, h, "/metrics"); w.Code != http.StatusInternalServerError {
		t.Errorf("status %d, want 500", w.Code)
	}
	if w := get(t, h, "/"); w.Code != http.StatusOK {
		t.Errorf("page: status %d", w.Code)
	}
}

func TestHealth(t *testing.T) {
	w := get(t, newHandler(Options{Logger: quiet()}, fakeBackend()), "/healthz")
	if w.Code != http.StatusOK || w.Body.String() != "ok\n" {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
}

func TestHealthOfDamagedIndex(t *testing.T) {
	b := fakeSearch(func(context.Context, searchRequest) (*griffin.Results, error) {
		return nil, fmt.Errorf("/secret: %w", griffin.ErrCorrupt)
	})
	changed := false
	b.refresh = func() (bool, error) { return changed, nil }
	h := newHandler(Options{Logger: quiet()}, b)
	refresh := func() {
		if _, err := h.state.refresh(); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct {
		name string
		do   func()
		want int
	}{
		{"at first", func() {}, http.StatusOK},
		{"after a search", func() { get(t, h, "/search?q=a") }, http.StatusServiceUnavailable},
		{"without a new commit", refresh, http.StatusServiceUnavailable},
		{"after a new commit", func() { changed = true; refresh() }, http.StatusOK},
		{"after a search on the page", func() { get(t, h, "/?q=a") }, http.StatusServiceUnavailable},
	} {
		step.do()
		w := get(t, h, "/healthz")
		if w.Code != step.want || strings.Contains(w.Body.String(), "secret") {
			t.Errorf("%s: status %d, want %d: %s", step.name, w.Code, step.want, w.Body)
		}
	}
}

func TestDocumentWithoutID(t *testing.T) {
	for _, target := range []string{"/document", "/document?id="} {
		w := get(t, newHandler(Options{Logger: quiet()}, fakeBackend()), target)
		if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "parameter id") {
			t.Errorf("%s: status %d: %s", target, w.Code, w.Body)
		}
	}
}

func TestSecurityHeaders(t *testing.T) {
	h := newHandler(Options{Logger: quiet()}, fakeBackend())
	for _, target := range []string{"/", "/?q=fox", "/search?q=fox", "/search", "/document?id=b", "/healthz", "/metrics", "/icon.svg", "/nothing"} {
		header := get(t, h, target).Header()
		policy := header.Get("Content-Security-Policy")
		if !strings.HasPrefix(policy, "default-src 'none'; style-src 'sha256-") || strings.Contains(policy, "unsafe") || strings.Contains(policy, "script-src") {
			t.Errorf("%s: policy %q", target, policy)
		}
		if header.Get("X-Content-Type-Options") != "nosniff" || header.Get("X-Frame-Options") != "DENY" {
			t.Errorf("%s: headers %v", target, header)
		}
	}
}

func TestHead(t *testing.T) {
	srv := httptest.NewServer(newHandler(Options{Logger: quiet()}, fakeBackend()))
	defer srv.Close()
	resp, err := http.Head(srv.URL + "/search?q=fox")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || len(body) != 0 || resp.StatusCode != http.StatusOK || resp.ContentLength <= 0 {
		t.Errorf("HEAD: %s, %d bytes, length %d, %v", resp.Status, len(body), resp.ContentLength, err)
	}
}

func TestNewRefuses(t *testing.T) {
	for name, o := range map[string]Options{
		"no index":         {},
		"negative k":       {Index: &griffin.Index{}, MaxK: -1},
		"negative slots":   {Index: &griffin.Index{}, MaxConcurrent: -1},
		"negative timeout": {Index: &griffin.Index{}, Timeout: -1},
		"long timeout":     {Index: &griffin.Index{}, Timeout: MaxTimeout + 1},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := New(o); err == nil {
				t.Errorf("%s: New returned no error", name)
			}
		})
	}
}
