package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/corpus"
)

// busyServer is a server that refuses requests and items at random. It has no network.
type busyServer struct {
	t        *testing.T
	rng      *rand.Rand
	docs     map[string]string
	written  map[string]int // by content, which is of one write
	requests int
	broken   bool // the next refusal ends with an error that is not for a repetition
}

func (s *busyServer) RoundTrip(r *http.Request) (*http.Response, error) {
	s.requests++
	answer := func(status int, text string) (*http.Response, error) {
		return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader([]byte(text)))}, nil
	}
	if s.rng.IntN(5) == 0 {
		return answer(http.StatusTooManyRequests, `{"error":{"type":"rejected_execution_exception","reason":"busy"},"status":429}`)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	lines := bytes.Split(bytes.TrimSpace(body), []byte("\n"))
	items := []map[string]any{}
	kind := []string{"rejected_execution_exception", typeBlocked}[s.rng.IntN(2)]
	how, accepted := s.rng.IntN(3), s.rng.IntN(len(lines)/2+1)
	for i := 0; i < len(lines); i += 2 {
		var action map[string]struct {
			ID string `json:"_id"`
		}
		if err := json.Unmarshal(lines[i], &action); err != nil {
			s.t.Error(err)
		}
		id, content := action["index"].ID, string(lines[i+1])
		if how == 1 && i/2 >= accepted || how == 2 && s.rng.IntN(3) == 0 {
			refusal := map[string]any{"status": 429, "error": map[string]string{"type": kind, "reason": "busy"}}
			if s.broken {
				refusal = map[string]any{"status": 503, "error": map[string]string{"type": "unavailable", "reason": "down"}}
			}
			items = append(items, map[string]any{"index": refusal})
			continue
		}
		if s.written[content]++; s.written[content] > 1 {
			s.t.Errorf("%s is written %d times", content, s.written[content])
		}
		result := "created"
		if _, exists := s.docs[id]; exists {
			result = "updated"
		}
		s.docs[id] = content
		items = append(items, map[string]any{"index": map[string]any{"status": 200, "result": result, "_version": 1, "_seq_no": i}})
	}
	text, err := json.Marshal(map[string]any{"items": items})
	if err != nil {
		return nil, err
	}
	return answer(http.StatusOK, string(text))
}

// After a refusal, add sends only the refused writes again. The last write of an id stays the last.
func TestContinueAfterRefusal(t *testing.T) {
	repeated, errored := 0, 0
	for seed := range uint64(300) {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 20))
			s := &busyServer{t: t, rng: rng, docs: map[string]string{}, written: map[string]int{}, broken: seed%5 == 4}
			ix := &serverIndex{url: "http://server/ix", client: &http.Client{Transport: s}}
			n := 1 + rng.IntN(30)
			writes, last := make([]griffin.Write, n), map[string]string{}
			for i := range writes {
				id, text := fmt.Sprint(rng.IntN(n)), fmt.Sprint("write ", i)
				writes[i].Document = griffin.Document{ID: id, Text: text}
				last[id] = text
			}
			results, err := applyPatiently(t.Context(), ix, writes)
			if len(results) != n {
				t.Fatalf("%d results of %d writes", len(results), n)
			}
			var failed *serverError
			if s.broken && errors.As(err, &failed) && failed.status == http.StatusServiceUnavailable {
				errored++
				acknowledged := 0
				for _, r := range results {
					if r.Outcome != griffin.WriteFailed {
						acknowledged++
					}
				}
				if acknowledged != len(s.written) {
					t.Errorf("seed %d: %d writes have an outcome, and %d were written", seed, acknowledged, len(s.written))
				}
				return
			}
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			created := 0
			for i, r := range results {
				if r.Err != nil || r.Outcome == griffin.WriteFailed {
					t.Errorf("seed %d: write %d: %+v", seed, i, r)
				}
				if r.Outcome == griffin.WriteCreated {
					created++
				}
			}
			if created != len(last) || len(s.docs) != len(last) {
				t.Errorf("seed %d: %d created, %d documents, want %d", seed, created, len(s.docs), len(last))
			}
			for id, text := range last {
				var doc struct{ Text string }
				if err := json.Unmarshal([]byte(s.docs[id]), &doc); err != nil || doc.Text != text {
					t.Errorf("seed %d: document %s is %s, want %s", seed, id, s.docs[id], text)
				}
			}
			if s.requests > 1 {
				repeated++
			}
		})
	}
	if repeated < 50 || errored < 5 {
		t.Errorf("%d of the histories had a refusal, %d an error", repeated, errored)
	}
}

// After an error, the command counts the acknowledged documents and reports the refused ones.
func TestCountBeforeError(t *testing.T) {
	s := partialSink{}
	var out strings.Builder
	f := feeder{sink: s, maxErrors: -1, messages: messages{progress: &progress{out: &out}}, places: make([]corpus.Location, 5)}
	for i := range 5 {
		f.batch = append(f.batch, griffin.Write{Document: griffin.Document{ID: fmt.Sprint(i)}})
	}
	if err := f.flush(t.Context()); !errors.Is(err, errPartial) || f.docs != 2 || f.replaced != 1 || f.bad != 1 {
		t.Errorf("%v, %d documents, %d replaced, %d bad", err, f.docs, f.replaced, f.bad)
	}
	if !strings.Contains(out.String(), errRefused.Error()) {
		t.Errorf("the messages are %q", out.String())
	}
}

type partialSink struct{}

var (
	errPartial = errors.New("partial")
	errRefused = errors.New("does not fit")
)

func (partialSink) apply(_ context.Context, writes []griffin.Write) ([]griffin.WriteResult, error) {
	results := make([]griffin.WriteResult, len(writes))
	results[0].Outcome, results[1].Err, results[3].Outcome = griffin.WriteCreated, errRefused, griffin.WriteUpdated
	return results, errPartial
}

func (partialSink) close(context.Context) error { return nil }
