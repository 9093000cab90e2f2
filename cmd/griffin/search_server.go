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
	"strings"

	"github.com/spf13/pflag"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/wal"
)

// serverFlag is the address of a server with OpenSearch's paths.
type serverFlag struct{ url string }

func (s *serverFlag) register(f *pflag.FlagSet) {
	f.StringVar(&s.url, "server", "", "write to the index of this name on a server: `URL`, such as http://127.0.0.1:7280")
}

func (s *serverFlag) registerReading(f *pflag.FlagSet) {
	f.StringVar(&s.url, "server", "", "read the index of this name on a server: `URL`, such as http://127.0.0.1:7280")
}

// check returns a usage error for flags that apply to folders only.
func (s *serverFlag) check(flags *pflag.FlagSet, local ...string) error {
	for _, name := range local {
		if flags.Changed(name) {
			return usagef("--%s does not apply with --server", name)
		}
	}
	return nil
}

// serverIndex is an index on a server.
type serverIndex struct {
	url     string // of the index
	client  *http.Client
	written bool
}

var _ deleteTarget = (*serverIndex)(nil)

// base is the address without a slash at the end.
func (s *serverFlag) base() (string, error) {
	u, err := url.Parse(s.url)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", usagef("--server %q: want a URL such as http://127.0.0.1:7280", s.url)
	}
	return strings.TrimSuffix(u.String(), "/"), nil
}

func (s *serverFlag) open(index string) (*serverIndex, error) {
	base, err := s.base()
	if err != nil {
		return nil, err
	}
	if index == "" || strings.ContainsAny(index, "/*,") || strings.HasPrefix(index, "_") {
		return nil, usagef("%q is not the name of an index on a server", index)
	}
	return &serverIndex{url: base + "/" + url.PathEscape(index), client: http.DefaultClient}, nil
}

// serverError is the answer to a request that failed.
type serverError struct {
	Type   string `json:"type"`
	Reason string `json:"reason"`
	status int
}

// Error names the type as OpenSearch does.
func (e *serverError) Error() string {
	text := strings.TrimPrefix(e.Type+": "+e.Reason, ": ")
	if e.status != 0 {
		text = fmt.Sprintf("status %d: %s", e.status, text)
	}
	return "server: " + text
}

// Unwrap gives the errors that exit codes are for.
func (e *serverError) Unwrap() error {
	switch e.status {
	case http.StatusTooManyRequests:
		return griffin.ErrBusy
	case http.StatusNotFound:
		if e.Type == typeNoIndex {
			return base.ErrNotIndex
		}
		return base.ErrBadInput
	case http.StatusBadRequest:
		if e.Type == typeSnapshotName && strings.HasSuffix(e.Reason, "already exists") {
			return base.ErrExists
		}
		return base.ErrBadInput
	case http.StatusInternalServerError:
		if e.Type == typeRestore && strings.Contains(e.Reason, "already exists") { // the status is OpenSearch's
			return base.ErrExists
		}
	}
	return nil
}

const (
	typeNoIndex = "index_not_found_exception"
	typeBlocked = "cluster_block_exception" // the disk takes no writes
	typeBadName = "invalid_index_name_exception"

	typeSnapshotName = "invalid_snapshot_name_exception"
	typeRestore      = "snapshot_restore_exception"
)

// ofDocument reports whether the error of an item is one of its document alone: others may be written.
func (e *serverError) ofDocument() bool {
	return e.status < http.StatusInternalServerError && e.Type != typeNoIndex && e.Type != typeBlocked && e.Type != typeBadName
}

const maxAnswerBytes = 64 << 20

// post sends a request about the index and reads the answer into out.
func (s *serverIndex) post(ctx context.Context, path string, body []byte, out any) error {
	return callServer(ctx, s.client, http.MethodPost, s.url+path, body, out)
}

// callServer sends a request and reads the answer into out.
func callServer(ctx context.Context, client *http.Client, method, address string, body []byte, out any) (err error) {
	request, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	if strings.HasSuffix(request.URL.Path, "/_bulk") {
		request.Header.Set("Content-Type", "application/x-ndjson")
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswerBytes))
	if err != nil {
		return err
	}
	if response.StatusCode/100 != 2 {
		return answeredError(response.StatusCode, text)
	}
	if err := json.Unmarshal(text, out); err != nil {
		return fmt.Errorf("%s: answer: %w", address, err)
	}
	return nil
}

const addHint = "griffin add INDEX PATH… --server URL makes an index"

// The error of an answer is an object or a text.
func answeredError(status int, text []byte) error {
	failed := serverError{status: status}
	var answer struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(text, &answer) != nil || json.Unmarshal(answer.Error, &failed) != nil {
		failed.Reason = oneLine(string(text[:min(len(text), 200)]))
	}
	if status == http.StatusNotFound && failed.Type == typeNoIndex {
		return hintedError{&failed, addHint}
	}
	return &failed
}

type bulkItem struct {
	Result  string       `json:"result"`
	Status  int          `json:"status"`
	Version uint64       `json:"_version"`
	SeqNo   uint64       `json:"_seq_no"`
	Term    uint64       `json:"_primary_term"`
	Error   *serverError `json:"error"`
}

// number is the number of the write from 0, with its term in the high bits; 0 if there was none.
func (i *bulkItem) number() uint64 {
	if seq, ok := wal.SeqOf(i.Term, i.SeqNo); ok {
		return uint64(seq) - 1
	}
	return 0
}

func (s *serverIndex) apply(ctx context.Context, writes []griffin.Write) ([]griffin.WriteResult, error) {
	body, err := bulkBody(writes)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Items []map[string]bulkItem `json:"items"`
	}
	if err := s.post(ctx, "/_bulk", body, &answer); err != nil {
		return nil, err
	}
	if len(answer.Items) != len(writes) {
		return nil, fmt.Errorf("%s/_bulk: %d items for %d writes", s.url, len(answer.Items), len(writes))
	}
	results := make([]griffin.WriteResult, len(writes))
	var failed error // the last of the index, or else the first for which there was no room
	for i, byKind := range answer.Items {
		for _, item := range byKind {
			results[i] = griffin.WriteResult{ID: writes[i].Document.ID, Outcome: griffin.WriteOutcome(item.Result), SeqNo: item.number(), Version: item.Version}
			if item.Error == nil {
				s.written = true
				continue
			}
			item.Error.status = item.Status
			results[i].Err = item.Error
			switch busy := errors.Is(item.Error, griffin.ErrBusy); {
			case busy && failed == nil, !busy && !item.Error.ofDocument():
				failed = item.Error
			}
		}
	}
	return results, failed
}

// bulkBody has a line for each action, and one for each document.
func bulkBody(writes []griffin.Write) ([]byte, error) {
	type target struct {
		ID string `json:"_id"`
	}
	var body bytes.Buffer
	lines := json.NewEncoder(&body)
	for i := range writes {
		d := &writes[i].Document
		action := "index"
		if writes[i].Kind == griffin.WriteDelete {
			action = "delete"
		}
		if err := lines.Encode(map[string]target{action: {d.ID}}); err != nil {
			return nil, err
		}
		if action == "delete" {
			continue
		}
		source, err := sourceOf(d)
		if err != nil {
			return nil, err
		}
		body.Write(append(source, '\n'))
	}
	return body.Bytes(), nil
}

// close makes the writes visible; the server commits them by itself.
func (s *serverIndex) close(ctx context.Context) error {
	if !s.written {
		return nil
	}
	return s.post(ctx, "/_refresh", nil, new(any))
}

// exists asks for one document after another: few ids are given with --dry-run.
func (s *serverIndex) exists(ctx context.Context, ids []string) ([]bool, error) {
	found, before := make([]bool, len(ids)), map[string]bool{}
	for i, id := range ids {
		if before[id] {
			continue // it would be deleted by then
		}
		before[id] = true
		request, err := http.NewRequestWithContext(ctx, http.MethodHead, s.url+"/_doc/"+url.PathEscape(id), http.NoBody)
		if err != nil {
			return nil, err
		}
		response, err := s.client.Do(request)
		if err != nil {
			return nil, err
		}
		if err := response.Body.Close(); err != nil {
			return nil, err
		}
		switch response.StatusCode {
		case http.StatusOK:
			found[i] = true
		case http.StatusNotFound:
		default:
			return nil, answeredError(response.StatusCode, nil)
		}
	}
	return found, nil
}

func queryBody(q *griffin.Query) ([]byte, error) {
	operator := "OR"
	if q.Mode == griffin.ModeAnd {
		operator = "AND"
	}
	return json.Marshal(map[string]any{"query": map[string]any{"query_string": map[string]string{"query": q.Text, "default_operator": operator}}})
}

func (s *serverIndex) count(ctx context.Context, q *griffin.Query) (int64, error) {
	body, err := queryBody(q)
	if err != nil {
		return 0, err
	}
	var answer struct {
		Count int64 `json:"count"`
	}
	err = s.post(ctx, "/_count", body, &answer)
	return answer.Count, err
}

func (s *serverIndex) deleteMatches(ctx context.Context, q *griffin.Query, progress func(done int64)) (int64, error) {
	body, err := queryBody(q)
	if err != nil {
		return 0, err
	}
	var answer struct {
		Deleted  int64             `json:"deleted"`
		Failures []json.RawMessage `json:"failures"`
	}
	if err := s.post(ctx, "/_delete_by_query?conflicts=proceed&refresh=true", body, &answer); err != nil {
		return 0, err
	}
	progress(answer.Deleted)
	if len(answer.Failures) > 0 {
		return answer.Deleted, fmt.Errorf("%s could not be deleted, the first: %s", plural(len(answer.Failures), "document"), oneLine(string(answer.Failures[0])))
	}
	return answer.Deleted, nil
}

// merge waits until the server has merged.
func (s *serverIndex) merge(ctx context.Context, segments int) error {
	return s.post(ctx, fmt.Sprintf("/_forcemerge?max_num_segments=%d", segments), nil, new(any))
}
