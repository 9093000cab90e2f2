package clients

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/opensearch-project/opensearch-go/v4"
	"github.com/opensearch-project/opensearch-go/v4/opensearchapi"
	"github.com/opensearch-project/opensearch-go/v4/opensearchutil"
)

// serve builds griffin, serves an empty folder of indexes, and returns a client. The server must end
// cleanly.
func serve(t *testing.T) *opensearchapi.Client {
	t.Helper()
	program := filepath.Join(t.TempDir(), "griffin")
	build := exec.Command("go", "build", "-tags", "nolab", "-o", program, "./cmd/griffin")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	server := exec.Command(program, "serve", t.TempDir(), "--repository", "nightly="+filepath.Join(t.TempDir(), "store"), "--addr", "127.0.0.1:0", "--device", "cpu")
	out, err := server.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	server.Stdout = server.Stderr
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	address := make(chan string, 1)
	var ended bytes.Buffer
	done := make(chan struct{})
	go func() {
		defer close(done)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			fmt.Fprintln(&ended, lines.Text())
			if found := regexp.MustCompile(`http://[0-9.:]+`).FindString(lines.Text()); found != "" && len(address) == 0 {
				address <- found
			}
		}
		close(address)
	}()
	t.Cleanup(func() {
		_ = server.Process.Signal(syscall.SIGTERM)
		<-done
		if err := server.Wait(); err != nil {
			t.Errorf("the server ended with %v:\n%s", err, &ended)
		}
	})
	url, ok := <-address
	if !ok {
		t.Fatalf("the server did not start:\n%s", &ended)
	}
	client, err := opensearchapi.NewClient(opensearchapi.Config{Client: opensearch.Config{Addresses: []string{url}}})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// status is the HTTP status and the type of an error of the API.
func status(err error) string {
	var s *opensearch.StructError
	if errors.As(err, &s) {
		return fmt.Sprintf("%d %s", s.Status, s.Err.Type)
	}
	var text *opensearch.StringError
	if errors.As(err, &text) {
		return fmt.Sprintf("%d %s", text.Status, text.Err)
	}
	return fmt.Sprint(err)
}

func body(text string) io.Reader { return strings.NewReader(text) }

// found returns the ids of a search's hits, and the total.
func found(t *testing.T, c *opensearchapi.Client, index, query string) string {
	t.Helper()
	r, err := c.Search(t.Context(), &opensearchapi.SearchReq{Indices: []string{index}, Body: body(query)})
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	text := fmt.Sprintf("%d %s:", r.Hits.Total.Value, r.Hits.Total.Relation)
	for _, h := range r.Hits.Hits {
		text += " " + h.ID
	}
	return text
}

func TestOpenSearchGo(t *testing.T) {
	c := serve(t)
	t.Run("cluster", func(t *testing.T) { cluster(t, c) })
	t.Run("documents", func(t *testing.T) { documents(t, c) })
	t.Run("conditions", func(t *testing.T) { conditions(t, c) })
	t.Run("bulk", func(t *testing.T) { bulk(t, c) })
	t.Run("indexer", func(t *testing.T) { indexer(t, c) })
	t.Run("snapshots", func(t *testing.T) { snapshots(t, c) })
	t.Run("errors", func(t *testing.T) { mistakes(t, c) })
}

func cluster(t *testing.T, c *opensearchapi.Client) {
	info, err := c.Info(t.Context(), nil)
	if err != nil || info.Version.Distribution != "opensearch" {
		t.Errorf("%+v, %v", info, err)
	}
	if r, err := c.Ping(t.Context(), nil); err != nil || r.StatusCode != http.StatusOK {
		t.Errorf("ping: %v, %v", r, err)
	}
	if h, err := c.Cluster.Health(t.Context(), nil); err != nil || h.Status != "green" {
		t.Errorf("health: %+v, %v", h, err)
	}
}

func documents(t *testing.T, c *opensearchapi.Client) {
	ctx := t.Context()
	create := opensearchapi.IndicesCreateReq{Index: "books", Body: body(`{"settings": {"index": {"number_of_shards": 1, "number_of_replicas": 0}},
		"mappings": {"properties": {"title": {"type": "text"}, "author": {"type": "text"}}}}`)}
	if r, err := c.Indices.Create(ctx, create); err != nil || !r.Acknowledged || r.Index != "books" {
		t.Fatalf("create: %+v, %v", r, err)
	}
	if r, err := c.Indices.Exists(ctx, opensearchapi.IndicesExistsReq{Indices: []string{"books"}}); err != nil || r.StatusCode != http.StatusOK {
		t.Errorf("exists: %v, %v", r, err)
	}
	r, err := c.Index(ctx, opensearchapi.IndexReq{
		Index: "books", DocumentID: "1", Body: body(`{"title": "Moby Dick", "author": "Herman Melville", "year": 1851}`),
		Params: opensearchapi.IndexParams{Refresh: "true"},
	})
	if err != nil || r.Result != "created" || r.Version != 1 || r.SeqNo != 0 {
		t.Fatalf("index: %+v, %v", r, err)
	}
	if r, err := c.Index(ctx, opensearchapi.IndexReq{Index: "books", Body: body(`{"title": "Typee"}`)}); err != nil || r.ID == "" || r.Result != "created" {
		t.Errorf("index without an id: %+v, %v", r, err)
	}
	u, err := c.Update(ctx, opensearchapi.UpdateReq{
		Index: "books", DocumentID: "1", Body: body(`{"doc": {"title": "Moby-Dick; or, The Whale"}}`),
		Params: opensearchapi.UpdateParams{Refresh: "wait_for"},
	})
	if err != nil || u.Result != "updated" || u.Version != 2 {
		t.Errorf("update: %+v, %v", u, err)
	}
	g, err := c.Document.Get(ctx, opensearchapi.DocumentGetReq{Index: "books", DocumentID: "1"})
	var source struct {
		Title, Author string
		Year          int
	}
	if err != nil || !g.Found || json.Unmarshal(g.Source, &source) != nil || source.Title != "Moby-Dick; or, The Whale" || source.Author != "Herman Melville" || source.Year != 1851 {
		t.Errorf("get: %+v, source %+v, %v", g, source, err)
	}
	for query, want := range map[string]string{
		`{"query": {"match": {"title": "whale"}}}`:                        "1 eq: 1",
		`{"query": {"match": {"title": "melville"}}}`:                     "0 eq:",
		`{"query": {"match_phrase": {"author": "herman melville"}}}`:      "1 eq: 1",
		`{"query": {"query_string": {"query": "author:melville whale"}}}`: "1 eq: 1",
		`{"query": {"match_all": {}}, "from": 1, "size": 0}`:              "2 eq:",
		`{"query": {"match": {"title": {"query": "typee", "boost": 2}}}}`: "1 eq: " + idOf(t, c, "books", "typee"),
	} {
		if got := found(t, c, "books", query); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	d, err := c.Document.Delete(ctx, opensearchapi.DocumentDeleteReq{Index: "books", DocumentID: "1", Params: opensearchapi.DocumentDeleteParams{Refresh: "true"}})
	if err != nil || d.Result != "deleted" || d.Version != 3 {
		t.Errorf("delete: %+v, %v", d, err)
	}
	if got := found(t, c, "books", `{"query": {"match": {"title": "whale"}}}`); got != "0 eq:" {
		t.Errorf("after the deletion: %s", got)
	}
	if r, err := c.Document.Exists(ctx, opensearchapi.DocumentExistsReq{Index: "books", DocumentID: "1"}); r == nil || r.StatusCode != http.StatusNotFound {
		t.Errorf("exists: %v, %v", r, err)
	}
	if r, err := c.Indices.Delete(ctx, opensearchapi.IndicesDeleteReq{Indices: []string{"books"}}); err != nil || !r.Acknowledged {
		t.Errorf("delete: %+v, %v", r, err)
	}
}

func idOf(t *testing.T, c *opensearchapi.Client, index, word string) string {
	t.Helper()
	r, err := c.Search(t.Context(), &opensearchapi.SearchReq{Indices: []string{index}, Body: body(fmt.Sprintf(`{"query": {"query_string": {"query": %q}}}`, word))})
	if err != nil || len(r.Hits.Hits) != 1 {
		t.Fatalf("%s: %+v, %v", word, r, err)
	}
	return r.Hits.Hits[0].ID
}

func conditions(t *testing.T, c *opensearchapi.Client) {
	ctx := t.Context()
	first, err := c.Index(ctx, opensearchapi.IndexReq{Index: "counted", DocumentID: "a", Body: body(`{"n": "one"}`)})
	if err != nil {
		t.Fatal(err)
	}
	term := first.PrimaryTerm
	put := func(p opensearchapi.IndexParams) (*opensearchapi.IndexResp, error) {
		return c.Index(ctx, opensearchapi.IndexReq{Index: "counted", DocumentID: "a", Body: body(`{"n": "two"}`), Params: p})
	}
	if r, err := put(opensearchapi.IndexParams{IfSeqNo: &first.SeqNo, IfPrimaryTerm: &term}); err != nil || r.Version != 2 {
		t.Errorf("if_seq_no: %+v, %v", r, err)
	}
	if _, err := put(opensearchapi.IndexParams{IfSeqNo: &first.SeqNo, IfPrimaryTerm: &term}); status(err) != "409 version_conflict_engine_exception" {
		t.Errorf("old if_seq_no: %v", err)
	}
	if _, err := c.Document.Create(ctx, opensearchapi.DocumentCreateReq{Index: "counted", DocumentID: "a", Body: body(`{}`)}); status(err) != "409 version_conflict_engine_exception" {
		t.Errorf("create of what exists: %v", err)
	}
	version := 10
	if r, err := put(opensearchapi.IndexParams{Version: &version, VersionType: "external"}); err != nil || r.Version != 10 {
		t.Errorf("external version: %+v, %v", r, err)
	}
	if _, err := put(opensearchapi.IndexParams{Version: &version, VersionType: "external"}); status(err) != "409 version_conflict_engine_exception" {
		t.Errorf("external version again: %v", err)
	}
}

func bulk(t *testing.T, c *opensearchapi.Client) {
	r, err := c.Bulk(t.Context(), opensearchapi.BulkReq{Index: "many", Params: opensearchapi.BulkParams{Refresh: "true"}, Body: body(`{"index": {"_id": "1"}}
{"text": "red fox"}
{"create": {"_id": "1"}}
{"text": "red fox"}
{"create": {"_id": "2"}}
{"text": "grey wolf"}
{"update": {"_id": "2"}}
{"doc": {"text": "grey fox"}}
{"delete": {"_id": "3"}}
`)})
	if err := opensearchapi.ToleratePartialFailures(err); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, item := range r.Items {
		for action, result := range item {
			got = append(got, fmt.Sprintf("%s %s %d", action, result.ID, result.Status))
		}
	}
	if want := "index 1 201, create 1 409, create 2 201, update 2 200, delete 3 404"; strings.Join(got, ", ") != want || !r.Errors {
		t.Errorf("%s, errors %t; want %s", strings.Join(got, ", "), r.Errors, want)
	}
	if got := found(t, c, "many", `{"query": {"match": {"text": "fox"}}}`); got != "2 eq: 1 2" {
		t.Error(got)
	}
	d, err := c.Document.DeleteByQuery(t.Context(), opensearchapi.DocumentDeleteByQueryReq{
		Indices: []string{"many"}, Body: body(`{"query": {"match": {"text": "grey"}}}`),
		Params: opensearchapi.DocumentDeleteByQueryParams{Refresh: new(true)},
	})
	if err != nil || d.Deleted != 1 {
		t.Errorf("%+v, %v", d, err)
	}
	if got := found(t, c, "many", `{"query": {"match_all": {}}}`); got != "1 eq: 1" {
		t.Error(got)
	}
}

// indexer writes with the client's own bulk indexer: several workers, requests of 100 kB.
func indexer(t *testing.T, c *opensearchapi.Client) {
	const numDocs = 20_000
	bi, err := opensearchutil.NewBulkIndexer(opensearchutil.BulkIndexerConfig{Client: c, Index: "large", NumWorkers: 4, FlushBytes: 100_000, Refresh: "wait_for"})
	if err != nil {
		t.Fatal(err)
	}
	var indexed atomic.Int64
	for i := range numDocs {
		err := bi.Add(t.Context(), opensearchutil.BulkIndexerItem{
			Action: "index", DocumentID: fmt.Sprint(i), Body: strings.NewReader(fmt.Sprintf(`{"title": "document %d", "text": "w%d w%d"}`, i, i%10, i%1000)),
		})
		if err != nil {
			t.Fatal(err)
		}
		indexed.Add(1)
	}
	if err := bi.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := bi.Stats(); s.NumFlushed != numDocs || s.NumFailed != 0 || s.NumRequests < 2 {
		t.Errorf("%+v", s)
	}
	for query, want := range map[string]string{
		`{"size": 0, "track_total_hits": true, "query": {"match_all": {}}}`:               "20000 eq:",
		`{"size": 0, "track_total_hits": true, "query": {"match": {"text": "w7"}}}`:       "2000 eq:",
		`{"size": 0, "track_total_hits": 100, "query": {"match": {"text": "w7"}}}`:        "100 gte:",
		`{"query": {"match": {"title": {"query": "document 12345", "operator": "and"}}}}`: "1 eq: 12345",
	} {
		if got := found(t, c, "large", query); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	if r, err := c.Indices.Forcemerge(t.Context(), &opensearchapi.IndicesForcemergeReq{Indices: []string{"large"}, Params: opensearchapi.IndicesForcemergeParams{MaxNumSegments: new(1)}}); err != nil || r.Shards.Failed != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	count, err := c.Indices.Count(t.Context(), &opensearchapi.IndicesCountReq{Indices: []string{"large"}})
	if err != nil || count.Count != numDocs {
		t.Errorf("%+v, %v", count, err)
	}
}

func snapshots(t *testing.T, c *opensearchapi.Client) {
	ctx := t.Context()
	made, err := c.Snapshot.Create(ctx, opensearchapi.SnapshotCreateReq{
		Repo: "nightly", Snapshot: "monday", Body: body(`{"indices": "large"}`), Params: opensearchapi.SnapshotCreateParams{WaitForCompletion: new(true)},
	})
	if err != nil || made.Snapshot.State != "SUCCESS" {
		t.Fatalf("%+v, %v", made, err)
	}
	if r, err := c.Snapshot.Get(ctx, opensearchapi.SnapshotGetReq{Repo: "nightly", Snapshots: []string{"_all"}}); err != nil || len(r.Snapshots) != 1 || r.Snapshots[0].Snapshot != "monday" {
		t.Errorf("%+v, %v", r, err)
	}
	restored, err := c.Snapshot.Restore(ctx, opensearchapi.SnapshotRestoreReq{
		Repo: "nightly", Snapshot: "monday", Body: body(`{"rename_pattern": "large", "rename_replacement": "restored"}`),
		Params: opensearchapi.SnapshotRestoreParams{WaitForCompletion: new(true)},
	})
	if err != nil || len(restored.Snapshot.Indices) != 1 || restored.Snapshot.Indices[0] != "restored" {
		t.Errorf("%+v, %v", restored, err)
	}
	if got := found(t, c, "restored", `{"size": 0, "query": {"match": {"text": "w7"}}}`); got != "2000 eq:" {
		t.Error(got)
	}
	if r, err := c.Snapshot.Delete(ctx, opensearchapi.SnapshotDeleteReq{Repo: "nightly", Snapshots: []string{"monday"}}); err != nil || !r.Acknowledged {
		t.Errorf("%+v, %v", r, err)
	}
}

func mistakes(t *testing.T, c *opensearchapi.Client) {
	ctx := t.Context()
	if _, err := c.Search(ctx, &opensearchapi.SearchReq{Indices: []string{"absent"}}); status(err) != "404 index_not_found_exception" {
		t.Errorf("search of an absent index: %v", err)
	}
	if _, err := c.Search(ctx, &opensearchapi.SearchReq{Indices: []string{"large"}, Body: body(`{"query": {"mach": {"text": "w7"}}}`)}); !strings.HasPrefix(status(err), "400 ") || !strings.Contains(err.Error(), "mach") {
		t.Errorf("unknown query: %v", err)
	}
	many, err := c.MSearch(ctx, opensearchapi.MSearchReq{Body: body("{\"index\": \"large\"}\n{\"query\": {\"match\": {\"text\": \"w7\"}}}\n{\"index\": \"absent\"}\n{}\n")})
	if err != nil || len(many.Responses) != 2 || many.Responses[0].Status != 200 || many.Responses[0].Hits.Total.Value == 0 || many.Responses[1].Status != 404 {
		t.Errorf("two searches: %+v, %v", many, err)
	}
	if _, err := c.Indices.Create(ctx, opensearchapi.IndicesCreateReq{Index: "Large"}); status(err) != "400 invalid_index_name_exception" {
		t.Errorf("upper case: %v", err)
	}
	if _, err := c.Indices.Create(ctx, opensearchapi.IndicesCreateReq{Index: "large"}); status(err) != "400 resource_already_exists_exception" {
		t.Errorf("an index that exists: %v", err)
	}
	if g, err := c.Document.Get(ctx, opensearchapi.DocumentGetReq{Index: "large", DocumentID: "absent"}); g.Found {
		t.Errorf("%+v, %v", g, err)
	}
}
