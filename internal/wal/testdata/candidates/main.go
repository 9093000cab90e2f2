// Candidates measures write-ahead logs side by side, for docs/benchmarks/wal.md:
//
//	go run . [-dir DIR] [-mb 256] [NAME...]
//
// Every append is synced. Each phase writes a log of its own in DIR.
package main

import (
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"
)

// store is a log; append returns when all payloads are durable, and is safe for concurrent use.
type store interface {
	append(payloads [][]byte) error
	close() error
}

type candidate struct {
	name   string
	open   func(dir string) (store, error)
	replay func(dir string, each func(payload []byte)) error // nil: not measured
}

func main() {
	log.SetFlags(0)
	dir := flag.String("dir", os.TempDir(), "where the logs are written")
	mb := flag.Int("mb", 256, "MiB of the phase with batches")
	small := flag.Int("small", 2000, "appends of 1 KiB by one goroutine; 64 goroutines write 10 times as many")
	flag.Parse()
	for _, c := range candidates {
		if flag.NArg() > 0 && !slices.Contains(flag.Args(), c.name) {
			continue
		}
		if err := measure(c, *dir, *mb, *small); err != nil {
			fmt.Printf("%-8s %v\n", c.name, err)
		}
	}
}

func measure(c candidate, dir string, mb, small int) error {
	dir, err := os.MkdirTemp(dir, "candidates-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	random := rand.NewChaCha8([32]byte{})
	megabyte := make([]byte, 1<<20)
	_, _ = random.Read(megabyte)
	batch := slices.Collect(slices.Chunk(megabyte, 1<<10))

	phase := func(name string, goroutines, appends int, payloads [][]byte) (string, error) {
		where := filepath.Join(dir, name)
		s, err := c.open(where)
		if err != nil {
			return "", err
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := time.Now()
		errs := make([]error, goroutines)
		var wg sync.WaitGroup
		for g := range goroutines {
			wg.Go(func() {
				for range appends / goroutines {
					if err := s.append(payloads); err != nil {
						errs[g] = err
						return
					}
				}
			})
		}
		wg.Wait()
		took := time.Since(start)
		runtime.ReadMemStats(&after)
		for _, err := range append(errs, s.close()) {
			if err != nil {
				return "", err
			}
		}
		records := appends * len(payloads)
		fmt.Printf("%-8s %-10s %8.0f MB/s %9.0f records/s %8.1f µs/append %6.2f allocs/record\n", c.name, name,
			float64(records*len(payloads[0]))/1e6/took.Seconds(), float64(records)/took.Seconds(),
			took.Seconds()*1e6/float64(appends), float64(after.Mallocs-before.Mallocs)/float64(records))
		return where, nil
	}
	batches, err := phase("batches", 1, mb, batch)
	if err != nil {
		return fmt.Errorf("batches: %w", err)
	}
	if c.replay != nil {
		if err := replay(c, batches, mb*len(batch)); err != nil {
			return fmt.Errorf("replay: %w", err)
		}
	}
	if _, err = phase("single", 1, small, batch[:1]); err != nil {
		return fmt.Errorf("single: %w", err)
	}
	if _, err = phase("group", 64, 640*(small/64), batch[:1]); err != nil {
		return fmt.Errorf("group: %w", err)
	}
	if c.replay == nil {
		return nil
	}
	return damage(c, dir, batch)
}

func replay(c candidate, dir string, want int) error {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	n, size := 0, 0
	if err := c.replay(dir, func(payload []byte) { n++; size += len(payload) }); err != nil {
		return err
	}
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	if n != want {
		return fmt.Errorf("%d records, want %d", n, want)
	}
	fmt.Printf("%-8s %-10s %8.0f MB/s %9.0f records/s, %d MB allocated\n", c.name, "replay",
		float64(size)/1e6/took.Seconds(), float64(n)/took.Seconds(), (after.TotalAlloc-before.TotalAlloc)/1e6)
	return nil
}

// damage flips a bit in the middle of a log, and clears 4,000 bytes of another, and prints what a
// replay does.
func damage(c candidate, dir string, payloads [][]byte) error {
	for name, change := range map[string]func(data []byte) []byte{
		"flipped": func(data []byte) []byte { data[300_000] ^= 4; return data },
		"cleared": func(data []byte) []byte { clear(data[300_000:304_000]); return data },
	} {
		where := filepath.Join(dir, name)
		s, err := c.open(where)
		if err != nil {
			return err
		}
		if err := s.append(payloads); err != nil {
			return err
		}
		if err := s.close(); err != nil {
			return err
		}
		file, err := largest(where)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := os.WriteFile(file, change(data), 0o600); err != nil {
			return err
		}
		n := 0
		err = c.replay(where, func([]byte) { n++ })
		fmt.Printf("%-8s %-10s replays %d of %d records, error %v\n", c.name, name, n, len(payloads), err)
	}
	return nil
}

func largest(dir string) (file string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	size := int64(-1)
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			return "", err
		}
		// The etcd log keeps an empty file in reserve, raft-wal its state in bbolt.
		if filepath.Ext(e.Name()) == ".tmp" || filepath.Ext(e.Name()) == ".db" || e.IsDir() {
			continue
		}
		if info.Size() > size {
			size, file = info.Size(), filepath.Join(dir, e.Name())
		}
	}
	return file, nil
}
