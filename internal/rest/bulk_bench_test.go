package rest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strconv"
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

// BenchmarkBulkServer is BenchmarkBulk for passages that are written again under new ids, so that segments are merged, with
// the GOMAXPROCS that "griffin serve" has.
func BenchmarkBulkServer(b *testing.B) {
	const numPassages, times, perRequest = 150_000, 3, 1300
	passages := bulkPassages(b, numPassages)
	processors := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(processors)
	for b.Loop() {
		runtime.GOMAXPROCS(processors) // as the writer counts them
		n := newNode(b)
		runtime.GOMAXPROCS(2*processors + 12)
		sendBulk(b, n, "1s", (numPassages*times+perRequest-1)/perRequest, func(request int, body []byte) []byte {
			for i := request * perRequest; i < min((request+1)*perRequest, numPassages*times); i++ {
				body = appendWrite(body, strconv.Itoa(i), passages[i%numPassages].source)
			}
			return body
		})
	}
}

func benchmarkBulk(b *testing.B, interval string) {
	const numDocs, perRequest = 50_000, 1000
	passages := bulkPassages(b, numDocs)
	var bodies [][]byte
	for chunk := range slices.Chunk(passages, perRequest) {
		var body []byte
		for _, p := range chunk {
			body = appendWrite(body, p.id, p.source)
		}
		bodies = append(bodies, body)
	}
	for b.Loop() {
		sendBulk(b, newNode(b), interval, len(bodies), func(i int, _ []byte) []byte { return bodies[i] })
	}
}

type bulkPassage struct {
	id     string
	source []byte
}

func bulkPassages(b *testing.B, n int) (passages []bulkPassage) {
	for _, line := range plantest.WikiSlice(b, n) {
		var d struct {
			ID    string `json:"id,omitempty"`
			Title string `json:"title"`
			Text  string `json:"text"`
		}
		if err := json.Unmarshal([]byte(line), &d); err != nil {
			b.Fatal(err)
		}
		p := bulkPassage{id: d.ID}
		d.ID = ""
		var err error
		if p.source, err = json.Marshal(d); err != nil {
			b.Fatal(err)
		}
		passages = append(passages, p)
	}
	return passages
}

func appendWrite(body []byte, id string, source []byte) []byte {
	body = fmt.Appendf(body, "{\"index\":{\"_id\":%q}}\n", id)
	return append(append(body, source...), '\n')
}

// sendBulk sends requests, for each of which body returns the body, in the memory of a former one if it likes.
func sendBulk(b *testing.B, n *node, interval string, numRequests int, body func(i int, former []byte) []byte) {
	n.must(http.StatusOK, "PUT /wiki", fmt.Sprintf(`{"settings":{"refresh_interval":%q},"mappings":{"properties":{"title":{"type":"text"},"text":{"type":"text"}}}}`, interval))
	server := httptest.NewServer(n.h)
	defer server.Close()
	began, cpu := time.Now(), processorTime(b)
	var next, size atomic.Int64
	var clients sync.WaitGroup
	for range 4 {
		clients.Go(func() {
			var data []byte
			for {
				i := int(next.Add(1)) - 1
				if i >= numRequests {
					return
				}
				data = body(i, data[:0])
				size.Add(int64(len(data)))
				r, err := http.Post(server.URL+"/wiki/_bulk", "application/x-ndjson", bytes.NewReader(data))
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
	mb := float64(size.Load()) / 1e6
	b.ReportMetric(mb/time.Since(began).Seconds(), "MB/s")
	n.close()
	b.ReportMetric((processorTime(b)-cpu).Seconds()*1000/mb, "cpu-ms/MB")
}

// processorTime is what this process has used on all processors.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
