package wal

import (
	"bytes"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/griffin-search/griffin/internal/vfs"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

// BenchmarkAppend appends to a real disk.
func BenchmarkAppend(b *testing.B) {
	for _, mode := range []Mode{ModeRequest, ModeAsync, ModeInterval} {
		for _, records := range []int{1, 1024} {
			for _, goroutines := range []int{1, 64} {
				name := fmt.Sprintf("mode=%d/records=%d/goroutines=%d", mode, records, goroutines)
				b.Run(name, func(b *testing.B) { benchAppend(b, mode, records, goroutines) })
			}
		}
	}
}

func benchAppend(b *testing.B, mode Mode, records, goroutines int) {
	l, err := Open(vfs.OS, b.TempDir(), Options{Mode: mode})
	if err != nil {
		b.Fatal(err)
	}
	batch := make([]Record, records)
	for i := range batch {
		batch[i].Payload = bytes.Repeat([]byte{byte(i)}, 1024)
	}
	b.SetBytes(int64(records) << 10)
	b.ReportAllocs()
	b.ResetTimer()
	var left atomic.Int64
	left.Store(int64(b.N))
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				if _, err := l.Append(batch); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(l.Stats().Syncs)/float64(b.N), "syncs/op")
	if err := l.TruncateFront(l.Stats().Last + 1); err != nil {
		b.Error(err)
	}
	mustClose(b, l)
}

// BenchmarkReplay replays 1 GiB of records of 1 KiB from files in memory.
func BenchmarkReplay(b *testing.B) {
	dir := b.TempDir()
	l, err := Open(vfs.OS, dir, Options{Mode: ModeAsync})
	if err != nil {
		b.Fatal(err)
	}
	batch := make([]Record, 1024)
	for i := range batch {
		batch[i].Payload = bytes.Repeat([]byte{byte(i)}, 1024)
	}
	for range 1024 {
		if _, err := l.Append(batch); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(1 << 30)
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		if err := l.Replay(0, func(Entry) error { n++; return nil }); err != nil || n != 1<<20 {
			b.Fatal(n, err)
		}
	}
	mustClose(b, l)
}

// BenchmarkOpen opens a log whose process ended after an Append of 64 MiB, which is copied.
func BenchmarkOpen(b *testing.B) {
	d := vfstest.NewDisk()
	batch := make([]Record, 64<<10)
	for i := range batch {
		batch[i].Payload = make([]byte, 1024)
	}
	if _, err := mustOpen(b, d, Options{}).Append(batch); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(64 << 20)
	for b.Loop() {
		b.StopTimer()
		again := d.AfterKill()
		b.StartTimer()
		l := mustOpen(b, again, Options{})
		b.StopTimer()
		mustClose(b, l)
		b.StartTimer()
	}
}
