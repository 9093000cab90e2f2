package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/sampletest"
)

// killsVariable sets how often TestServeKills kills.
const killsVariable = "GRIFFIN_KILLS"

// killed is a directory whose server is killed with SIGKILL again and again.
type killed struct {
	dir     string
	clients []*bulkClient
	setUp   bool
	idle    int // rounds in which nothing was acknowledged
	// Counts of checks.
	kills, early, acknowledged, interrupted, kept int
}

// bulkClient writes to ids of its own, one request after the other.
type bulkClient struct {
	name   string
	rng    *rand.Rand
	next   int
	docs   map[string]killedDoc
	trying []bulkOp // of the request without an answer
	acked  int
}

type killedDoc struct {
	text    string
	deleted bool
	version uint64 // 0: unknown
	seqNo   int64
}

type bulkOp struct {
	kind, id, text string
}

// TestServeKills writes over _bulk with several clients, while refreshes, flushes and merges run, and
// kills the server at a random moment, also while it starts. The next server has each acknowledged
// write once, with its version, in the order of writing; of a request without an answer it has the
// first operations, or none. GRIFFIN_KILLS sets the number of kills.
func TestServeKills(t *testing.T) {
	kills := 3
	if sampletest.All() {
		kills = 100
	}
	if n, err := strconv.Atoi(os.Getenv(killsVariable)); err == nil {
		kills = n
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	k := &killed{dir: filepath.Join(t.TempDir(), "data")}
	for i := range 3 {
		k.clients = append(k.clients, &bulkClient{name: fmt.Sprintf("c%d-", i), rng: rand.New(rand.NewPCG(seed, uint64(2+i))), docs: map[string]killedDoc{}})
	}
	for began := time.Now(); k.kills < kills || k.acknowledged == 0 && time.Since(began) < patience; {
		k.round(t, rng)
		if k.kills%100 == 0 {
			t.Logf("%+v kills, %d of them at the start; %d acknowledged writes, %d requests without an answer, %d of them kept", k.kills, k.early, k.acknowledged, k.interrupted, k.kept)
		}
	}
	server := serveKilled(t, k.dir)
	k.check(t, server)
	if err := server.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := server.cmd.Wait(); err != nil {
		t.Errorf("after an interrupt: %v\n%s", err, server.errOut)
	}
	k.verify(t)
	t.Logf("summary: %d kills, %d kills at the start, %d acknowledged writes, %d requests without an answer, %d such requests kept",
		k.kills, k.early, k.acknowledged, k.interrupted, k.kept)
	if k.acknowledged == 0 {
		t.Error("nothing was acknowledged")
	}
}

type killedServer struct {
	cmd    *exec.Cmd
	url    string
	client *http.Client
	errOut *bytes.Buffer
}

// launch starts a server without waiting.
func launch(t *testing.T, dir string) (s *killedServer, out io.Reader) {
	t.Helper()
	s = &killedServer{cmd: griffinProcess(t, "serve", "--device", "cpu", "--addr", "127.0.0.1:0", dir), errOut: new(bytes.Buffer)}
	s.client = &http.Client{Timeout: patience, Transport: &http.Transport{MaxIdleConnsPerHost: 8}}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	s.cmd.Stderr = s.errOut
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return s, out
}

func serveKilled(t *testing.T, dir string) *killedServer {
	t.Helper()
	s, out := launch(t, dir)
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		t.Fatalf("no line on standard output: %v\n%s", err, s.errOut)
	}
	_, address, _ := strings.Cut(line, "on http://")
	address, _, _ = strings.Cut(address, "/")
	s.url = "http://" + address
	return s
}

func (s *killedServer) kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
	s.client.CloseIdleConnections()
}

func (s *killedServer) ask(method, path, body string) (int, []byte, error) {
	r, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	response, err := s.client.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, text, err
}

func (k *killed) round(t *testing.T, rng *rand.Rand) {
	t.Helper()
	if k.setUp && rng.IntN(6) == 0 {
		s, _ := launch(t, k.dir)
		time.Sleep(time.Duration(rng.IntN(150)) * time.Millisecond)
		s.kill()
		k.kills++
		k.early++
	}
	s := serveKilled(t, k.dir)
	defer s.kill()
	if !k.setUp {
		if status, text, err := s.ask(http.MethodPut, "/notes", `{"settings": {"refresh_interval": "5ms"}}`); status != http.StatusOK || err != nil {
			t.Fatalf("status %d, %v: %s", status, err, text)
		}
		k.setUp = true
	}
	k.check(t, s)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var group sync.WaitGroup
	for _, c := range k.clients {
		group.Go(func() { c.run(t, s) })
	}
	for _, path := range []string{"/notes/_flush", "/notes/_forcemerge?max_num_segments=2"} {
		pause := time.Duration(1+rng.IntN(60)) * time.Millisecond
		group.Go(func() {
			for ctx.Err() == nil {
				time.Sleep(pause)
				_, _, _ = s.ask(http.MethodPost, path, "") // the kill ends it
			}
		})
	}
	time.Sleep(time.Duration(rng.IntN(200)) * time.Millisecond << k.idle) // a slow server gets more time
	stop()
	_ = s.cmd.Process.Kill()
	group.Wait()
	k.kills++
	before := k.acknowledged
	for _, c := range k.clients {
		k.acknowledged += c.acked
		c.acked = 0
	}
	k.idle++
	if k.acknowledged > before {
		k.idle = 0
	}
}

// run writes until the server is killed.
func (c *bulkClient) run(t *testing.T, s *killedServer) {
	for {
		ops := make([]bulkOp, 1+c.rng.IntN(1+c.rng.IntN(60)))
		var body strings.Builder
		for i := range ops {
			c.next++
			ops[i] = bulkOp{kind: []string{"index", "index", "create", "delete"}[c.rng.IntN(4)], id: c.name + strconv.Itoa(c.rng.IntN(60))}
			fmt.Fprintf(&body, `{%q: {"_id": %q}}`+"\n", ops[i].kind, ops[i].id)
			if ops[i].kind != "delete" {
				ops[i].text = fmt.Sprintf("%s%d %s", c.name, c.next, strings.Repeat(fmt.Sprintf("w%d w%d ", c.rng.IntN(9), c.rng.IntN(200)), c.rng.IntN(50)))
				fmt.Fprintf(&body, `{"text": %q}`+"\n", ops[i].text)
			}
		}
		c.trying = ops
		status, text, err := s.ask(http.MethodPost, "/notes/_bulk", body.String())
		if err != nil {
			return
		}
		if status == http.StatusTooManyRequests { // nothing was written
			c.trying = nil
			continue
		}
		if status != http.StatusOK {
			t.Errorf("_bulk: status %d: %s", status, text)
			return
		}
		c.trying = nil
		if err := c.answer(ops, text); err != nil {
			t.Error(err)
			return
		}
	}
}

type bulkItemAnswer struct {
	Version uint64 `json:"_version"`
	SeqNo   int64  `json:"_seq_no"`
	Result  string
	Status  int
}

// apply changes the expected documents.
func (d killedDoc) apply(op bulkOp) (after killedDoc, ok bool) {
	exists := d.text != ""
	if op.kind == "create" && exists {
		return d, false
	}
	after = killedDoc{text: op.text, deleted: op.kind == "delete"}
	if exists || d.version != 0 {
		after.version = d.version + 1
	}
	return after, true
}

// answer compares the answer to a request with the expected documents.
func (c *bulkClient) answer(ops []bulkOp, text []byte) error {
	var answer struct {
		Items []map[string]bulkItemAnswer
	}
	if err := json.Unmarshal(text, &answer); err != nil || len(answer.Items) != len(ops) {
		return fmt.Errorf("%d operations, %w: %s", len(ops), err, text)
	}
	for i, op := range ops {
		got := answer.Items[i][op.kind]
		before := c.docs[op.id]
		after, ok := before.apply(op)
		result := map[bool]string{true: "updated", false: "created"}[before.text != ""]
		if op.kind == "delete" {
			result = map[bool]string{true: "deleted", false: "not_found"}[before.text != ""]
		}
		switch {
		case !ok && got.Status == http.StatusConflict, got.Status == http.StatusTooManyRequests:
			continue
		case !ok || got.Result != result || after.version != 0 && got.Version != after.version:
			return fmt.Errorf("%+v: %+v, want %s and version %d", op, got, result, after.version)
		}
		c.acked++
		after.version, after.seqNo = got.Version, got.SeqNo
		c.docs[op.id] = after
	}
	return nil
}

// check compares a server that has just started with the expected documents.
func (k *killed) check(t *testing.T, s *killedServer) {
	t.Helper()
	var all []string
	seqNo := map[string]int64{}
	for _, c := range k.clients {
		if len(c.trying) > 0 {
			k.interrupted++
		}
		kept, err := c.recovered(s)
		if err != nil {
			t.Fatalf("after %d kills: %v\n%s", k.kills, err, s.errOut)
		}
		if kept {
			k.kept++
		}
		for id, d := range c.docs {
			if d.text != "" {
				all = append(all, id)
				seqNo[id] = d.seqNo
			}
		}
	}
	slices.SortFunc(all, func(a, b string) int { return int(seqNo[a] - seqNo[b]) })
	status, text, err := s.ask(http.MethodPost, "/notes/_search", `{"size": 10000, "_source": false, "query": {"match_all": {}}}`)
	var answer struct {
		Hits struct {
			Total struct{ Value int }
			Hits  []struct {
				ID string `json:"_id"`
			}
		}
	}
	if err = errors.Join(err, json.Unmarshal(text, &answer)); err != nil || status != http.StatusOK {
		t.Fatalf("_search: status %d, %v: %s", status, err, text)
	}
	var got []string
	for _, h := range answer.Hits.Hits {
		got = append(got, h.ID)
	}
	if !slices.Equal(got, all) || answer.Hits.Total.Value != len(all) {
		t.Fatalf("after %d kills: a total of %d, documents %q,\nwant %q", k.kills, answer.Hits.Total.Value, got, all)
	}
}

// recovered compares the documents of a client, and decides how much of the request without an
// answer is there.
func (c *bulkClient) recovered(s *killedServer) (kept bool, err error) {
	got := map[string]killedDoc{}
	for id := range c.docs {
		got[id] = killedDoc{}
	}
	for _, op := range c.trying {
		got[op.id] = killedDoc{}
	}
	for id := range got {
		if got[id], err = s.document(id); err != nil {
			return false, err
		}
	}
	then := maps.Clone(c.docs)
	for n := 0; ; n++ {
		if err = same(got, then); err == nil || n == len(c.trying) {
			kept = n > 0
			break
		}
		op := c.trying[n]
		if after, ok := then[op.id].apply(op); ok {
			after.version, after.seqNo = 0, -1 // not acknowledged
			then[op.id] = after
		}
	}
	if err != nil {
		return false, fmt.Errorf("%w\nwith %d operations without an answer", err, len(c.trying))
	}
	for id, d := range then {
		if d.seqNo = got[id].seqNo; d.deleted { // a new process may have forgotten the version
			d.version, d.seqNo = 0, 0
		}
		if d.text != "" {
			d.version = got[id].version
		}
		then[id] = d
	}
	c.docs, c.trying = then, nil
	return kept, nil
}

func same(got, want map[string]killedDoc) error {
	for id, g := range got {
		w := want[id]
		if g.text != w.text || w.text != "" && w.version != 0 && (g.version != w.version || g.seqNo != w.seqNo) {
			return fmt.Errorf("document %s: %+v, want %+v", id, g, w)
		}
	}
	return nil
}

func (s *killedServer) document(id string) (d killedDoc, err error) {
	status, text, err := s.ask(http.MethodGet, "/notes/_doc/"+id, "")
	var answer struct {
		Version uint64                `json:"_version"`
		SeqNo   int64                 `json:"_seq_no"`
		Source  struct{ Text string } `json:"_source"`
	}
	if err = errors.Join(err, json.Unmarshal(text, &answer)); err != nil || status != http.StatusOK && status != http.StatusNotFound {
		return d, fmt.Errorf("document %s: status %d, %w: %s", id, status, err, text)
	}
	return killedDoc{text: answer.Source.Text, version: answer.Version, seqNo: answer.SeqNo}, nil
}

// verify reads all files, and compares the index with a new one of its documents.
func (k *killed) verify(t *testing.T) {
	t.Helper()
	ix, err := griffin.Open(filepath.Join(k.dir, "notes"), griffin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer ix.Close()
	if err := ix.Verify(t.Context(), nil); err != nil {
		t.Error(err)
	}
	report, err := ix.VerifyRebuild(t.Context(), griffin.RebuildOptions{})
	if err != nil || len(report.Differences) > 0 {
		t.Errorf("%v, %+v", err, report)
	}
}
