package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/wal"
	"github.com/griffin-search/griffin/internal/watch"
)

var (
	_ watch.Target = (*watchedIndex)(nil)
	_ watch.Target = (*watchedServer)(nil)
)

// watchedIndex is an index in a folder.
type watchedIndex struct{ indexSink }

// Apply opens the writer again after an error: a log that failed takes no more writes.
func (t *watchedIndex) Apply(ctx context.Context, writes []watch.Write) ([]watch.Result, error) {
	results, err := applyWatched(ctx, t, writes)
	if err != nil && ctx.Err() == nil {
		t.giveUp(ctx)
	}
	return results, err
}

func (t *watchedIndex) giveUp(ctx context.Context) {
	if t.writer != nil {
		_ = t.writer.Close(context.WithoutCancel(ctx)) // the caller has the error
		t.writer = nil
	}
}

func (t *watchedIndex) Publish(ctx context.Context) (string, error) {
	if err := t.open(ctx); err != nil {
		return "", err
	}
	if err := t.writer.Flush(ctx); err != nil {
		if ctx.Err() == nil {
			t.giveUp(ctx)
		}
		return "", err
	}
	return t.Token(ctx)
}

// Token is the number of the commit.
func (t *watchedIndex) Token(context.Context) (string, error) {
	stats, err := t.index.Stats()
	return strconv.FormatUint(stats.Generation, 10), err
}

func (t *watchedIndex) Seqs(ctx context.Context, ids []string) ([]uint64, error) {
	seqs := make([]uint64, len(ids))
	for i, id := range ids {
		d, err := t.index.Versioned(ctx, id)
		if err != nil && !errors.Is(err, griffin.ErrNotFound) {
			return nil, err
		}
		switch {
		case err != nil:
		case d.SeqNo == 0: // griffin index wrote it, which does not number its writes
			seqs[i] = math.MaxUint64
		default:
			seqs[i] = d.SeqNo + 1
		}
	}
	return seqs, nil
}

func (t *watchedIndex) Close(ctx context.Context) (string, error) {
	err := t.close(ctx)
	return strconv.FormatUint(t.last.Generation, 10), err
}

// watchedServer is an index on a server.
type watchedServer struct {
	*serverIndex
	uuid string // of the index; "" until there is one
}

// Apply makes the server commit if the durability of the index is async: otherwise a power failure of
// the server could undo acknowledged writes.
func (t *watchedServer) Apply(ctx context.Context, writes []watch.Write) ([]watch.Result, error) {
	results, err := applyWatched(ctx, t, writes)
	if err != nil {
		return nil, err
	}
	settings, err := t.settings(ctx) // now, as they can change
	if err == nil && settings.Translog.Durability == "async" {
		err = t.post(ctx, "/_flush", nil, new(any))
	}
	if err != nil {
		return nil, err
	}
	return results, nil
}

// serverSettings are a part of the settings of an index.
type serverSettings struct {
	UUID     string `json:"uuid"`
	Translog struct {
		Durability string `json:"durability"`
	} `json:"translog"`
}

// settings returns zero values if there is no such index.
func (t *watchedServer) settings(ctx context.Context) (s serverSettings, err error) {
	var answer map[string]struct {
		Settings struct {
			Index serverSettings `json:"index"`
		} `json:"settings"`
	}
	if _, err := t.get(ctx, "", &answer); err != nil {
		return s, err
	}
	for _, index := range answer {
		s = index.Settings.Index
	}
	return s, nil
}

func (t *watchedServer) Publish(ctx context.Context) (string, error) {
	if err := t.close(ctx); err != nil {
		return "", err
	}
	t.written = false
	settings, err := t.settings(ctx)
	switch {
	case err != nil:
		return "", err
	case t.uuid != "" && t.uuid != settings.UUID:
		return "", fmt.Errorf("%s was deleted while it was written: start again to write all documents", t.url)
	}
	t.uuid = settings.UUID
	return t.uuid, nil
}

// Token is the identity of the index; "" if there is none. Other writers do not change it.
func (t *watchedServer) Token(ctx context.Context) (string, error) {
	settings, err := t.settings(ctx)
	if err == nil {
		t.uuid = settings.UUID
	}
	return settings.UUID, err
}

func (t *watchedServer) Seqs(ctx context.Context, ids []string) ([]uint64, error) {
	seqs := make([]uint64, len(ids))
	for i, id := range ids {
		var answer struct {
			SeqNo uint64 `json:"_seq_no"`
			Term  uint64 `json:"_primary_term"`
		}
		found, err := t.get(ctx, "/_doc/"+url.PathEscape(id)+"?_source=false", &answer)
		if err != nil {
			return nil, err
		}
		if found {
			seqs[i] = math.MaxUint64 // griffin index wrote it
			if seq, ok := wal.SeqOf(answer.Term, answer.SeqNo); ok {
				seqs[i] = uint64(seq)
			}
		}
	}
	return seqs, nil
}

func (t *watchedServer) Close(ctx context.Context) (string, error) { return t.Publish(ctx) }

// get reads an answer into out. A 404 is no error.
func (s *serverIndex) get(ctx context.Context, path string, out any) (found bool, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+path, http.NoBody)
	if err != nil {
		return false, err
	}
	response, err := s.client.Do(request)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswerBytes))
	switch {
	case err != nil:
		return false, err
	case response.StatusCode == http.StatusNotFound:
		return false, nil
	case response.StatusCode != http.StatusOK:
		return false, answeredError(response.StatusCode, text)
	}
	return true, json.Unmarshal(text, out)
}

// applyWatched waits while there is no room.
func applyWatched(ctx context.Context, s sink, writes []watch.Write) ([]watch.Result, error) {
	public := make([]griffin.Write, len(writes))
	for i := range writes {
		public[i].Document = publicDocument(writes[i].Doc)
		if writes[i].Delete {
			public[i].Kind = griffin.WriteDelete
		}
	}
	results, err := applyPatiently(ctx, s, public)
	if err != nil {
		return nil, err
	}
	outcomes := map[griffin.WriteOutcome]watch.Outcome{
		griffin.WriteCreated: watch.Created, griffin.WriteUpdated: watch.Replaced, griffin.WriteDeleted: watch.Deleted, griffin.WriteNotFound: watch.NotFound,
	}
	watched := make([]watch.Result, len(results))
	for i, r := range results {
		watched[i] = watch.Result{Outcome: outcomes[r.Outcome], Seq: r.SeqNo + 1, Err: r.Err}
	}
	return watched, nil
}

// stateName is a file name for the index of a server.
func stateName(server, index string, folders []string) string {
	h := sha256.New()
	for _, part := range append([]string{strings.TrimSuffix(server, "/"), index}, folders...) {
		if abs, err := filepath.Abs(part); err == nil && part != server && part != index {
			part = abs
		}
		_, _ = io.WriteString(h, part+"\x00")
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}
