package main

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

func TestCollectorPercent(t *testing.T) {
	const room = 512 << 20
	for live, want := range map[uint64][2]int64{
		0: {1000, 1000}, 10 << 20: {1000, 1000}, 64 << 20: {800, 800}, 128 << 20: {400, 400}, 256 << 20: {200, 200}, 384 << 20: {200, 133},
		512 << 20: {200, 100}, 5 << 30: {200, 100},
	} {
		for i, least := range []int64{leastPercent, writersLeast} {
			if got := collectorPercent(live, room, least); got != want[i] {
				t.Errorf("%d MiB live, at least %d: GOGC=%d, want %d", live>>20, least, got, want[i])
			}
		}
	}
}

func TestCollectorRoom(t *testing.T) {
	for _, c := range []struct {
		available int64
		writes    bool
		want      uint64
	}{
		{0, false, 64 << 20},
		{512 << 20, true, 64 << 20},
		{4 << 30, false, 256 << 20},
		{4 << 30, true, 256 << 20},
		{32 << 30, false, 2 << 30},
		{32 << 30, true, 512 << 20},
		{1 << 40, false, 4 << 30},
	} {
		if got := collectorRoom(c.available, c.writes); got != c.want {
			t.Errorf("%d MiB available, writes %t: %d MiB, want %d", c.available>>20, c.writes, got>>20, c.want>>20)
		}
	}
}

// GOGC follows the live heap after each collection, and stays if the environment sets it.
func TestTuneCollector(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	t.Setenv("GOGC", "70")
	tuneCollector(1, false)
	if got := debug.SetGCPercent(-1); got != -1 {
		t.Fatalf("GOGC is %d, want none", got)
	}
	c := &collector{room: 32 << 20, least: leastPercent}
	defer c.ended.Store(true)
	c.collected(0)
	live := make([]byte, 64<<20) // more than half of the room
	for _, small := range []bool{false, true} {
		end := time.Now().Add(patience)
		for ; (c.percent.Load() > leastPercent) != small; runtime.GC() {
			if time.Now().After(end) {
				t.Fatalf("GOGC is %d after collections; small: %t", c.percent.Load(), small)
			}
			time.Sleep(time.Millisecond) // the cleanup has a goroutine
		}
		runtime.KeepAlive(live)
		live = nil
	}
}
