package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/record"
	"github.com/hashicorp/raft"
	raftwal "github.com/hashicorp/raft-wal"
	"github.com/prometheus/client_golang/prometheus"
	tidwall "github.com/tidwall/wal"
	etcd "go.etcd.io/etcd/server/v3/storage/wal"
	"go.etcd.io/etcd/server/v3/storage/wal/walpb"
	"go.etcd.io/raft/v3/raftpb"
	"go.uber.org/zap"
	"google.golang.org/protobuf/proto"

	"github.com/griffin-search/griffin/internal/vfs"
	"github.com/griffin-search/griffin/internal/wal"
)

var candidates = []candidate{
	{"etcd", openEtcd, replayEtcd},
	{"pebble", openPebble, replayPebble},
	{"raft-wal", openRaft, nil}, // its Close keeps bbolt's lock, so that the process cannot open it again
	{"tidwall", openTidwall, replayTidwall},
	{"griffin", openGriffin, replayGriffin},
}

type etcdLog struct {
	mu   sync.Mutex
	w    *etcd.WAL
	next uint64
}

func openEtcd(dir string) (store, error) {
	w, err := etcd.Create(zap.NewNop(), dir, nil)
	return &etcdLog{w: w, next: 1}, err
}

func (l *etcdLog) append(payloads [][]byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	entries := make([]*raftpb.Entry, len(payloads))
	for i, p := range payloads {
		entries[i] = &raftpb.Entry{Index: proto.Uint64(l.next), Term: proto.Uint64(1), Data: p}
		l.next++
	}
	return l.w.Save(&raftpb.HardState{Term: proto.Uint64(1)}, entries)
}

func (l *etcdLog) close() error { return l.w.Close() }

func replayEtcd(dir string, each func([]byte)) error {
	w, err := etcd.OpenForRead(zap.NewNop(), dir, &walpb.Snapshot{})
	if err != nil {
		return err
	}
	defer w.Close()
	_, _, entries, err := w.ReadAll()
	for _, e := range entries {
		each(e.Data)
	}
	return err
}

type pebbleLog struct {
	f   *os.File
	w   *record.LogWriter
	sem chan struct{}
	mu  sync.Mutex
}

func openPebble(dir string) (store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return nil, err
	}
	sem := make(chan struct{}, record.SyncConcurrency)
	return &pebbleLog{f: f, sem: sem, w: record.NewLogWriter(f, 1, record.LogWriterConfig{
		WALMinSyncInterval:  func() time.Duration { return 0 },
		WALFsyncLatency:     prometheus.NewHistogram(prometheus.HistogramOpts{}),
		QueueSemChan:        sem,
		WriteWALSyncOffsets: func() bool { return true },
	})}, nil
}

func (l *pebbleLog) append(payloads [][]byte) error {
	var wg sync.WaitGroup
	var synced, failed error
	l.sem <- struct{}{}
	wg.Add(1)
	l.mu.Lock() // one record after the other
	for _, p := range payloads[1:] {
		if _, err := l.w.WriteRecord(p); err != nil {
			failed = err
		}
	}
	if _, err := l.w.SyncRecord(payloads[0], &wg, &synced); err != nil {
		failed = err
	}
	l.mu.Unlock()
	if failed != nil {
		return failed
	}
	wg.Wait()
	return synced
}

func (l *pebbleLog) close() error { return l.w.Close() } // closes the file, too

func replayPebble(dir string, each func([]byte)) error {
	f, err := os.Open(filepath.Join(dir, "log"))
	if err != nil {
		return err
	}
	defer f.Close()
	r := record.NewReader(f, 1)
	buf := make([]byte, 1<<20)
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		n, err := io.ReadFull(rec, buf)
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}
		each(buf[:n])
	}
}

type raftLog struct {
	mu   sync.Mutex
	w    *raftwal.WAL
	next uint64
}

func openRaft(dir string) (store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	w, err := raftwal.Open(dir)
	return &raftLog{w: w, next: 1}, err
}

func (l *raftLog) append(payloads [][]byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	logs := make([]*raft.Log, len(payloads))
	for i, p := range payloads {
		logs[i] = &raft.Log{Index: l.next, Data: p}
		l.next++
	}
	return l.w.StoreLogs(logs)
}

func (l *raftLog) close() error { return l.w.Close() }

type tidwallLog struct {
	mu    sync.Mutex
	w     *tidwall.Log
	batch tidwall.Batch
	next  uint64
}

func openTidwall(dir string) (store, error) {
	w, err := tidwall.Open(dir, nil)
	return &tidwallLog{w: w, next: 1}, err
}

func (l *tidwallLog) append(payloads [][]byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range payloads {
		l.batch.Write(l.next, p)
		l.next++
	}
	return l.w.WriteBatch(&l.batch)
}

func (l *tidwallLog) close() error { return l.w.Close() }

func replayTidwall(dir string, each func([]byte)) error {
	w, err := tidwall.Open(dir, nil)
	if err != nil {
		return err
	}
	defer w.Close()
	first, err1 := w.FirstIndex()
	last, err2 := w.LastIndex()
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	for i := first; i <= last; i++ {
		data, err := w.Read(i)
		if err != nil {
			return err
		}
		each(data)
	}
	return nil
}

type griffinLog struct {
	w       *wal.Dir
	records sync.Pool
}

func openGriffin(dir string) (store, error) {
	w, err := wal.Open(vfs.OS, dir, wal.Options{})
	return &griffinLog{w: w}, err
}

func (l *griffinLog) append(payloads [][]byte) error {
	records, _ := l.records.Get().(*[]wal.Record)
	if records == nil {
		records = new([]wal.Record)
	}
	*records = (*records)[:0]
	for _, p := range payloads {
		*records = append(*records, wal.Record{Payload: p})
	}
	_, err := l.w.Append(*records)
	l.records.Put(records)
	return err
}

func (l *griffinLog) close() error { return l.w.Close() }

func replayGriffin(dir string, each func([]byte)) error {
	w, err := wal.Open(vfs.OS, dir, wal.Options{})
	if err != nil {
		return err
	}
	defer w.Close()
	return w.Replay(0, func(e wal.Entry) error {
		each(e.Payload)
		return nil
	})
}
