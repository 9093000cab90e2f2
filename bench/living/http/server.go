package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"time"

	"github.com/griffin-search/griffin/bench/living/process"
)

// server is a process of "griffin serve", without a result cache: a query that is repeated runs again.
type server struct {
	cmd     *exec.Cmd // nil: a test's
	url     string    // ends in "/"
	process process.Process
	client  *http.Client
}

const indexName = "wiki"

func startServer(ctx context.Context, griffin, data string) (_ *server, err error) {
	cmd := exec.CommandContext(ctx, griffin, "serve", "--json", "--addr", "127.0.0.1:0", "--device", "cpu", "--result-cache", "0", data)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &server{cmd: cmd, process: process.Of(cmd.Process.Pid), client: newClient()}
	var started struct {
		URL string `json:"url"`
	}
	if err := json.NewDecoder(out).Decode(&started); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", cmd, err), s.kill())
	}
	s.url = started.URL
	return s, nil
}

func newClient() *http.Client {
	return &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}, Timeout: 2 * time.Minute}
}

// stop ends the server as Ctrl-C does.
func (s *server) stop() error {
	s.client.CloseIdleConnections()
	if err := s.cmd.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	return s.cmd.Wait()
}

func (s *server) kill() error {
	err := s.cmd.Process.Kill()
	_ = s.cmd.Wait() // it was killed
	return err
}

// errBusy is the answer to a write that came too fast.
var errBusy = errors.New("status 429")

// send sends a request for a path of the index and decodes the answer.
func (s *server) send(ctx context.Context, method, path string, body []byte, answer any) error {
	req, err := http.NewRequestWithContext(ctx, method, s.url+indexName+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := s.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return err
	case resp.StatusCode == http.StatusTooManyRequests:
		return errBusy
	case resp.StatusCode >= 300:
		return fmt.Errorf("%s %s: status %d: %.300s", method, path, resp.StatusCode, data)
	case answer == nil:
		return nil
	}
	if err := json.Unmarshal(data, answer); err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	return nil
}

// bulk sends a request to _bulk. Each operation must succeed.
func (s *server) bulk(ctx context.Context, data []byte) error {
	var answer struct {
		Errors bool            `json:"errors"`
		Items  json.RawMessage `json:"items"`
	}
	err := s.send(ctx, http.MethodPost, "/_bulk", data, &answer)
	if err == nil && answer.Errors {
		if bytes.Contains(answer.Items, []byte(`"status":429`)) {
			return errBusy
		}
		err = fmt.Errorf("_bulk: operations failed: %.300s", answer.Items)
	}
	return err
}

// search returns the ids of the best hits.
func (s *server) search(ctx context.Context, text string) (ids []string, err error) {
	var answer struct {
		Hits struct {
			Hits []struct {
				ID string `json:"_id"`
			} `json:"hits"`
		} `json:"hits"`
	}
	err = s.send(ctx, http.MethodGet, "/_search?size=10&_source=false&track_total_hits=false&q="+url.QueryEscape(text), nil, &answer)
	for _, hit := range answer.Hits.Hits {
		ids = append(ids, hit.ID)
	}
	return ids, err
}

func (s *server) count(ctx context.Context) (n int, err error) {
	var answer struct {
		Count int `json:"count"`
	}
	err = s.send(ctx, http.MethodGet, "/_count", nil, &answer)
	return answer.Count, err
}

func (s *server) put(ctx context.Context, id, source string) error {
	return s.send(ctx, http.MethodPut, "/_doc/"+id, []byte(source), nil)
}

func (s *server) post(ctx context.Context, path string) error {
	return s.send(ctx, http.MethodPost, path, nil, nil)
}

// merge joins all segments, which can take minutes: it has no time limit.
func (s *server) merge(ctx context.Context) error {
	patient := *s
	patient.client = &http.Client{Transport: s.client.Transport}
	return patient.post(ctx, "/_forcemerge?max_num_segments=1")
}
