package wal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/griffin-search/griffin/internal/sampletest"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

// history has the appended records, over all restarts.
type history struct {
	mu    sync.Mutex
	next  uint64
	tried map[uint64]int // number of records by Append
	acked map[uint64]Seq // first number by Append
	given map[Seq]uint64 // Append by acknowledged number, also of lost records
	kept  Seq            // no record from here on may be missing
	safe  Seq            // no acknowledged record up to here may be missing
}

func newHistory() *history {
	return &history{tried: map[uint64]int{}, acked: map[uint64]Seq{}, given: map[Seq]uint64{}, kept: 1}
}

// payload names the Append and the place in it, and can be checked.
func payload(dst []byte, batch uint64, i, n, size int) []byte {
	dst = binary.LittleEndian.AppendUint64(dst[:0], batch)
	dst = append(dst, byte(i), byte(n))
	for len(dst) < size {
		dst = append(dst, byte(len(dst))+byte(batch))
	}
	return dst
}

func checkPayload(p []byte) (batch uint64, i, n int, err error) {
	if len(p) < 10 {
		return 0, 0, 0, fmt.Errorf("a payload of %d bytes", len(p))
	}
	batch, i, n = binary.LittleEndian.Uint64(p), int(p[8]), int(p[9])
	for at := 10; at < len(p); at++ {
		if p[at] != byte(at)+byte(batch) {
			return 0, 0, 0, fmt.Errorf("byte %d of the payload is wrong", at)
		}
	}
	return batch, i, n, nil
}

// append appends random records.
func (h *history) append(l Log, random *rand.Rand, mode Mode) error {
	n := 1 + random.IntN(4)
	h.mu.Lock()
	batch := h.next
	h.next++
	h.tried[batch] = n
	h.mu.Unlock()
	records := make([]Record, n)
	for i := range records {
		size := 10 + random.IntN(60)
		if random.IntN(8) == 0 {
			size = random.IntN(3000)
		}
		records[i] = Record{Type: byte(batch), Payload: payload(nil, batch, i, n, size)}
	}
	first, err := l.Append(records)
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.acked[batch] = first
	for i := range Seq(n) {
		if before, again := h.given[first+i]; again {
			panic(fmt.Sprintf("number %d is of the Appends %d and %d", first+i, before, batch))
		}
		h.given[first+i] = batch
	}
	if mode == ModeRequest {
		h.safe = max(h.safe, first+Seq(n)-1)
	}
	return nil
}

// check compares a log with the history. whole: all acknowledged records must be there.
func (h *history) check(t *testing.T, l Log, whole bool) {
	t.Helper()
	terms := 0 // that began, between records of an Append or after the last
	follows := func(next, last Seq) bool {
		if next != last+1 && next.Term() > (last+1).Term() && next.Number() >= (last+1).Number() {
			terms++
			return true
		}
		return next == last+1
	}
	want := Seq(0)
	seen := map[uint64]bool{}
	var batch uint64
	var place, batchLen int
	err := l.Replay(0, func(e Entry) error {
		if want != 0 && (!follows(e.Seq, want-1) || e.Seq != want && place != batchLen) {
			return fmt.Errorf("record %d follows %d", e.Seq, want-1)
		}
		want = e.Seq + 1
		b, i, n, err := checkPayload(e.Payload)
		if err != nil {
			return fmt.Errorf("record %d: %w", e.Seq, err)
		}
		if place == batchLen { // a new Append
			batch, place, batchLen = b, 0, n
			if seen[b] {
				return fmt.Errorf("record %d: Append %d is there twice", e.Seq, b)
			}
			seen[b] = true
			if first, ok := h.acked[b]; ok && first != e.Seq {
				return fmt.Errorf("Append %d is at %d, was acknowledged at %d", b, e.Seq, first)
			}
			if n != h.tried[b] {
				return fmt.Errorf("record %d: no such Append %d", e.Seq, b)
			}
		}
		if b != batch || i != place || n != batchLen || e.Type != byte(b) {
			return fmt.Errorf("record %d is record %d of Append %d, want record %d of %d", e.Seq, i, b, place, batch)
		}
		place++
		return nil
	})
	if err == nil {
		err = l.Replay(h.kept, func(Entry) error { return nil })
	}
	if err != nil {
		t.Fatal(err)
	}
	if place != batchLen {
		t.Fatalf("Append %d has %d of %d records", batch, place, batchLen)
	}
	s := l.Stats()
	if want != 0 && !follows(s.Last+1, want-1) || s.First > h.kept && s.First > s.Last+1 {
		t.Fatalf("Stats %+v, replayed to %d", s, want-1)
	}
	for b, first := range h.acked {
		if first >= h.kept && !seen[b] && (whole || first <= h.safe) {
			t.Fatalf("Append %d at %d is missing; safe to %d, kept from %d, %+v", b, first, h.safe, h.kept, s)
		}
	}
	if terms > 0 && whole {
		t.Fatalf("%d terms began, and nothing was lost", terms)
	}
	// A record that is missing now never comes back.
	for b := range h.acked {
		if !seen[b] {
			delete(h.acked, b)
		}
	}
	h.safe = s.Last
}

const testDir = "log"

func seeds() int {
	if sampletest.All() {
		return 20_000
	}
	return sampletest.UnderRace(800, 60)
}

// TestCrash crashes the machine at random operations of random histories, again and again on the
// same disk. Each process has one of the modes. Syncs fail in some.
func TestCrash(t *testing.T) {
	for _, modes := range [][]Mode{{ModeRequest}, {ModeAsync}, {ModeRequest, ModeAsync}} {
		t.Run(fmt.Sprintf("modes=%d", modes), func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(seeds()) {
				random := rand.New(rand.NewPCG(seed, uint64(len(modes))<<8|uint64(modes[0])))
				d, h := vfstest.NewDisk(), newHistory()
				for range 4 {
					mode := modes[random.IntN(len(modes))]
					crashAt := d.NumOps() + 1 + random.IntN(150)
					d.Change(func(f *vfstest.DiskFaults) { f.CrashAt = crashAt })
					crashOnce(t, d, h, crashAt, random, mode)
					if d.NumOpen() != 0 {
						t.Fatalf("seed %d: %d files are open", seed, d.NumOpen())
					}
					if random.IntN(3) == 0 {
						d = d.AfterKill()
					} else {
						d = d.AfterCrash(random)
					}
				}
				d.Change(func(f *vfstest.DiskFaults) { f.CrashAt = 0 })
				l, err := Open(d, testDir, Options{Mode: modes[0]})
				if err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				h.check(t, l, false)
				if err := l.Close(); err != nil || t.Failed() {
					t.Fatalf("seed %d: %v", seed, err)
				}
			}
		})
	}
}

func crashOnce(t *testing.T, d *vfstest.Disk, h *history, crashAt int, random *rand.Rand, mode Mode) {
	t.Helper()
	l, err := Open(d, testDir, Options{Mode: mode, FileBytes: int64(200 + random.IntN(4000))})
	if errors.Is(err, vfstest.ErrCrashed) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	before := crashAt - d.NumOps()
	d.Change(func(f *vfstest.DiskFaults) { f.CrashAt = 0 }) // the check reads much
	h.check(t, l, false)
	crashAt = d.NumOps() + before
	d.Change(func(f *vfstest.DiskFaults) {
		f.CrashAt = crashAt
		switch random.IntN(8) {
		case 0:
			f.FailSyncs = 1
		case 1:
			f.FailDirSyncs = 1
		}
	})
	defer d.Change(func(f *vfstest.DiskFaults) { f.FailSyncs, f.FailDirSyncs = 0, 0 })
	var wg sync.WaitGroup
	most := 1 + random.IntN(60) // of them can end before the crash
	for range 3 {
		mine := rand.New(rand.NewPCG(random.Uint64(), 1))
		wg.Go(func() {
			for range most {
				if h.append(l, mine, mode) != nil {
					return
				}
				switch mine.IntN(12) {
				case 0:
					if s := l.Stats(); s.Durable > 0 {
						keep := s.Durable - min(s.Durable-1, Seq(mine.IntN(10)))
						h.mu.Lock()
						h.kept = max(h.kept, keep)
						h.mu.Unlock()
						if l.TruncateFront(keep) != nil {
							return
						}
					}
				case 1:
					_ = l.Sync()
				case 2:
					s := l.Stats()
					h.mu.Lock()
					h.safe = max(h.safe, s.Durable)
					h.mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	_ = l.Close()
}
