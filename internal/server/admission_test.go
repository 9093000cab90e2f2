package server

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/cost"
	"github.com/griffin-search/griffin/internal/load"
	"github.com/griffin-search/griffin/internal/sched"
	"github.com/griffin-search/griffin/query"
)

type handlerTarget struct {
	http.Handler
	target string
}

func (h handlerTarget) Do(ctx context.Context, _ int) (load.Outcome, error) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, h.target, http.NoBody).WithContext(ctx))
	switch w.Code {
	case http.StatusOK:
		return load.Answered, nil
	case http.StatusServiceUnavailable:
		return load.Overloaded, nil
	case http.StatusGatewayTimeout:
		return load.Expired, nil
	}
	return load.Failed, errors.New(w.Body.String())
}

// station simulates processors with a fixed service time, whose work is not cancelled.
func station(processors int, service time.Duration) backend {
	free := make(chan struct{}, processors)
	return fakeSearch(func(ctx context.Context, _ searchRequest) (*griffin.Results, error) {
		free <- struct{}{}
		defer func() { <-free }()
		time.Sleep(service)
		return &griffin.Results{}, ctx.Err()
	})
}

// At twice its capacity, a server answers at capacity, in time, rejects the rest at once,
// and recovers within a second.
func TestOverloadInVirtualTime(t *testing.T) {
	const processors, service, limit, capacity = 2, 10 * time.Millisecond, 400 * time.Millisecond, 200.0
	for _, admit := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			h := makeHandler(Options{Logger: quiet(), Timeout: limit, MaxConcurrent: 1 << 20}, station(processors, service))
			h.searches.processors = processors
			if !admit {
				h.searches.processors = 1e9 // so that no number of searches is high
			}
			o := load.Options{Queries: 1, Seed: 5, Warmup: time.Second, Duration: 10 * time.Second, Bound: limit, Sleep: time.Sleep}
			points, err := load.Sweep(t.Context(), handlerTarget{h.routes(), "/search?q=a"}, o, []float64{capacity / 2, 2 * capacity, capacity / 2}, nil)
			if err != nil {
				t.Fatal(err)
			}
			before, over, after := &points[0], &points[1], &points[2]
			if !admit {
				if over.Goodput > 0.2*capacity {
					t.Errorf("without admission goodput is %.1f: the test shows nothing", over.Goodput)
				}
				return
			}
			if over.Goodput < 0.95*capacity || over.Expired > over.Answered/100 || over.Faulty() > 0 {
				t.Errorf("at twice the capacity: goodput %.1f of %.1f, %d expired, %d failed", over.Goodput, capacity, over.Expired, over.Faulty())
			}
			if after.Shed() > 0 || after.Latency.P99 > 2*before.Latency.P99 {
				t.Errorf("afterwards: %d refused, p99 %v; before it was %v", after.Shed(), after.Latency.P99, before.Latency.P99)
			}
		})
	}
}

// With the default limits and arrivals without pause, ten seconds of twice the capacity.
func TestBurstIsOverInASecond(t *testing.T) {
	const processors, service, capacity = 2, 10 * time.Millisecond, 200
	const calm, burst = 5 * time.Second, 10 * time.Second
	synctest.Test(t, func(t *testing.T) {
		made := makeHandler(Options{Logger: quiet()}, station(processors, service))
		made.searches.processors = processors
		target := handlerTarget{made.routes(), "/search?q=a"}
		var mu sync.Mutex
		var before, within, after []time.Duration // times of answers
		refused := 0
		var asked sync.WaitGroup
		defer asked.Wait()
		ask := func(to *[]time.Duration) {
			began := time.Now()
			outcome, err := target.Do(t.Context(), 0)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case outcome == load.Answered:
				*to = append(*to, time.Since(began))
			case outcome != load.Overloaded:
				t.Errorf("%v, %v", outcome, err)
			case to != &within:
				refused++
			}
		}
		arrive := func(rate float64, during time.Duration, to *[]time.Duration) {
			pause := time.Duration(float64(time.Second) / rate)
			for began := time.Now(); time.Since(began) < during; time.Sleep(pause) {
				asked.Go(func() { ask(to) })
			}
		}
		var between []time.Duration // the second after
		arrive(capacity/2, calm, &before)
		arrive(2*capacity, burst, &within)
		arrive(capacity/2, time.Second, &between)
		mu.Lock()
		refused = 0
		mu.Unlock()
		arrive(capacity/2, calm, &after)
		asked.Wait()
		if want := int(calm.Seconds() * capacity / 2); len(before) != want || len(after) != want || refused > 0 {
			t.Errorf("answered %d before and %d after, %d refused; want all %d", len(before), len(after), refused, want)
		}
		if was, is := slices.Max(before), slices.Max(after); is > 2*was {
			t.Errorf("from a second after the burst on the longest took %v, before it %v", is, was)
		}
		if least := int(0.9 * capacity * burst.Seconds()); len(within) < least {
			t.Errorf("answered %d in the burst, want %d at least", len(within), least)
		}
		if longest := slices.Max(within); longest > 2*DefaultMaxWait {
			t.Errorf("in the burst one took %v, with %v to wait", longest, DefaultMaxWait)
		}
	})
}

// A cancelled search took at least its elapsed time: clients that leave, short limits and
// invalid queries must not make a slow server seem fast.
func TestEstimateOfWhatEnds(t *testing.T) {
	const service = 100 * time.Millisecond
	for name, c := range map[string]struct {
		err         error
		fewer, more bool // the estimate falls, rises
	}{
		"answered": {nil, true, true}, "limit": {context.DeadlineExceeded, false, true}, "left": {context.Canceled, false, true},
		"unreadable": {&query.Error{Reason: "no"}, false, true}, "shed": {&griffin.Overload{}, false, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			outcome, takes := error(nil), service
			h := makeHandler(Options{Logger: quiet()}, fakeSearch(func(context.Context, searchRequest) (*griffin.Results, error) {
				time.Sleep(takes)
				return &griffin.Results{}, outcome
			}))
			learnt := func(d time.Duration, err error) float64 {
				takes, outcome = d, err
				get(t, h.routes(), "/search?q=a")
				return h.searches.cost
			}
			if cost := learnt(service, nil); cost != service.Seconds() {
				t.Fatalf("%s: it begins with %v s", name, cost)
			}
			if cost := learnt(service/100, c.err); (cost < service.Seconds()) != c.fewer {
				t.Errorf("%s: after a short one %v s", name, cost)
			}
			if before := h.searches.cost; (learnt(service*2, c.err) > before) != c.more {
				t.Errorf("%s: after a long one %v s, before %v s", name, h.searches.cost, before)
			}
			if h.searches.running != 0 {
				t.Errorf("%s: %d searches are left", name, h.searches.running)
			}
		})
	}
}

// A search cancelled by shutdown gets an error, not an empty answer.
func TestCancelledByStop(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	b := fakeSearch(func(ctx context.Context, _ searchRequest) (*griffin.Results, error) {
		cancel(errStopping)
		return nil, ctx.Err()
	})
	b.document = func(ctx context.Context, _ string) (d griffin.Document, err error) {
		return d, ctx.Err()
	}
	h := newHandler(Options{Logger: quiet()}, b)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/search?q=a", http.NoBody).WithContext(ctx))
	if e := errorOf(t, w); w.Code != http.StatusServiceUnavailable || e.Code != "closing" {
		t.Errorf("status %d, %+v", w.Code, e)
	}
	w = httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/document?id=a", http.NoBody).WithContext(ctx))
	if w.Code != http.StatusServiceUnavailable {
		t.Errorf("a document: status %d", w.Code)
	}
}

func TestRetryAfter(t *testing.T) {
	a := newAdmission("searches", &Options{MaxConcurrent: 5, PerClient: 4, Processors: 2, MaxWait: time.Hour})
	a.cost = 6 // seconds: each search adds 3 s to the wait
	one, other := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")
	for range 4 {
		if _, refused := a.enter(one, time.Minute, 0); refused != nil {
			t.Fatal(refused)
		}
	}
	for _, c := range []struct {
		client netip.Addr
		budget time.Duration
		status int
		after  string
	}{
		{one, time.Minute, 429, "12"},        // after its four end
		{other, 10 * time.Second, 503, "10"}, // when 5 s are left of 15
		{other, 20 * time.Second, 503, "5"},
		{other, time.Minute, 0, ""},
		{other, time.Minute, 503, "8"}, // when half of the five, 7.5 s, have ended
	} {
		_, refused := a.enter(c.client, c.budget, 0)
		if refused == nil {
			if c.status != 0 {
				t.Errorf("%+v is admitted", c)
			}
			continue
		}
		w := httptest.NewRecorder()
		if !announce(w, refused) || refused.Status != c.status || w.Header().Get("Retry-After") != c.after {
			t.Errorf("%+v: status %d, after %s", c, refused.Status, w.Header().Get("Retry-After"))
		}
	}
}

func TestMetricsOfAdmission(t *testing.T) {
	h := makeHandler(Options{Logger: quiet(), Processors: 2}, fakeBackend())
	h.searches.cost = 0.25
	for range 3 {
		if _, refused := h.searches.enter(netip.Addr{}, time.Minute, 0); refused != nil {
			t.Fatal(refused)
		}
	}
	metrics := get(t, h.routes(), "/metrics").Body.String()
	for _, want := range []string{
		`griffin_admitted_requests{of="searches"} 3`, `griffin_admitted_requests{of="multi-searches"} 0`, `griffin_admitted_requests{of="documents"} 0`,
		`griffin_request_processor_seconds{of="searches"} 0.25`, `griffin_request_expected_seconds{of="searches"} 0.5`,
	} {
		if !strings.Contains(metrics, want+"\n") {
			t.Errorf("metrics lack %s", want)
		}
	}
}

// Multi-searches of any length do not lower the number of searches at the same time, nor do
// searches raise the number of multi-searches.
func TestMultiSearchesBesideSearches(t *testing.T) {
	const processors, single, maxWait = 16, 150 * time.Microsecond, 4 * time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		h := makeHandler(Options{Logger: quiet(), Processors: processors, MaxWait: maxWait}, fakeBackend())
		r := httptest.NewRequest(http.MethodPost, "/_msearch", http.NoBody)
		ask := func(multi bool, takes time.Duration) {
			leave, refused := h.admit(r, multi)
			if refused != nil {
				t.Fatal(refused)
			}
			time.Sleep(takes)
			leave(true, false)
		}
		most := func(multi bool) (n int) {
			var ends []func(answered, shed bool)
			for {
				leave, refused := h.admit(r, multi)
				if refused != nil {
					break
				}
				ends = append(ends, leave)
			}
			for _, leave := range ends {
				leave(false, true)
			}
			return len(ends)
		}
		ask(false, single)
		const fits = int(processors * maxWait / single)
		for _, takes := range []time.Duration{0, 10 * time.Millisecond, 500 * time.Millisecond, time.Second} {
			if takes > 0 {
				ask(true, takes)
			}
			if n := most(false); n != fits {
				t.Errorf("after a multi-search of %v: %d searches at a time, want %d", takes, n, fits)
			}
		}
		for range 100 {
			ask(false, single)
		}
		if n := most(true); n != admissionFew*processors {
			t.Errorf("%d multi-searches of up to a second at a time, want %d", n, admissionFew*processors)
		}
	})
}

func TestPerClient(t *testing.T) {
	release, begun := make(chan struct{}), make(chan struct{}, 4)
	made := makeHandler(Options{Logger: quiet(), PerClient: 2}, fakeSearch(func(context.Context, searchRequest) (*griffin.Results, error) {
		begun <- struct{}{}
		<-release
		return &griffin.Results{}, nil
	}))
	h := made.routes()
	ask := func(from string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, "/search?q=a", http.NoBody)
		r.RemoteAddr = from
		h.ServeHTTP(w, r)
		return w
	}
	answers := make(chan int, 3)
	for _, from := range []string{"10.0.0.1:1", "10.0.0.1:2", "10.0.0.2:1"} {
		go func() { answers <- ask(from).Code }()
		<-begun
	}
	w := ask("10.0.0.1:3")
	if e := errorOf(t, w); w.Code != http.StatusTooManyRequests || e.Code != "too_many" || w.Header().Get("Retry-After") == "" {
		t.Errorf("status %d, %+v, Retry-After %q", w.Code, e, w.Header().Get("Retry-After"))
	}
	close(release)
	for range 3 {
		if code := <-answers; code != http.StatusOK {
			t.Errorf("status %d", code)
		}
	}
	if code := ask("10.0.0.1:4").Code; code != http.StatusOK {
		t.Errorf("afterwards: status %d", code)
	}
	if entry := made.searches; entry.running != 0 || len(entry.clients) != 0 {
		t.Errorf("%d searches of %v are left", entry.running, entry.clients)
	}
}

func TestClientOf(t *testing.T) {
	for address, want := range map[string]string{
		"10.1.2.3:80": "10.1.2.3", "[2001:db8:1:2:3:4:5:6]:80": "2001:db8:1:2::", "[::ffff:10.1.2.3]:9": "10.1.2.3", "[fe80::1%eth0]:1": "fe80::",
		"@": "invalid IP", "": "invalid IP", "name:80": "invalid IP",
	} {
		if got := clientOf(&http.Request{RemoteAddr: address}); got.String() != want {
			t.Errorf("%q is %v, want %s", address, got, want)
		}
	}
	if (netip.Addr{}).IsValid() {
		t.Error("the zero address is one")
	}
}

func TestShedByScheduler(t *testing.T) {
	for reason, want := range map[griffin.OverloadReason]int{
		griffin.ReasonQueueFull: http.StatusServiceUnavailable, griffin.ReasonTooLate: http.StatusServiceUnavailable, griffin.ReasonExpired: http.StatusGatewayTimeout,
	} {
		h := makeHandler(Options{Logger: quiet()}, fakeSearch(func(context.Context, searchRequest) (*griffin.Results, error) {
			return nil, &griffin.Overload{Reason: reason, RetryAfter: 2100 * time.Millisecond}
		}))
		w := get(t, h.routes(), "/search?q=a")
		if busy := strings.Contains(errorOf(t, w).Message, "too busy"); busy != (reason == griffin.ReasonQueueFull) {
			t.Errorf("%v: %s", reason, errorOf(t, w).Message)
		}
		if code := errorOf(t, w).Code; w.Code != want || w.Header().Get("Retry-After") != "3" || code != map[int]string{503: "overloaded", 504: "timeout"}[want] {
			t.Errorf("%v: status %d, code %s, Retry-After %q", reason, w.Code, code, w.Header().Get("Retry-After"))
		}
		if h.searches.cost != 0 {
			t.Error("a search that was refused counts as a fast one")
		}
	}
}

// A request can shorten the time limit, not extend it.
func TestTimeoutParameter(t *testing.T) {
	var left time.Duration
	h := newHandler(Options{Logger: quiet(), Timeout: time.Second}, fakeSearch(func(ctx context.Context, req searchRequest) (*griffin.Results, error) {
		at, _ := ctx.Deadline()
		left = time.Until(at)
		if req.Timeout == time.Millisecond {
			<-ctx.Done()
		}
		return &griffin.Results{}, ctx.Err()
	}))
	for text, want := range map[string]time.Duration{"": time.Second, "500ms": 500 * time.Millisecond, "1s": time.Second} {
		synctest.Test(t, func(t *testing.T) {
			if w := get(t, h, "/search?q=a&timeout="+url.QueryEscape(text)); w.Code != http.StatusOK || left != want {
				t.Errorf("timeout=%s: status %d, %v left", text, w.Code, left)
			}
		})
	}
	for _, text := range []string{"0", "0s", "-1s", "2s", "soon", "5"} {
		if w := get(t, h, "/search?q=a&timeout="+text); w.Code != http.StatusBadRequest {
			t.Errorf("timeout=%s: status %d", text, w.Code)
		}
	}
	w := get(t, h, "/search?q=a&timeout=1ms")
	if e := errorOf(t, w); w.Code != http.StatusGatewayTimeout || e.Code != "timeout" || !strings.Contains(e.Message, "1ms") {
		t.Errorf("status %d, %+v", w.Code, e)
	}
}

func TestMetricsOfDispatcher(t *testing.T) {
	b := fakeBackend()
	b.results = func() (griffin.ResultCacheStats, bool) {
		return griffin.ResultCacheStats{Hits: 30, Waits: 2, Misses: 10, Entries: 9, SizeBytes: 900, LimitBytes: 1000, Evictions: 4, Invalidations: 5}, true
	}
	b.dispatch = func() griffin.DispatchStats {
		pool := &griffin.PoolStats{Stolen: 3, Failed: 1, Cancelled: 2, Open: 6}
		pool.Shed[griffin.ReasonQueueFull], pool.Shed[griffin.ReasonTooLate], pool.Shed[griffin.ReasonExpired] = 7, 8, 9
		p := &pool.Places[sched.GPU]
		p.Servers, p.Running, p.Queued, p.Wait, p.Batches, p.Jobs, p.QueueTime = 2, 1, 5, 3*time.Millisecond, 11, 40, 4*time.Second
		p.Waits[0], p.Waits[2], p.Waits[sched.NumWaits-1] = 30, 9, 1
		return griffin.DispatchStats{
			Policy: "cost", CPUSteps: 100, GPUSteps: 50, Migrations: 12, Restarted: 7, Bugs: 13, Shared: 21, Helpers: 34, Pool: pool,
			Errors: []griffin.PredictionError{{Kind: cost.CPUOr.String(), From: 100 * time.Microsecond, Count: 4, Mean: 0.25, Bias: -0.125, Correction: 1.5}},
		}
	}
	metrics := get(t, newHandler(Options{Logger: quiet()}, b), "/metrics").Body.String()
	kind := `{from="100µs",kind="` + cost.CPUOr.String() + `"}`
	for _, want := range []string{
		`griffin_steps_total{processor="cpu"} 100`, `griffin_steps_total{processor="gpu"} 50`, "griffin_migrations_total 12", "griffin_restarted_total 7", "griffin_shared_total 21", "griffin_helpers_total 34", "griffin_bugs_total 13", `griffin_policy_info{policy="cost"} 1`,
		"griffin_prediction_relative_error_count" + kind + " 4", "griffin_prediction_relative_error_sum" + kind + " 1",
		"griffin_prediction_relative_bias" + kind + " -0.125", "griffin_prediction_correction" + kind + " 1.5",
		`griffin_shed_total{reason="queue_full"} 7`, `griffin_shed_total{reason="too_late"} 8`, `griffin_shed_total{reason="expired"} 9`,
		"griffin_stolen_total 3", "griffin_failed_over_total 1", "griffin_cancelled_total 2", `griffin_queued_queries{processor="any"} 6`,
		`griffin_queued_queries{processor="gpu"} 5`, `griffin_expected_wait_seconds{processor="gpu"} 0.003`, `griffin_batches_total{processor="gpu"} 11`,
		`griffin_queue_seconds_bucket{processor="gpu",le="1e-06"} 30`, `griffin_queue_seconds_bucket{processor="gpu",le="4e-06"} 39`,
		`griffin_queue_seconds_bucket{processor="gpu",le="+Inf"} 40`, `griffin_queue_seconds_sum{processor="gpu"} 4`, `griffin_queue_seconds_count{processor="gpu"} 40`,
		"griffin_result_cache_hits_total 30", "griffin_result_cache_waits_total 2", "griffin_result_cache_misses_total 10", "griffin_result_cache_entries 9",
		"griffin_result_cache_bytes 900", "griffin_result_cache_limit_bytes 1000", "griffin_result_cache_evictions_total 4", "griffin_result_cache_invalidations_total 5",
	} {
		if !strings.Contains(metrics, want+"\n") {
			t.Errorf("metrics lack %s", want)
		}
	}
	if strings.Contains(metrics, `griffin_servers{processor="cpu"}`) {
		t.Error("there are metrics of a processor without servers")
	}
}

func TestMetricsForSoak(t *testing.T) {
	b := fakeBackend()
	b.dispatch = func() griffin.DispatchStats { return griffin.DispatchStats{Bugs: 3} }
	srv := httptest.NewServer(newHandler(Options{Logger: quiet()}, b))
	defer srv.Close()
	h, err := load.NewHTTP(srv.URL, []string{"a"}, url.Values{"k": {strconv.Itoa(3)}}, 4)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if o, err := h.Do(t.Context(), 0); o != load.Answered {
		t.Fatalf("%v, %v", o, err)
	}
	if r, err := h.Read(t.Context()); err != nil || r.Goroutines < 2 || r.HeapBytes == 0 || r.HostBytes == 0 || r.Errors != 3 {
		t.Errorf("%+v, %v", r, err)
	}
}
