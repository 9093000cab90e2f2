package wal

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/sampletest"
	"github.com/griffin-search/griffin/internal/vfs"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

func mustOpen(t testing.TB, fsys vfs.FS, opts Options) *Dir {
	t.Helper()
	l, err := Open(fsys, testDir, opts)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func mustAppend(t testing.TB, l Log, payloads ...string) Seq {
	t.Helper()
	first, err := l.Append(recordsOf(payloads...))
	if err != nil {
		t.Fatal(err)
	}
	return first
}

func recordsOf(payloads ...string) []Record {
	records := make([]Record, len(payloads))
	for i, p := range payloads {
		records[i] = Record{Type: byte(len(p)), Payload: []byte(p)}
	}
	return records
}

func mustClose(t testing.TB, l Log) {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// contents returns the records from number from on, such as "3:abc".
func contents(t testing.TB, l Log, from Seq) (all []string) {
	t.Helper()
	err := l.Replay(from, func(e Entry) error {
		if int(e.Type) != len(e.Payload)&255 {
			return fmt.Errorf("record %d has type %d", e.Seq, e.Type)
		}
		all = append(all, fmt.Sprintf("%d:%s", e.Seq, e.Payload))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func wantContents(t testing.TB, l Log, from Seq, want ...string) {
	t.Helper()
	if got := contents(t, l, from); !slices.Equal(got, want) {
		t.Errorf("from %d the log has %q, want %q", from, got, want)
	}
}

// The same on every file system.
func TestAllFileSystems(t *testing.T) {
	for name, fsys := range map[string]vfs.FS{"disk": vfstest.NewDisk(), "mem": vfstest.NewMem(), "os": vfs.OS} {
		t.Run(name, func(t *testing.T) {
			if name == "os" {
				t.Chdir(t.TempDir())
			}
			l := mustOpen(t, fsys, Options{})
			if s := l.Stats(); s != (Stats{First: 1}) {
				t.Errorf("new: %+v", s)
			}
			wantContents(t, l, 0)
			if first := mustAppend(t, l, "a", "bb"); first != 1 {
				t.Errorf("first record %d", first)
			}
			if first := mustAppend(t, l, ""); first != 3 {
				t.Errorf("third record %d", first)
			}
			wantContents(t, l, 0, "1:a", "2:bb", "3:")
			mustClose(t, l)
			l = mustOpen(t, fsys, Options{FileBytes: 1})
			if torn, ok := l.Torn(); ok {
				t.Errorf("torn %+v", torn)
			}
			if s := l.Stats(); s.First != 1 || s.Last != 3 || s.Durable != 3 || s.Files != 1 {
				t.Errorf("opened again: %+v", s)
			}
			mustAppend(t, l, "d")
			big := strings.Repeat("x", 3*readBytes)
			mustAppend(t, l, big)
			wantContents(t, l, 0, "1:a", "2:bb", "3:", "4:d", "5:"+big)
			wantContents(t, l, 4, "4:d", "5:"+big)
			wantContents(t, l, 6)
			if s := l.Stats(); s.Files != 3 || s.SizeBytes <= int64(len(big)) {
				t.Errorf("%+v, want 3 files", s)
			}
			mustClose(t, l)
			var n int
			if torn, err := Scan(fsys, testDir, 2, func(Entry) error { n++; return nil }); err != nil || n != 4 || torn != (Torn{}) {
				t.Errorf("Scan: %d records, %+v, %v", n, torn, err)
			}
		})
	}
}

func TestTruncateFront(t *testing.T) {
	d := vfstest.NewDisk()
	l := mustOpen(t, d, Options{FileBytes: 200})
	if err := l.TruncateFront(1); err != nil || l.Stats().Files != 0 {
		t.Errorf("empty log: %v, %+v", err, l.Stats())
	}
	for i := range 20 {
		mustAppend(t, l, strings.Repeat(string(rune('a'+i)), 30))
	}
	files := l.Stats().Files
	before := files
	for keep := range Seq(21) {
		if err := l.TruncateFront(keep); err != nil {
			t.Fatal(err)
		}
		s := l.Stats()
		if s.Files > before {
			t.Errorf("keep %d: %d files, before %d", keep, s.Files, before)
		}
		before = s.Files
		if s.First > max(keep, 1) || s.First+6 < keep || s.Last != 20 {
			t.Errorf("keep %d: %+v", keep, s)
		}
		if got := contents(t, l, max(keep, 1)); len(got) != 21-int(max(keep, 1)) {
			t.Errorf("keep %d: %d records", keep, len(got))
		}
	}
	if err := l.Replay(1, nil); !errors.Is(err, ErrTruncated) {
		t.Errorf("removed records: %v", err)
	}
	if err := l.TruncateFront(21); err != nil {
		t.Fatal(err)
	}
	if s := l.Stats(); s.First != 21 || s.Last != 20 || s.Files != 1 || s.SizeBytes != headerLen || files < 4 {
		t.Errorf("empty: %+v; before %d files", s, files)
	}
	if err := l.TruncateFront(100); err != nil { // nothing to do
		t.Fatal(err)
	}
	mustClose(t, l)
	l = mustOpen(t, d, Options{})
	if first := mustAppend(t, l, "u"); first != 21 {
		t.Errorf("record %d after all were removed, want 21", first)
	}
	mustClose(t, l)
}

func TestTruncateDuringReplay(t *testing.T) {
	l := mustOpen(t, vfstest.NewDisk(), Options{FileBytes: 1})
	for range 5 {
		mustAppend(t, l, "a")
	}
	err := l.Replay(0, func(Entry) error { return l.TruncateFront(4) })
	if !errors.Is(err, ErrTruncated) {
		t.Errorf("Replay: %v, want ErrTruncated", err)
	}
	mustClose(t, l)
}

func TestDefaults(t *testing.T) {
	var o Options
	if o.setDefaults(); o.Interval != time.Second || o.FileBytes != 64<<20 {
		t.Errorf("%+v", o)
	}
	o = Options{Interval: time.Minute, FileBytes: 1}
	if o.setDefaults(); o.Interval != time.Minute || o.FileBytes != 1 {
		t.Errorf("%+v", o)
	}
}

// The caller's number continues even if the log is lost, in a new term.
func TestAfter(t *testing.T) {
	const of = 1 << termBits
	d := vfstest.NewDisk()
	l := mustOpen(t, d, Options{After: 7})
	if s := l.Stats(); s.First != of+8 || s.Last != of+7 || s.Durable != of+7 || l.Found() != 0 {
		t.Errorf("%+v", s)
	}
	if first := mustAppend(t, l, "x"); first != of+8 || first.Term() != 2 || first.Number() != 7 {
		t.Errorf("first record %d", first)
	}
	mustClose(t, l)
	l = mustOpen(t, d, Options{After: 5})
	mustAppend(t, l, "y")
	mustClose(t, l)
	l = mustOpen(t, d, Options{After: of + 20})
	mustAppend(t, l, "z")
	x, y, z := fmt.Sprintf("%d:x", of+8), fmt.Sprintf("%d:y", of+9), fmt.Sprintf("%d:z", of+21)
	wantContents(t, l, 0, x, y, z)
	wantContents(t, l, of+21, z)
	mustClose(t, l)
	l = mustOpen(t, d, Options{})
	wantContents(t, l, 8, x, y, z)
	if err := l.Replay(7, func(Entry) error { return nil }); !errors.Is(err, ErrTruncated) {
		t.Errorf("Replay of a record that is missing: %v", err)
	}
	if _, err := Scan(d, testDir, 8, func(Entry) error { return nil }); err != nil {
		t.Error(err)
	}
	mustClose(t, l)
}

// The name of the folder becomes durable even if the process that made the folder was killed before
// it synced the parent.
func TestFolderIsDurable(t *testing.T) {
	d := vfstest.NewDisk()
	if err := d.MkdirAll(testDir); err != nil {
		t.Fatal(err)
	}
	d = d.AfterKill()
	mustAppend(t, mustOpen(t, d, Options{}), "a")
	for seed := range uint64(20) {
		l := mustOpen(t, d.AfterCrash(rand.New(rand.NewPCG(seed, 1))), Options{})
		wantContents(t, l, 0, "1:a")
		mustClose(t, l)
	}
}

func TestErrors(t *testing.T) {
	d := vfstest.NewDisk()
	l := mustOpen(t, d, Options{})
	if _, err := Open(d, testDir, Options{}); !errors.Is(err, base.ErrLocked) {
		t.Errorf("second Open: %v", err)
	}
	if _, err := l.Append(nil); !errors.Is(err, base.ErrBadInput) {
		t.Errorf("no records: %v", err)
	}
	if _, err := l.Append([]Record{{Payload: make([]byte, MaxPayloadBytes+1)}}); !errors.Is(err, base.ErrBadInput) {
		t.Errorf("a large record: %v", err)
	}
	mustAppend(t, l, "a", "b")
	stop := errors.New("stop")
	if err := l.Replay(0, func(Entry) error { return stop }); err != stop { //nolint:errorlint // unchanged
		t.Errorf("Replay returned %v, want the function's error", err)
	}
	mustClose(t, l)
	mustClose(t, l)
	_, err := l.Append(recordsOf("c"))
	for _, err := range []error{err, l.Sync(), l.Replay(0, nil), l.TruncateFront(1)} {
		if !errors.Is(err, base.ErrClosed) {
			t.Errorf("closed: %v", err)
		}
	}
	if d.NumOpen() != 0 {
		t.Errorf("%d files are open", d.NumOpen())
	}
}

// Files that were exchanged, renamed or lost.
func TestForeignFiles(t *testing.T) {
	makeLog := func(files int) *vfstest.Disk {
		d := vfstest.NewDisk()
		l := mustOpen(t, d, Options{FileBytes: 1})
		for range files {
			mustAppend(t, l, "record")
		}
		mustClose(t, l)
		return d
	}
	name := func(n uint64) string { return fileName(testDir, n) }
	check := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		name   string
		change func(d *vfstest.Disk)
		want   error
	}{
		{"lost in the middle", func(d *vfstest.Disk) { check(d.Remove(name(3))) }, base.ErrCorrupt},
		{"of another log", func(d *vfstest.Disk) { d.Set(name(3), makeLog(4).Get(name(3))) }, base.ErrCorrupt},
		{"renamed", func(d *vfstest.Disk) { d.Set(name(9), d.Get(name(1))) }, base.ErrCorrupt},
		{"empty in the middle", func(d *vfstest.Disk) { d.Set(name(2), nil) }, base.ErrCorrupt},
		{"shorter", func(d *vfstest.Disk) { d.Set(name(2), d.Get(name(2))[:len(d.Get(name(2)))-1]) }, base.ErrCorrupt},
		{"unreadable", func(d *vfstest.Disk) { d.Change(func(f *vfstest.DiskFaults) { f.FailReads = true }) }, nil},
		{"first lost", func(d *vfstest.Disk) { check(d.Remove(name(1))) }, ErrTruncated},
		{"newer", func(d *vfstest.Disk) {
			data := d.Get(name(4))
			h, _ := decodeHeader("", data)
			copy(data, h.encodeVersion(version+1))
			d.Set(name(4), data)
		}, base.ErrVersion},
	} {
		d := makeLog(4)
		test.change(d)
		l, err := Open(d, testDir, Options{})
		if err == nil {
			err = l.Replay(1, func(Entry) error { return nil })
			mustClose(t, l)
		}
		if err == nil || test.want != nil && !errors.Is(err, test.want) {
			t.Errorf("%s: error %v, want %v", test.name, err, test.want)
		}
		if d.NumOpen() != 0 {
			t.Errorf("%s: %d files are open", test.name, d.NumOpen())
		}
	}
	d := makeLog(2)
	d.Set(filepath.Join(testDir, "wal-7"), nil)
	d.Set(filepath.Join(testDir, "wal-000009"+newSuffix), nil)
	l := mustOpen(t, d, Options{})
	if got := contents(t, l, 0); len(got) != 2 {
		t.Errorf("with other files: %q", got)
	}
	mustClose(t, l)
	if d.Get(filepath.Join(testDir, "wal-7")) == nil || d.Get(filepath.Join(testDir, "wal-000009"+newSuffix)) != nil {
		t.Error("want that Open removes unfinished copies and nothing else")
	}
}

// Numbers of files keep their order beyond six digits.
func TestParseName(t *testing.T) {
	for name, want := range map[string]uint64{
		"wal-000001": 1, "wal-999999": 999999, "wal-1000000": 1000000,
		"wal-1": 0, "wal-0000001": 0, "wal-": 0, "wal-00000x": 0, "log-000001": 0, "wal-+00001": 0, "wal-000001.new": 0,
	} {
		if n, ok := parseName(name); n != want && ok || ok != (want > 0) {
			t.Errorf("parseName(%q) = %d, %t", name, n, ok)
		}
	}
}

func TestAppendAllocatesNothing(t *testing.T) {
	if sampletest.Race {
		t.Skip("the race detector allocates")
	}
	l := mustOpen(t, nullFS{vfstest.NewDisk()}, Options{})
	defer mustClose(t, l)
	records := recordsOf(strings.Repeat("x", 1000), "y", "z", "")
	if n := testing.AllocsPerRun(100, func() { _, _ = l.Append(records) }); n != 0 {
		t.Errorf("Append allocates %v times, want 0", n)
	}
}

// nullFS drops all writes to its files.
type nullFS struct{ *vfstest.Disk }

type nullFile struct{ vfs.File }

func (f nullFS) Create(name string) (vfs.File, error) {
	file, err := f.Disk.Create(name)
	return nullFile{file}, err
}

func (nullFile) Write(p []byte) (int, error) { return len(p), nil }
func (nullFile) Sync() error                 { return nil }

// Replay's memory depends on the largest record, not on the log.
func TestReplayMemory(t *testing.T) {
	d := vfstest.NewDisk()
	l := mustOpen(t, d, Options{FileBytes: 1 << 20})
	record := bytes.Repeat([]byte{1}, 1000)
	batch := make([]Record, 1000)
	for i := range batch {
		batch[i].Payload = record
	}
	for range 20 {
		if _, err := l.Append(batch); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	allocated := testing.Benchmark(func(b *testing.B) {
		for b.Loop() {
			_ = l.Replay(0, func(Entry) error { n++; return nil })
		}
	})
	if got := allocated.AllocedBytesPerOp(); n%20_000 != 0 || got > 2*readBytes {
		t.Errorf("%d records, %d bytes allocated, want at most %d", n, got, 2*readBytes)
	}
	mustClose(t, l)
}
