package rest

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/mapping"
)

// docs is a bulk body that is made while it is read.
type docs struct {
	n, made int
	pad     string
	rest    []byte
	peak    uint64 // of the live heap
}

func (d *docs) Read(p []byte) (int, error) {
	for len(d.rest) == 0 {
		if d.made == d.n {
			return 0, io.EOF
		}
		if d.made++; d.made%1000 == 0 {
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			d.peak = max(d.peak, m.HeapAlloc)
		}
		d.rest = fmt.Appendf(nil, "{\"index\":{\"_id\":\"%d\"}}\n{\"n\":%d,\"t\":\"word%d\",\"pad\":%q}\n", d.made, d.made, d.made, d.pad)
	}
	n := copy(p, d.rest)
	d.rest = d.rest[n:]
	return n, nil
}

// TestBulkStream sends documents of 40 MB in one request; the memory that it needs does not depend on
// its length.
func TestBulkStream(t *testing.T) {
	n := newNode(t)
	const numDocs = 10_000
	pad := "\x00" + strings.Repeat("-", 4000) // not a word
	body := &docs{n: numDocs, pad: pad[1:]}
	var before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	r := httptest.NewRequest(http.MethodPost, "/a/_bulk?refresh=true", body)
	r.Header.Set("Content-Type", "application/x-ndjson")
	w := httptest.NewRecorder()
	n.d.options.WriterMemory = 16 << 20
	n.h.ServeHTTP(w, r)
	if w.Code != 200 || !bytes.Contains(w.Body.Bytes()[:100], []byte(`"errors":false`)) {
		t.Fatalf("status %d: %.300s", w.Code, w.Body)
	}
	if got := at(n.must(200, "GET /a/_count", ""), "count"); got != float64(numDocs) {
		t.Errorf("count %v, want %d", got, numDocs)
	}
	if got := ids(n.must(200, "GET /a/_search?q=word7777", "")); got != "7777" {
		t.Errorf("found %q", got)
	}
	if grown := int64(body.peak) - int64(before.HeapAlloc); grown > 96<<20 {
		t.Errorf("the live heap grew by %d MB", grown>>20)
	}
}

func TestBulkGzip(t *testing.T) {
	n := newNode(t)
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := io.Copy(z, &docs{n: 500}); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodPost, "/a/_bulk?refresh=wait_for", &packed)
	r.Header.Set("Content-Type", "application/x-ndjson")
	r.Header.Set("Content-Encoding", "gzip")
	w := httptest.NewRecorder()
	n.h.ServeHTTP(w, r)
	if w.Code != 200 {
		t.Fatalf("status %d: %.300s", w.Code, w.Body)
	}
	if got := at(n.must(200, "GET /a/_count", ""), "count"); got != 500.0 {
		t.Errorf("count %v, want 500", got)
	}
}

// TestBrokenBulk: operations before a bad line have taken effect, and the answer has their number.
func TestBrokenBulk(t *testing.T) {
	n := newNode(t)
	var body bytes.Buffer
	if _, err := io.Copy(&body, &docs{n: batchItems + 10}); err != nil {
		t.Fatal(err)
	}
	body.WriteString("{\"nonsense\"\n")
	answer := n.must(400, "POST /a/_bulk", body.String())
	if reason, _ := at(answer, "error.reason").(string); !strings.HasSuffix(reason, fmt.Sprintf("the first %d operations have taken effect", batchItems)) {
		t.Errorf("reason %q", reason)
	}
	n.must(200, "POST /a/_refresh", "")
	if got := at(n.must(200, "GET /a/_count", ""), "count"); got != float64(batchItems) {
		t.Errorf("count %v, want %d", got, batchItems)
	}
}

// TestBrokenBulkUpdate: an update takes effect at once, with all before it.
func TestBrokenBulkUpdate(t *testing.T) {
	const (
		put     = `{"index":{"_id":"1"}}` + "\n" + `{"t":"one"}` + "\n"
		update  = `{"update":{"_id":"1"}}` + "\n" + `{"doc":{"t":"two"}}` + "\n"
		missing = `{"update":{"_id":"9"}}` + "\n" + `{"doc":{"t":"two"}}` + "\n"
		bad     = "{\"nonsense\"\n"
	)
	for _, test := range []struct {
		body    string
		effect  int     // operations that the answer says have taken effect
		version float64 // of the document afterwards
	}{
		{update + bad, 1, 2},
		{update + put + bad, 1, 2},
		{put + update + put + bad, 2, 3},
		{update + `{"update":{"_id":"1"}}` + "\n", 1, 2},
		{put + missing + bad, 1, 2},
		{put + bad, 0, 1},
		{missing + bad, 0, 1},
	} {
		n := newNode(t)
		n.must(201, "PUT /a/_doc/1", `{"t":"zero"}`)
		answer := n.must(400, "POST /a/_bulk", test.body)
		reason, _ := at(answer, "error.reason").(string)
		_, effect, _ := strings.Cut(reason, "; ")
		want := "none of the operations has taken effect"
		if test.effect > 0 {
			want = fmt.Sprintf("the first %d operations have taken effect", test.effect)
		}
		if effect != want {
			t.Errorf("%s\nreason %q, want the end %q", test.body, reason, want)
		}
		if got := at(n.must(200, "GET /a/_doc/1", ""), "_version"); got != test.version {
			t.Errorf("%s\nversion %v, want %v", test.body, got, test.version)
		}
	}
}

// TestConcurrency writes, searches, updates and deletes an index at the same time.
func TestConcurrency(t *testing.T) {
	n := newNode(t)
	n.must(200, "PUT /a", `{"settings":{"refresh_interval":"10ms"}}`)
	n.must(201, "PUT /a/_doc/counter", `{"n":"0"}`)
	var writers, others sync.WaitGroup
	var updated atomic.Int64
	const each = 40
	for i := range 4 {
		writers.Go(func() {
			for j := range each {
				if w := n.do(fmt.Sprintf("PUT /a/_doc/%d-%d?refresh=%t", i, j, j%8 == 0), fmt.Sprintf(`{"t":"word%d"}`, j)); w.Code != 201 {
					t.Errorf("put: %s", w.Body)
				}
				if w := n.do("POST /a/_update/counter?retry_on_conflict=50", fmt.Sprintf(`{"doc":{"n":"%d-%d"}}`, i, j)); w.Code == 200 {
					updated.Add(1)
				} else if w.Code != 409 {
					t.Errorf("update: %s", w.Body)
				}
				if w := n.do("POST /_bulk", fmt.Sprintf(`{"index":{"_index":"b%d"}}`+"\n{}\n", j%3)); w.Code != 200 || bytes.Contains(w.Body.Bytes(), []byte(`"status":5`)) {
					t.Errorf("bulk: %s", w.Body)
				}
			}
		})
	}
	ctx, stop := context.WithCancel(t.Context())
	for _, target := range []string{"GET /a/_search?q=word3", "GET /a/_count", "GET /_cat/indices", "POST /a/_flush", "DELETE /b1", "GET /b1/_search", "POST /a/_forcemerge", "GET /a/_doc/counter"} {
		others.Go(func() {
			for ctx.Err() == nil {
				if w := n.do(target, ""); w.Code >= 500 || w.Code == 400 {
					t.Errorf("%s: %s", target, w.Body)
				}
			}
		})
	}
	writers.Wait()
	stop()
	others.Wait()
	n.must(200, "POST /a/_refresh", "")
	if got := at(n.must(200, "GET /a/_count", ""), "count"); got != float64(4*each+1) {
		t.Errorf("count %v, want %d", got, 4*each+1)
	}
	if got := at(n.must(200, "GET /a/_doc/counter", ""), "_version"); got != float64(updated.Load()+1) {
		t.Errorf("version %v after %d updates", got, updated.Load())
	}
}

// TestRestart: a closed directory has everything when it is opened again.
func TestRestart(t *testing.T) {
	dir := t.TempDir()
	n := openNode(t, dir, Options{})
	n.must(200, "PUT /a", `{"settings":{"refresh_interval":"-1","number_of_replicas":1,"index.translog.durability":"async"},"mappings":{"properties":{"o":{"properties":{"t":{"type":"text","analyzer":"whitespace"}}}}}}`)
	n.must(201, "PUT /a/_doc/1", `{"o":{"t":"Word"}}`)
	n.must(201, "PUT /b/_doc/1", `{}`)
	n.must(200, "DELETE /b", "")
	was := n.must(200, "GET /a", "")
	n.close()
	n.must(503, "PUT /a/_doc/2", "{}")
	n.must(503, "PUT /c", "")
	n = openNode(t, dir, Options{})
	if now := n.must(200, "GET /a", ""); fmt.Sprint(now) != fmt.Sprint(was) {
		t.Errorf("index a is %v, was %v", now, was)
	}
	n.must(404, "GET /b", "")
	if got := ids(n.must(200, "POST /a/_search", `{"query":{"match":{"o.t":"Word"}}}`)); got != "1" {
		t.Errorf("found %q", got)
	}
	if got := at(n.must(200, "GET /_cluster/health", ""), "status"); got != "yellow" {
		t.Errorf("health %v, want yellow", got)
	}
}

// FuzzBulkReader: any bytes are operations or an error, in a bounded number of steps, and do not
// depend on how they are cut into reads.
func FuzzBulkReader(f *testing.F) {
	f.Add([]byte("{\"index\":{\"_id\":\"1\"}}\n{\"t\":\"x\"}\n{\"delete\":{\"_id\":2}}\r\n\n{\"create\":{}}\n{}"))
	f.Add([]byte("{\"update\":{\"_index\":\"a\",\"if_seq_no\":1,\"if_primary_term\":1}}\n{\"doc\":{\"a\":[1,null,\"\\u00e9\"]}}"))
	f.Add([]byte("{\"index\":[]}\n"))
	x := &Index{}
	fields, apiErr := declare(mapping.Texts([]string{"t"}))
	if apiErr != nil {
		f.Fatal(apiErr)
	}
	x.now.Store(&meta{fields: fields})
	f.Fuzz(func(t *testing.T, body []byte) {
		const limit = 1 << 10
		read := func(r io.Reader) (out []string, last error) {
			b := newBulkReader(r, limit)
			for {
				item, err := b.next()
				if err != nil {
					return out, err
				}
				out = append(out, fmt.Sprintf("%s %s %q", item.op, item.Index, item.source))
				if item.source == nil || checkSource("1", item.source) != nil {
					continue
				}
				var w griffin.Write
				docErr := x.document(&w, "1", string(item.source))
				doc := &w.Document
				if docErr == nil && string(sourceOf("", "", doc.Fields)) != string(item.source) {
					t.Errorf("the source %q came back as %q", item.source, doc.Fields)
				}
				if u, err := parseUpdate(item.source); err == nil {
					if merged, _ := mergeObjects(string(item.source), u.doc); checkSource("1", []byte(merged)) != nil {
						t.Errorf("%q and %q give %q", item.source, u.doc, merged)
					}
				}
			}
		}
		whole, wholeErr := read(bytes.NewReader(body))
		cut, cutErr := read(iotest.OneByteReader(bytes.NewReader(body)))
		if fmt.Sprint(whole) != fmt.Sprint(cut) || fmt.Sprint(wholeErr) != fmt.Sprint(cutErr) {
			t.Errorf("whole: %q, %v; cut: %q, %v", whole, wholeErr, cut, cutErr)
		}
		if len(whole) > len(body) || !errors.Is(wholeErr, io.EOF) && !errors.Is(wholeErr, errBadBulk) && !errors.Is(wholeErr, errLongLine) {
			t.Errorf("%d operations, %v", len(whole), wholeErr)
		}
	})
}

// A large request goes on with small batches while clients that stall have all large ones. The stalled requests go on, too.
func TestBulkLargeBatches(t *testing.T) {
	n := newNode(t)
	operation := `{"index":{}}` + "\n" + `{"x":"` + strings.Repeat("y", 1000) + `"}` + "\n"
	const size = 2 * smallBatchBytes / 1000
	large := strings.Repeat(operation, size)
	var stalled sync.WaitGroup
	var ends []*io.PipeWriter
	for range maxLargeBatches {
		body, end := io.Pipe()
		ends = append(ends, end)
		stalled.Go(func() {
			defer body.Close() // ends a write
			w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/a/_bulk", body)
			r.Header.Set("Content-Type", "application/x-ndjson")
			n.h.ServeHTTP(w, r)
			if w.Code != 200 {
				t.Errorf("a slow client: status %d: %s", w.Code, w.Body)
			}
		})
		if _, err := io.WriteString(end, large); err != nil {
			t.Fatal(err)
		}
	}
	for began := time.Now(); len(n.h.batches) < maxLargeBatches; time.Sleep(time.Millisecond) {
		if time.Since(began) > 3*time.Minute {
			t.Fatalf("%d large batches", len(n.h.batches))
		}
	}
	n.must(200, "POST /a/_bulk?refresh=true", large)
	if len(n.h.batches) != maxLargeBatches {
		t.Errorf("%d large batches of %d clients that stall", len(n.h.batches), maxLargeBatches)
	}
	if w := n.do("GET /a/_count", ""); !strings.Contains(w.Body.String(), fmt.Sprintf(`"count":%d}`, size)) {
		t.Errorf("%s", w.Body)
	}
	for _, end := range ends {
		if err := end.Close(); err != nil {
			t.Error(err)
		}
	}
	stalled.Wait()
	n.must(200, "POST /a/_refresh", "")
	if w := n.do("GET /a/_count", ""); !strings.Contains(w.Body.String(), fmt.Sprintf(`"count":%d}`, size*(1+maxLargeBatches))) || len(n.h.batches) != 0 {
		t.Errorf("%d large batches, %s", len(n.h.batches), w.Body)
	}
}
