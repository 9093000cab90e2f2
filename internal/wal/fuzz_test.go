package wal

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
)

// FuzzReplay reads any bytes as the last file of a log, behind a valid one or alone. What it
// delivers is what the checksums say; Open makes a log of it that accepts more.
func FuzzReplay(f *testing.F) {
	for _, closed := range []bool{true, false} {
		d, _ := damageLog(f, closed)
		for _, name := range slices.Sorted(maps.Keys(d.now)) {
			data := d.now[name].data
			f.Add(data, true)
			f.Add(data, false)
			f.Add(data[:len(data)-5], true)
			cut := slices.Clone(data)
			clear(cut[len(cut)/2:])
			f.Add(cut, true)
		}
	}
	f.Add([]byte(magic), false)
	base0, _ := damageLog(f, true)
	first := base0.now[fileName(testDir, 1)].data
	f.Fuzz(func(t *testing.T, data []byte, behind bool) {
		d := newDisk()
		number := uint64(1)
		if behind {
			d.now[fileName(testDir, 1)] = &inode{data: first, synced: len(first)}
			number = 2
		}
		if len(data) >= headerLen { // exchange the number, so that other files' bytes are reached
			if h, err := decodeHeader("", data); err == nil {
				h.number = number
				data = append(h.encode(), data[headerLen:]...)
			}
		}
		d.now[fileName(testDir, number)] = &inode{data: data, synced: len(data)}
		var n, last int
		_, scanErr := Scan(d, testDir, 0, func(e Entry) error {
			if n++; int(e.Seq) <= last {
				t.Errorf("record %d after %d", e.Seq, last)
			}
			last = int(e.Seq)
			return nil
		})
		if scanErr != nil && !errors.Is(scanErr, base.ErrCorrupt) && !errors.Is(scanErr, base.ErrVersion) {
			t.Fatal(scanErr)
		}
		if d.open != 0 {
			t.Fatalf("%d files are open", d.open)
		}
		if scanErr != nil {
			return
		}
		l := mustOpen(t, d, Options{})
		mustAppend(t, l, "more")
		again := 0
		if err := l.Replay(0, func(Entry) error { again++; return nil }); err != nil || again != n+1 {
			t.Fatalf("%d records, then %d, %v", n, again, err)
		}
		mustClose(t, l)
	})
}
