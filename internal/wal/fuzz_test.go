package wal

import (
	"errors"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

// FuzzReplay reads any bytes as the last file of a log, behind a valid one or alone. It delivers exactly the records with right checksums; Open makes a log of it that accepts more.
func FuzzReplay(f *testing.F) {
	for _, closed := range []bool{true, false} {
		d, _ := damageLog(f, closed)
		for _, name := range logFiles(d) {
			data := d.Get(name)
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
	first := base0.Get(fileName(testDir, 1))
	f.Fuzz(func(t *testing.T, data []byte, behind bool) {
		d := vfstest.NewDisk()
		number := uint64(1)
		if behind {
			d.Set(fileName(testDir, 1), first)
			number = 2
		}
		if len(data) >= headerLen { // exchange the number, so that other files' bytes are reached
			if h, err := decodeHeader("", data); err == nil {
				h.number = number
				data = append(h.encode(), data[headerLen:]...)
			}
		}
		d.Set(fileName(testDir, number), data)
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
		if d.NumOpen() != 0 {
			t.Fatalf("%d files are open", d.NumOpen())
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
