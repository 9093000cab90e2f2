package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/griffin-search/griffin/internal/latency"
)

type batchFunc func(ctx context.Context, first, n int) (Outcome, int, error)

func (f batchFunc) Do(context.Context, int) (Outcome, error) {
	return Failed, errors.New("a query was sent by itself")
}

func (f batchFunc) DoBatch(ctx context.Context, first, n int) (Outcome, int, error) {
	return f(ctx, first, n)
}

// A batch is one arrival: with a tenth of the arrivals, batches of ten have the latencies of single queries, and the
// counts are of queries.
func TestBatchesQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const service, batch = time.Millisecond, 10
		single := Options{Queries: 3, Rate: 800, Seed: 7, Arrivals: Poisson, Warmup: time.Second, Duration: 20 * time.Second, Sleep: time.Sleep}
		o := single
		o.Rate, o.Batch = batch*single.Rate, batch
		one := station(service)
		var mu sync.Mutex
		next := 0
		p, err := Run(t.Context(), batchFunc(func(ctx context.Context, first, n int) (Outcome, int, error) {
			mu.Lock()
			if n != batch || first != next%o.Queries {
				t.Errorf("a batch of %d from %d on, want %d from %d on", n, first, batch, next%o.Queries)
			}
			next += n
			tenth := next%(10*batch) == 0
			mu.Unlock()
			outcome, err := one.Do(ctx, first)
			if tenth {
				return outcome, 3, errors.New("three failed")
			}
			return outcome, 0, err
		}), o)
		if err != nil {
			t.Fatal(err)
		}
		want := latency.Summarize(lindley(single, service))
		if p.Latency.Count != want.Count || p.Latency.Mean != want.Mean || p.Latency.Max != want.Max {
			t.Errorf("latencies %+v, want %+v", p.Latency, want)
		}
		if p.Sent != int64(batch*want.Count) || p.Answered+p.Failed != p.Sent || p.Good != p.Answered {
			t.Errorf("sent %d, answered %d, failed %d, good %d of %d batches", p.Sent, p.Answered, p.Failed, p.Good, want.Count)
		}
		if tenth := int64(want.Count) / 10; p.Failed < 3*(tenth-1) || p.Failed > 3*(tenth+1) || len(p.Faults) != 1 {
			t.Errorf("%d failed in %d batches: %q", p.Failed, want.Count, p.Faults)
		}
		if p.ArrivalRate < 0.97*o.Rate || p.ArrivalRate > 1.03*o.Rate {
			t.Errorf("%.1f queries arrived a second, want %.0f", p.ArrivalRate, o.Rate)
		}
		if _, err := Run(t.Context(), one, o); err == nil {
			t.Error("a target that takes no batches is asked for them")
		}
	})
}

// At most MaxOutstanding queries wait, or one batch.
func TestBatchesOutstanding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for most, want := range map[int]int64{25: 20, 5: 10, 10: 10} {
			var mu sync.Mutex
			var waiting, seen int64
			slow := batchFunc(func(_ context.Context, _, n int) (Outcome, int, error) {
				mu.Lock()
				waiting += int64(n)
				seen = max(seen, waiting)
				mu.Unlock()
				time.Sleep(time.Second)
				mu.Lock()
				waiting -= int64(n)
				mu.Unlock()
				return Answered, 0, nil
			})
			p, err := Run(t.Context(), slow, Options{Queries: 7, Batch: 10, Rate: 1000, Arrivals: Constant, Duration: 2 * time.Second, MaxOutstanding: most, Sleep: time.Sleep})
			if err != nil || seen != want || p.Unsent == 0 || p.Answered+p.Unsent != p.Sent {
				t.Errorf("at most %d: %d waited, want %d: %+v, %v", most, seen, want, p, err)
			}
		}
	})
}

func TestSingly(t *testing.T) {
	one := Singly(batchFunc(func(_ context.Context, first, n int) (Outcome, int, error) {
		if n != 1 {
			t.Errorf("a batch of %d", n)
		}
		return Answered, first, errors.New("it failed")
	}))
	for query, want := range []Outcome{Answered, Failed} {
		if got, _ := one.Do(t.Context(), query); got != want {
			t.Errorf("query %d: %v, want %v", query, got, want)
		}
	}
}

func TestHTTPBatches(t *testing.T) {
	answers := map[string]func(w http.ResponseWriter, searches []string){
		"good": func(w http.ResponseWriter, searches []string) {
			fmt.Fprintf(w, `{"took":1,"responses":[%s]}`, strings.TrimSuffix(strings.Repeat(`{"took":1,"status":200},`, len(searches)), ","))
		},
		"one fails": func(w http.ResponseWriter, searches []string) {
			fmt.Fprintf(w, `{"responses":[{"error":{"type":"x","reason":"it broke"},"status":400}%s]}`, strings.Repeat(`,{"took":1,"status":200}`, len(searches)-1))
		},
		"too few":   func(w http.ResponseWriter, _ []string) { fmt.Fprint(w, `{"responses":[]}`) },
		"no answer": func(w http.ResponseWriter, _ []string) { fmt.Fprint(w, `<html>`) },
		"busy": func(w http.ResponseWriter, _ []string) {
			w.WriteHeader(http.StatusTooManyRequests)
			fmt.Fprint(w, `{"error":{"reason":"wait"},"status":429}`)
		},
	}
	var now, indexes string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && r.URL.Path == "/at/_cat/indices" {
			if indexes == "" {
				http.NotFound(w, r)
			}
			fmt.Fprint(w, indexes)
			return
		}
		if r.Method != http.MethodPost || r.URL.EscapedPath() != "/at/my%20index/_msearch" || r.Header.Get("Content-Type") != "application/x-ndjson" {
			t.Errorf("%s %s as %s", r.Method, r.URL, r.Header.Get("Content-Type"))
		}
		text, _ := io.ReadAll(r.Body)
		lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
		var searches []string
		for i, line := range lines {
			if i%2 == 0 && line != "{}" || !json.Valid([]byte(line)) {
				t.Errorf("line %d: %s", i+1, line)
			}
			if i%2 == 1 {
				searches = append(searches, line)
			}
		}
		if got := strings.Join(searches, " "); got != `{"q":1} {"q":2} {"q":0}` {
			t.Errorf("searches %s", got)
		}
		answers[now](w, searches)
	}))
	defer server.Close()
	connect := func(index string) *HTTP {
		h, err := NewHTTP(server.URL+"/at", []string{"a", "b", "c"}, nil, 1)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(h.Close)
		h.UseBatches(index, [][]byte{[]byte(`{"q":0}`), []byte(`{"q":1}`), []byte(`{"q":2}`)})
		return h
	}
	for _, c := range []struct {
		answer  string
		want    Outcome
		failed  int
		message string
	}{
		{"good", Answered, 0, ""},
		{"one fails", Answered, 1, "status 400: it broke"},
		{"too few", Failed, 0, "a batch of 3 queries has 0 answers"},
		{"no answer", Failed, 0, "cannot be read"},
		{"busy", Limited, 0, "status 429: wait"},
	} {
		now = c.answer
		o, failed, err := connect("my index").DoBatch(t.Context(), 1, 3)
		if o != c.want || failed != c.failed || (err == nil) != (c.message == "") || err != nil && !strings.Contains(err.Error(), c.message) {
			t.Errorf("%s: %v, %d failed, %v", c.answer, o, failed, err)
		}
		var refusal *Refusal
		if c.failed > 0 && (!errors.As(err, &refusal) || !refusal.OfQuery) {
			t.Errorf("%s: %#v is no fault of a query", c.answer, err)
		}
	}
	now = "good"
	for list, message := range map[string]string{`[{"index":"my index"}]`: "", "": "one index, not a folder", `[]`: "has 0 indexes", `[{"index":"a"},{"index":"b"}]`: "has 2 indexes: name one"} {
		indexes = list
		o, _, err := connect("").DoBatch(t.Context(), 1, 3)
		if (o == Answered) != (message == "") || err != nil && !strings.Contains(err.Error(), message) {
			t.Errorf("indexes %s: %v, %v", list, o, err)
		}
		var refusal *Refusal
		if err != nil && (!errors.As(err, &refusal) || refusal.OfQuery) {
			t.Errorf("indexes %s: %#v is not the server's fault", list, err)
		}
	}
}
