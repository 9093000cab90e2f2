package server

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/load"
)

// fakeDocument answers document requests with f, and searches at once.
func fakeDocument(f func(context.Context) error) backend {
	b := fakeBackend()
	b.document = func(ctx context.Context, id string) (griffin.Document, error) {
		if err := f(ctx); err != nil {
			return griffin.Document{}, err
		}
		return griffin.Document{ID: id}, nil
	}
	return b
}

// Requests for documents have the limits and errors of searches, but limits of their own.
func TestDocumentsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		running, most := 0, 0
		wait := func(ctx context.Context) error { // one at a time, if limited
			running++
			most = max(most, running)
			defer func() { running-- }()
			time.Sleep(100 * time.Millisecond)
			return ctx.Err()
		}
		b := fakeDocument(wait)
		b.search = func(ctx context.Context, _ searchRequest) (*griffin.Results, error) {
			time.Sleep(100 * time.Millisecond)
			return &griffin.Results{}, ctx.Err()
		}
		h := makeHandler(Options{Logger: quiet(), MaxConcurrent: 4, PerClient: 3, Processors: 1, Timeout: 250 * time.Millisecond}, b)
		routes := h.routes()
		codes := map[string]map[int]int{"/search?q=a": {}, "/document?id=a": {}}
		var mu sync.Mutex
		var wg sync.WaitGroup
		for _, target := range []string{"/document?id=a", "/search?q=a"} {
			for i := range 7 {
				wg.Go(func() {
					r := httptest.NewRequest(http.MethodGet, target, http.NoBody)
					if r.RemoteAddr = "10.0.0.1:1"; i >= 4 {
						r.RemoteAddr = "10.0.0.2:1"
					}
					w := httptest.NewRecorder()
					routes.ServeHTTP(w, r)
					mu.Lock()
					defer mu.Unlock()
					codes[target][w.Code]++
					if w.Code != http.StatusOK && w.Header().Get("Retry-After") == "" {
						t.Errorf("%s: status %d does not say when to try again", target, w.Code)
					}
				})
				synctest.Wait()
			}
		}
		wg.Wait()
		// Three of the first client, one of the second, then the limit. One processor reads
		// one after another, so the third and fourth miss their time limit.
		got := codes["/document?id=a"]
		if got[http.StatusOK] != 2 || got[http.StatusGatewayTimeout] != 2 || got[http.StatusTooManyRequests] != 1 || got[http.StatusServiceUnavailable] != 2 {
			t.Errorf("documents: %v", got)
		}
		if got := codes["/search?q=a"]; got[http.StatusOK] != 4 || got[http.StatusTooManyRequests] != 1 || got[http.StatusServiceUnavailable] != 2 {
			t.Errorf("searches, while as many documents are read as may: %v", got)
		}
		if most != 1 || h.documents.running != 0 || len(h.documents.clients) != 0 || len(h.reading) != 0 {
			t.Errorf("%d were read at once; at the end %d are left, of %v, %d at a processor", most, h.documents.running, h.documents.clients, len(h.reading))
		}
	})
}

// Like errors of searches, with their own text.
func TestDocumentFailures(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
		text string
	}{
		{context.DeadlineExceeded, http.StatusGatewayTimeout, "the request for a document exceeded its time limit"},
		{griffin.ErrClosed, http.StatusServiceUnavailable, "the server is stopping"},
		{errors.New("broken"), http.StatusInternalServerError, "the request for a document failed"},
	} {
		t.Run(c.text, func(t *testing.T) {
			h := makeHandler(Options{Logger: quiet()}, fakeDocument(func(context.Context) error { return c.err }))
			if w := get(t, h.routes(), "/document?id=a"); w.Code != c.want || !strings.Contains(w.Body.String(), c.text) || h.documents.running != 0 {
				t.Errorf("%v: status %d, %d are left:\n%s", c.err, w.Code, h.documents.running, w.Body)
			}
		})
	}
	h := makeHandler(Options{Logger: quiet(), Processors: 1}, fakeDocument(func(context.Context) error { panic("broken") }))
	for range 3 {
		if w := get(t, h.routes(), "/document?id=a"); w.Code != http.StatusInternalServerError || h.documents.running != 0 {
			t.Errorf("a panic: status %d, %d are left", w.Code, h.documents.running)
		}
	}
}

// shared simulates processors shared by searches and documents. Like the scheduler, it runs
// one search per processor. Work is not cancelled.
func shared(processors int, service time.Duration) backend {
	const slice = time.Millisecond
	cpus, searching := make(chan struct{}, processors), make(chan struct{}, processors)
	work := func() {
		for range service / slice {
			cpus <- struct{}{}
			time.Sleep(slice)
			<-cpus
		}
	}
	b := fakeDocument(func(ctx context.Context) error {
		work()
		return ctx.Err()
	})
	b.search = func(ctx context.Context, _ searchRequest) (*griffin.Results, error) {
		searching <- struct{}{}
		defer func() { <-searching }()
		work()
		return &griffin.Results{}, ctx.Err()
	}
	return b
}

// At four times its capacity in documents, a server still answers searches in time, and
// documents at capacity; and vice versa. With both, each gets half.
func TestOverloadOfBothInVirtualTime(t *testing.T) {
	const processors, service, limit, capacity = 2, 10 * time.Millisecond, 400 * time.Millisecond, 200.0
	const search, document = "/search?q=a", "/document?id=a"
	for name, c := range map[string]struct {
		rates [2]float64 // searches, documents
		least [2]float64 // that is answered in time
	}{
		"documents": {[2]float64{0.25 * capacity, 4 * capacity}, [2]float64{0.24 * capacity, 0.6 * capacity}},
		"searches":  {[2]float64{4 * capacity, 0.25 * capacity}, [2]float64{0.6 * capacity, 0.24 * capacity}},
		"both":      {[2]float64{3 * capacity, 3 * capacity}, [2]float64{0.4 * capacity, 0.4 * capacity}},
	} {
		synctest.Test(t, func(t *testing.T) {
			routes := newHandler(Options{Logger: quiet(), Timeout: limit, MaxConcurrent: 1 << 20, Processors: processors}, shared(processors, service))
			var points [2]*load.Point
			var wg sync.WaitGroup
			for i, target := range []string{search, document} {
				wg.Go(func() {
					o := load.Options{Queries: 1, Seed: uint64(7 + i), Warmup: time.Second, Duration: 10 * time.Second, Bound: limit, Sleep: time.Sleep}
					all, err := load.Sweep(t.Context(), handlerTarget{routes, target}, o, []float64{c.rates[i]}, nil)
					if err != nil {
						t.Error(err)
						return
					}
					points[i] = &all[0]
				})
			}
			wg.Wait()
			for i, p := range points {
				what := []string{"searches", "documents"}[i]
				if p.Goodput < c.least[i] || p.Expired > p.Answered/50 || p.Faulty() > 0 {
					t.Errorf("overload of %s: of %.0f %s a second %.1f are answered in time, want %.0f; %d expired, %d failed",
						name, c.rates[i], what, p.Goodput, c.least[i], p.Expired, p.Faulty())
				}
			}
		})
	}
}
