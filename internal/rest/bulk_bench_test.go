package rest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/plan/plantest"
)

// BenchmarkBulk sends wiki passages with 4 clients over HTTP, each request of 1,000 synced before it is
// answered, until all is visible. It reports MB of JSON a second, and the processor time for a MB,
// clients and merges included. Without refreshes at intervals, the work does not depend on the speed of
// the machine.
func BenchmarkBulk(b *testing.B) {
	for _, interval := range []string{"-1", "1s"} {
		b.Run("refresh="+interval, func(b *testing.B) { benchmarkBulk(b, interval) })
	}
}

func benchmarkBulk(b *testing.B, interval string) {
	const numDocs, perRequest = 50_000, 1000
	var bodies [][]byte
	size := 0
	var body []byte
	for i, line := range plantest.WikiSlice(b, numDocs) {
		var d struct {
			ID    string `json:"id,omitempty"`
			Title string `json:"title"`
			Text  string `json:"text"`
		}
		if err := json.Unmarshal([]byte(line), &d); err != nil {
			b.Fatal(err)
		}
		body = fmt.Appendf(body, "{\"index\":{\"_id\":%q}}\n", d.ID)
		d.ID = ""
		source, err := json.Marshal(d)
		if err != nil {
			b.Fatal(err)
		}
		body = append(append(body, source...), '\n')
		if (i+1)%perRequest == 0 {
			bodies, size, body = append(bodies, body), size+len(body), nil
		}
	}
	for b.Loop() {
		n := newNode(b)
		n.must(http.StatusOK, "PUT /wiki", fmt.Sprintf(`{"settings":{"refresh_interval":%q},"mappings":{"properties":{"title":{"type":"text"},"text":{"type":"text"}}}}`, interval))
		server := httptest.NewServer(n.h)
		began, cpu := time.Now(), processorTime(b)
		var next atomic.Int64
		var clients sync.WaitGroup
		for range 4 {
			clients.Go(func() {
				for {
					i := int(next.Add(1)) - 1
					if i >= len(bodies) {
						return
					}
					r, err := http.Post(server.URL+"/wiki/_bulk", "application/x-ndjson", bytes.NewReader(bodies[i]))
					if err != nil {
						b.Error(err)
						return
					}
					answer, err := io.ReadAll(r.Body)
					if err != nil || r.StatusCode != http.StatusOK || !bytes.Contains(answer[:64], []byte(`"errors":false`)) {
						b.Errorf("status %d, %v: %.200s", r.StatusCode, err, answer)
					}
					_ = r.Body.Close()
				}
			})
		}
		clients.Wait()
		n.must(http.StatusOK, "POST /wiki/_refresh", "")
		mb := float64(size) / 1e6
		b.ReportMetric(mb/time.Since(began).Seconds(), "MB/s")
		n.close()
		b.ReportMetric((processorTime(b)-cpu).Seconds()*1000/mb, "cpu-ms/MB")
		server.Close()
	}
}

// processorTime is what this process has used on all processors.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
