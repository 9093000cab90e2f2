package wal

import (
	"errors"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/sampletest"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

func TestSeqOf(t *testing.T) {
	for _, test := range []struct {
		seq          Seq
		term, number uint64
	}{
		{1, 1, 0}, {2, 1, 1}, {1 << 40, 1, 1<<40 - 1}, {1<<40 + 1, 2, 0}, {3<<40 + 8, 4, 7}, {1 << 63, 1 << 23, 1<<40 - 1},
	} {
		if term, number := test.seq.Term(), test.seq.Number(); term != test.term || number != test.number {
			t.Errorf("%d is %d of term %d", test.seq, number, term)
		}
		if seq, ok := SeqOf(test.term, test.number); !ok || seq != test.seq {
			t.Errorf("%d of term %d is %d, %t, want %d", test.number, test.term, seq, ok, test.seq)
		}
	}
	for _, none := range [][2]uint64{{0, 0}, {1<<23 + 1, 0}, {1, 1 << 40}, {1<<31 - 1, 5}, {1<<64 - 1, 1<<64 - 1}} {
		if seq, ok := SeqOf(none[0], none[1]); ok {
			t.Errorf("%d of term %d is %d", none[1], none[0], seq)
		}
	}
}

// A loss of power takes acknowledged records away. Their numbers are not given again, also if that happens again before
// one is durable, and if the log is closed without records in between.
func TestLostTail(t *testing.T) {
	for _, mode := range []Mode{ModeAsync, ModeInterval} {
		synctest.Test(t, func(t *testing.T) { testLostTail(t, mode) })
	}
}

func testLostTail(t *testing.T, mode Mode) {
	random := rand.New(rand.NewPCG(1, uint64(mode)))
	d := vfstest.NewDisk()
	l := mustOpen(t, d, Options{Mode: ModeRequest})
	given := map[Seq]bool{mustAppend(t, l, "safe"): true}
	mustClose(t, l)
	lost := 0
	for round := range 40 {
		// The first syncs are of the term, the file and the folders. Then a sync outlasts all appends.
		d.Change(func(f *vfstest.DiskFaults) { f.SyncDelay = slowSync })
		l = mustOpen(t, d, Options{Mode: mode, Interval: time.Hour})
		if round%3 > 0 {
			crashAt := d.NumOps() + 20
			d.Change(func(f *vfstest.DiskFaults) { f.CrashAt = crashAt })
		}
		for {
			first, err := l.Append(recordsOf("lost?"))
			if err != nil || round%3 == 0 {
				break
			}
			if given[first] {
				t.Fatalf("round %d: number %d again, after %d lost ones", round, first, lost)
			}
			given[first] = true
		}
		_ = l.Close()
		if round%3 > 0 {
			d = d.AfterCrash(random)
		}
		d.Change(func(f *vfstest.DiskFaults) { f.CrashAt = 0 })
		if round%5 == 0 {
			mustClose(t, mustOpen(t, d, Options{Mode: mode}))
		}
		l = mustOpen(t, d, Options{})
		found := map[string]bool{}
		for _, c := range contents(t, l, 0) {
			number, _, _ := strings.Cut(c, ":")
			found[number] = true
		}
		lost = max(lost, len(given)-len(found))
		if last := l.Stats().Last; last.Term() > uint64(round)+2 {
			t.Fatalf("round %d: term %d", round, last.Term())
		}
		mustClose(t, l)
	}
	if lost < 100 {
		t.Errorf("mode %d: only %d lost records", mode, lost)
	}
}

// A log of which all records are wanted opens after any two crashes: no term has a file that a loss of power takes away.
func TestTermAfterTwoCrashes(t *testing.T) {
	sampletest.SkipRace(t) // TestCrash runs the same goroutines
	process := func(d *vfstest.Disk, crashIn int, opts Options) (over bool) {
		crashAt := d.NumOps() + crashIn
		d.Change(func(f *vfstest.DiskFaults) { f.CrashAt = crashAt })
		if l, err := Open(d, testDir, opts); err == nil {
			for range 2 {
				_, _ = l.Append(recordsOf("lost?")) // or it crashes
			}
			_ = l.Close()
		}
		return d.NumOps() < crashAt
	}
	runs, later := 0, 0
	for i := range 8 { // modes, and an Append or two in a file
		modes := [2]Mode{[]Mode{ModeRequest, ModeAsync}[i&1], []Mode{ModeRequest, ModeAsync}[i>>1&1]}
		fileBytes := []int64{headerLen, 1 << 20}[i>>2]
		for first, over := 1, false; !over; first++ {
			d := vfstest.NewDisk()
			over = process(d, first, Options{Mode: modes[0], FileBytes: fileBytes})
			for second, over := 1, false; !over; second++ {
				random := rand.New(rand.NewPCG(uint64(first), uint64(second)))
				d := d.AfterKill()
				if random.IntN(4) == 0 {
					d = d.AfterCrash(random)
				}
				over = process(d, second, Options{Mode: modes[1], FileBytes: fileBytes})
				for range 4 {
					after := d.AfterCrash(random)
					l, err := Open(after, testDir, Options{})
					if err == nil {
						err = l.Replay(1, func(Entry) error { return nil })
					}
					if err != nil {
						t.Fatalf("modes %v, %d bytes a file, crashes at the operations %d and %d: %v: %q", modes, fileBytes, first, second, err, after.Names())
					}
					if runs++; mustAppend(t, l, "next").Term() > 1 {
						later++
					}
					mustClose(t, l)
				}
			}
		}
	}
	if later == 0 || later == runs {
		t.Errorf("%d of %d logs have a later term", later, runs)
	}
}

// No term begins if nothing acknowledged can be lost.
func TestSameTerm(t *testing.T) {
	for name, test := range map[string]struct {
		modes []Mode // of Open, then of SetMode
		close bool
		terms uint64
	}{
		"closed":              {[]Mode{ModeAsync}, true, 1},
		"killed":              {[]Mode{ModeAsync}, false, 2},
		"request, killed":     {[]Mode{ModeRequest}, false, 1},
		"later async, killed": {[]Mode{ModeRequest, ModeInterval}, false, 2},
		"later async, closed": {[]Mode{ModeRequest, ModeInterval}, true, 1},
		"later request":       {[]Mode{ModeAsync, ModeRequest}, false, 1},
	} {
		d := vfstest.NewDisk()
		l := mustOpen(t, d, Options{Mode: test.modes[0], Interval: time.Hour})
		mustAppend(t, l, "a")
		for _, mode := range test.modes[1:] {
			if err := l.SetMode(mode, time.Hour); err != nil {
				t.Fatal(err)
			}
			mustAppend(t, l, "b")
		}
		if test.close {
			mustClose(t, l)
		}
		l = mustOpen(t, d.AfterKill(), Options{Mode: ModeAsync})
		if next := mustAppend(t, l, "next"); next.Term() != test.terms || next.Number() != uint64(len(test.modes)) {
			t.Errorf("%s: the next record is %d of term %d, want %d", name, next.Number(), next.Term(), test.terms)
		}
		mustClose(t, l)
	}
}

// A log of a version without terms may have lost records. A damaged file is an error that explains how to continue.
func TestTermFile(t *testing.T) {
	d := vfstest.NewDisk()
	l := mustOpen(t, d, Options{})
	mustAppend(t, l, "a")
	mustClose(t, l)
	name := filepath.Join(testDir, termName)
	good := d.Get(name)
	for at := range len(good) + 1 {
		bad := append([]byte{}, good...)
		if at < len(good) {
			bad[at] ^= 1
		} else {
			bad = append(bad, 0)
		}
		d.Set(name, bad)
		if _, err := Open(d, testDir, Options{}); !errors.Is(err, base.ErrCorrupt) || !strings.Contains(err.Error(), "remove the file") {
			t.Errorf("byte %d: %v", at, err)
		}
	}
	if err := d.Remove(name); err != nil {
		t.Fatal(err)
	}
	l = mustOpen(t, d, Options{})
	if next := mustAppend(t, l, "b"); next != 1<<termBits+2 {
		t.Errorf("the next record is %d", next)
	}
	mustClose(t, l)
	newer := term{}.encode()
	newer[8]++
	sealTerm(newer)
	d.Set(name, newer)
	if _, err := Open(d, testDir, Options{}); !errors.Is(err, base.ErrVersion) {
		t.Errorf("newer version: %v", err)
	}
	impossible := term{}.encode()
	impossible[12] = 2
	sealTerm(impossible)
	d.Set(name, impossible)
	if _, err := Open(d, testDir, Options{}); !errors.Is(err, base.ErrCorrupt) {
		t.Errorf("impossible values: %v", err)
	}
}

// A mode in which records can be lost is refused if the term file cannot be written.
func TestTermWithoutRoom(t *testing.T) {
	d := vfstest.NewDisk()
	l := mustOpen(t, d, Options{})
	mustAppend(t, l, "a")
	setCapacity(d, d.Used())
	if err := l.SetMode(ModeAsync, 0); !errors.Is(err, ErrFull) {
		t.Errorf("SetMode: %v", err)
	}
	setCapacity(d, 0)
	mustAppend(t, l, "b")
	if s := l.Stats(); s.Durable != s.Last {
		t.Errorf("the mode changed: %+v", s)
	}
	if err := l.SetMode(ModeAsync, 0); err != nil {
		t.Error(err)
	}
	mustClose(t, l)
}
