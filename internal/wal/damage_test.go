package wal

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

// damageLog has three files of some records. closed: the log was closed, otherwise the process
// ended after the last acknowledgement.
func damageLog(t testing.TB, closed bool) (*vfstest.Disk, []string) {
	d := vfstest.NewDisk()
	l := mustOpen(t, d, Options{FileBytes: 300})
	for i := range 8 {
		mustAppend(t, l, strings.Repeat(string(rune('a'+i)), 40), "x")
	}
	want := contents(t, l, 0)
	if closed {
		mustClose(t, l)
	} else {
		d = d.AfterKill()
	}
	return d, want
}

// logFiles are the names of the files of the log, in order.
func logFiles(d *vfstest.Disk) []string {
	return slices.DeleteFunc(d.Names(), func(name string) bool { return !strings.HasPrefix(filepath.Base(name), filePrefix) })
}

// reopen opens and replays a damaged log.
func reopen(d *vfstest.Disk, from Seq) (got []string, torn Torn, err error) {
	l, err := Open(d, testDir, Options{})
	if err != nil {
		return nil, Torn{}, err
	}
	defer l.Close()
	torn, _ = l.Torn()
	err = l.Replay(from, func(e Entry) error {
		got = append(got, fmt.Sprintf("%d:%s", e.Seq, e.Payload))
		return nil
	})
	return got, torn, err
}

// Every bit of every file: damage is an error that names the file, or it is the torn end and
// reported. No wrong record is delivered, and after Close none is missing.
func TestFlippedBits(t *testing.T) {
	for _, closed := range []bool{true, false} {
		d, want := damageLog(t, closed)
		names := logFiles(d)
		if len(names) < 3 {
			t.Fatalf("files %q", names)
		}
		for _, name := range names {
			data := d.Get(name)
			for bit := range 8 * len(data) {
				damaged := d.AfterKill()
				flipped := slices.Clone(data)
				flipped[bit/8] ^= 1 << (bit % 8)
				damaged.Set(name, flipped)
				got, torn, err := reopen(damaged, 0)
				if len(got) > len(want) || !slices.Equal(got, want[:len(got)]) {
					t.Fatalf("%s bit %d: %q", name, bit, got)
				}
				last := name == names[len(names)-1]
				switch {
				case err != nil:
					if !errors.Is(err, base.ErrCorrupt) || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "byte") {
						t.Fatalf("%s bit %d: %v", name, bit, err)
					}
				case torn.File != name || !last || torn.LostBytes == 0:
					t.Fatalf("%s bit %d: not found; torn %+v", name, bit, torn)
				case closed && len(got) != len(want):
					t.Fatalf("%s bit %d: %d records without an error, torn %+v", name, bit, len(got), torn)
				case len(got) < len(want)-2: // the last Append has no confirmation
					t.Fatalf("%s bit %d: %d records without an error, torn %+v", name, bit, len(got), torn)
				}
			}
		}
	}
}

// Every length of the last file.
func TestTruncatedFile(t *testing.T) {
	d, want := damageLog(t, false)
	names := logFiles(d)
	name := names[len(names)-1]
	data := d.Get(name)
	for n := range data {
		damaged := d.AfterKill()
		damaged.Set(name, data[:n])
		got, torn, err := reopen(damaged, 0)
		if err != nil || len(got)%2 != 0 || !slices.Equal(got, want[:len(got)]) || len(got) < 8 {
			t.Fatalf("%d bytes: %q, %v", n, got, err)
		}
		if whole := n == headerLen; (torn.File == name) == whole && len(got) < len(want)-2 {
			t.Fatalf("%d bytes: torn %+v", n, torn)
		}
		again, torn, err := reopen(damaged, 0) // the end was cut off
		if err != nil || !slices.Equal(got, again) || torn != (Torn{}) {
			t.Fatalf("%d bytes, again: %q, %+v, %v", n, again, torn, err)
		}
		l := mustOpen(t, damaged, Options{})
		if first := mustAppend(t, l, "new"); int(first) != len(got)+1 {
			t.Fatalf("%d bytes: number %d after %d records", n, first, len(got))
		}
		mustClose(t, l)
		if again, _, err := reopen(damaged, 0); err != nil || len(again) != len(got)+1 {
			t.Fatalf("%d bytes, with a new record: %q, %v", n, again, err)
		}
	}
}

// A record with a right number and checksum that was written after another history is found, in
// a file and over files.
func TestChain(t *testing.T) {
	h := header{id: 5, number: 1, first: 1}
	build := func(texts ...string) (data []byte, ends []int) {
		at := position{}
		data = h.encode()
		for _, text := range texts {
			at.seq++
			data, at.crc = appendFrame(data, h.seed(), frame{prev: at.crc, kind: kindLast, typ: 1, seq: at.seq}, []byte(text))
			ends = append(ends, len(data))
		}
		next := header{id: 5, number: 2, first: at.seq + 1, prev: at.crc, prevEnd: int64(len(data))}
		return append(data, next.encode()...), ends
	}
	one, ends := build("a", "b", "c")
	other, _ := build("a", "x", "c")
	for name, data := range map[string][]byte{
		"unchanged":   one,
		"in the file": slices.Concat(one[:ends[1]], other[ends[1]:]),
		"over files":  slices.Concat(one[:ends[2]], other[ends[2]:]),
	} {
		d := vfstest.NewDisk()
		d.Set(fileName(testDir, 1), data[:ends[2]])
		d.Set(fileName(testDir, 2), data[ends[2]:])
		_, err := Scan(d, testDir, 0, func(Entry) error { return nil })
		if errors.Is(err, base.ErrCorrupt) != (name != "unchanged") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// A torn file that was just begun, behind a file with a torn end.
func TestTornHeader(t *testing.T) {
	d, want := damageLog(t, false)
	names := logFiles(d)
	name := names[len(names)-1]
	d.Set(name, append(d.Get(name), "garbage"...))
	next := fileName(testDir, 99)
	d.Set(next, []byte(magic))
	l := mustOpen(t, d, Options{})
	if torn, _ := l.Torn(); torn.File != next || d.Get(next) != nil {
		t.Errorf("torn %+v", torn)
	}
	mustAppend(t, l, "more")
	wantContents(t, l, 0, append(want, fmt.Sprintf("%d:more", len(want)+1))...)
	mustClose(t, l)
	l = mustOpen(t, d, Options{})
	wantContents(t, l, 0, append(want, fmt.Sprintf("%d:more", len(want)+1))...)
	mustClose(t, l)
}

// Scan reports the torn end and writes nothing.
func TestScanDoesNotChange(t *testing.T) {
	d, want := damageLog(t, false)
	names := logFiles(d)
	name := names[len(names)-1]
	d.Set(name, append(d.Get(name), "garbage"...))
	before := d.AfterKill()
	n := 0
	torn, err := Scan(d, testDir, 0, func(Entry) error { n++; return nil })
	if err != nil || n != len(want) || torn.LostBytes != 7 || torn.File != name {
		t.Errorf("%d records, %+v, %v", n, torn, err)
	}
	for _, name := range names {
		if !slices.Equal(d.Get(name), before.Get(name)) {
			t.Errorf("%s changed", name)
		}
	}
}
