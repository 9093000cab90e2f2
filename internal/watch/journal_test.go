package watch

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/wal"
)

// measuredLog knows the largest Append and the largest record.
type measuredLog struct {
	wal.Log
	appends       int
	most, longest int
}

func (l *measuredLog) Append(records []wal.Record) (wal.Seq, error) {
	size := 0
	for i := range records {
		size += len(records[i].Payload)
		l.longest = max(l.longest, len(records[i].Payload))
	}
	l.appends++
	l.most = max(l.most, size)
	return l.Log.Append(records)
}

// However many ids a file has, the journal writes about maxAppendBytes at once.
func TestAppendsAreBounded(t *testing.T) {
	const docs = 8000
	padding := strings.Repeat("x", 400)
	var text strings.Builder
	for i := range docs {
		fmt.Fprintf(&text, `{"id":"%s%d","text":"a"}`+"\n", padding, i)
	}
	h := following(t, map[string]string{"b.jsonl": text.String()}, Options{AllowEmpty: true, Poll: time.Hour})
	log := &measuredLog{Log: h.w.journal.log}
	h.w.journal.log = log
	folder := h.folders[0]
	for _, step := range []struct {
		name   string
		change func() error
		writes int
	}{
		{"shadows", func() error { return os.WriteFile(filepath.Join(folder, "a.jsonl"), []byte(text.String()), 0o600) }, 0},
		{"shadows are dropped", func() error { return os.Remove(filepath.Join(folder, "a.jsonl")) }, 0},
		{"a later file takes all", func() error { return os.WriteFile(filepath.Join(folder, "c.jsonl"), []byte(text.String()), 0o600) }, 0},
		{"its heir has all", func() error { return os.Remove(filepath.Join(folder, "c.jsonl")) }, docs},
		{"the index was lost", func() error {
			clear(h.index.docs)
			h.index.commits++
			return h.w.verify(t.Context())
		}, docs},
		{"a checkpoint", h.w.journal.checkpoint, 0},
		{"all are deleted", func() error { return os.Remove(filepath.Join(folder, "b.jsonl")) }, docs},
	} {
		*log = measuredLog{Log: log.Log}
		before := h.index.writes
		check(t, step.change())
		h.w.scan()
		check(t, h.settle())
		h.compare()
		if n := h.index.writes - before; n != step.writes {
			t.Errorf("%s: %d writes, want %d", step.name, n, step.writes)
		}
		if most := maxAppendBytes + maxBatchDocs*(len(padding)+20); log.most > most || log.longest > maxAppendBytes+1000 || log.appends < 3 {
			t.Errorf("%s: %d appends of at most %d bytes, want %d; a record of %d bytes", step.name, log.appends, log.most, most, log.longest)
		}
	}
}
