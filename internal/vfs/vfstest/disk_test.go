package vfstest

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/vfs"
)

// steps runs commands such as "create d/a 123", "sync d/a" and "syncdir d".
func steps(t *testing.T, d *Disk, commands ...string) {
	t.Helper()
	for _, command := range commands {
		f := append(strings.Fields(command), "", "")
		var err error
		switch f[0] {
		case "mkdir":
			err = d.MkdirAll(f[1])
		case "create", "synced":
			var file vfs.File
			if file, err = d.Create(f[1]); err == nil {
				_, err = file.Write([]byte(f[2]))
			}
			if f[0] == "synced" && err == nil {
				err = file.Sync()
			}
			if err == nil {
				err = file.Close()
			}
		case "syncdir":
			err = d.SyncDir(f[1])
		case "rename":
			err = d.Rename(f[1], f[2])
		case "remove":
			err = d.RemoveAll(f[1])
		default:
			t.Fatalf("no command %q", command)
		}
		if err != nil {
			t.Fatalf("%s: %v", command, err)
		}
	}
}

// outcomes are all contents after crashes, such as "d/a=12 d/b=".
func outcomes(d *Disk) []string {
	all := map[string]bool{}
	for seed := range uint64(2000) {
		after := d.AfterCrash(rand.New(rand.NewPCG(seed, 1)))
		var files []string
		for _, name := range after.Names() {
			files = append(files, fmt.Sprintf("%s=%s", name, strings.ReplaceAll(string(after.Get(name)), "\x00", "0")))
		}
		all[strings.Join(files, " ")] = true
	}
	return slices.Sorted(maps.Keys(all))
}

func TestAfterCrash(t *testing.T) {
	for _, test := range []struct {
		what     string
		commands []string
		want     []string
	}{
		{"synced", []string{"mkdir d", "syncdir .", "synced d/a 12", "syncdir d"}, []string{"d/a=12"}},
		{"a folder without a synced name", []string{"mkdir d", "synced d/a 12", "syncdir d"}, []string{"", "d/a=12"}},
		{"a name that is not synced", []string{"synced a 12"}, []string{"", "a=12"}},
		{"content that is not synced", []string{"create a 12", "syncdir ."}, []string{"a=", "a=0", "a=00", "a=1", "a=12"}},
		{"replaced, not synced", []string{"synced a 1", "syncdir .", "synced a 2"}, []string{"a=1", "a=2"}},
		{"renamed over", []string{"synced a 1", "syncdir .", "synced b 2", "rename b a"}, []string{"a=1", "a=1 b=2", "a=2"}},
		{"renamed and synced", []string{"synced a 1", "syncdir .", "synced b 2", "rename b a", "syncdir ."}, []string{"a=2"}},
		{"removed", []string{"synced a 1", "synced b 2", "syncdir .", "remove a", "remove b"}, []string{"", "a=1", "a=1 b=2", "b=2"}},
		{"removed and synced", []string{"synced a 1", "syncdir .", "remove a", "syncdir ."}, []string{""}},
		{"a folder removed", []string{"mkdir d", "synced d/a 1", "syncdir .", "syncdir d", "remove d"}, []string{"", "d/a=1"}},
		{
			"renamed between folders",
			[]string{"mkdir d", "mkdir e", "syncdir .", "synced d/a 1", "syncdir d", "rename d/a e/a"},
			[]string{"", "d/a=1", "d/a=1 e/a=1", "e/a=1"},
		},
		{
			"a folder renamed",
			[]string{"mkdir d", "synced d/a 1", "syncdir .", "syncdir d", "rename d e"},
			[]string{"d/a=1", "e/a=1"},
		},
	} {
		d := NewDisk()
		steps(t, d, test.commands...)
		if got := outcomes(d); !slices.Equal(got, test.want) {
			t.Errorf("%s: after crashes %q, want %q", test.what, got, test.want)
		}
		whole := d.AfterKill()
		if !slices.Equal(whole.Names(), d.Names()) {
			t.Errorf("%s: after a kill %q, want %q", test.what, whole.Names(), d.Names())
		}
		if got := outcomes(whole); !slices.Equal(got, test.want) {
			t.Errorf("%s: after a kill and crashes %q, want %q", test.what, got, test.want)
		}
		steps(t, whole, "create later 1", "syncdir .")
		if d.Get("later") != nil {
			t.Errorf("%s: a change after a kill is in the former disk", test.what)
		}
	}
}

// A crash can lose single sectors of data that is not synced.
func TestTornSectors(t *testing.T) {
	d := NewDisk()
	steps(t, d, "synced a "+strings.Repeat("s", 100), "syncdir .")
	f := &diskFile{d: d, n: d.root.find("a"), name: "a", write: true}
	if _, err := f.Write([]byte(strings.Repeat("x", 1500))); err != nil {
		t.Fatal(err)
	}
	hole := false
	for seed := range uint64(100) {
		data := d.AfterCrash(rand.New(rand.NewPCG(seed, 2))).Get("a")
		if len(data) < 100 || strings.Trim(string(data[:100]), "s") != "" {
			t.Fatalf("synced bytes are lost: %q", data)
		}
		for at := 512; at+512 < len(data); at += 512 {
			zero := data[at] == 0
			if strings.Trim(string(data[at:at+512]), map[bool]string{true: "\x00", false: "x"}[zero]) != "" {
				t.Fatalf("a part of the sector at %d is lost: %q", at, data)
			}
			hole = hole || zero && data[at+512] != 0
		}
	}
	if !hole {
		t.Error("no sector was lost alone")
	}
}

func TestDiskFaults(t *testing.T) {
	d := NewDisk()
	steps(t, d, "synced a 12", "syncdir .")
	write := func(name, text string) error {
		f, err := d.Create(name)
		if err != nil {
			return err
		}
		_, err = f.Write([]byte(text))
		return errors.Join(err, f.Sync(), f.Close())
	}
	fault := func(change func(f *DiskFaults), do func() error, want error) {
		t.Helper()
		d.Change(change)
		if err := do(); !errors.Is(err, want) {
			t.Errorf("error %v, want %v", err, want)
		}
		d.Change(func(f *DiskFaults) { *f = DiskFaults{} })
	}
	fault(func(f *DiskFaults) { f.Capacity = 5 }, func() error { return write("b", "12345") }, syscall.ENOSPC)
	if got := string(d.Get("b")); got != "123" {
		t.Errorf("a full disk has %q", got)
	}
	fault(func(f *DiskFaults) { f.CutWrites = 1 }, func() error { return write("b", "1234") }, syscall.ENOSPC)
	if got := string(d.Get("b")); got != "12" {
		t.Errorf("a cut write wrote %q", got)
	}
	readOnly := func(f *DiskFaults) { f.ReadOnly = true }
	for _, do := range []func() error{
		func() error { return write("c", "") }, func() error { return d.Rename("a", "c") }, func() error { return d.Remove("a") },
		func() error { return d.RemoveAll("a") }, func() error { return d.MkdirAll("e/f") }, func() error { return d.Mkdir("g") }, func() error { _, err := d.Lock("l"); return err },
	} {
		fault(readOnly, do, syscall.EROFS)
		fault(func(f *DiskFaults) { f.Denied = true }, do, syscall.EACCES)
	}
	fault(func(f *DiskFaults) { f.FailReads = true }, func() error {
		f, err := d.Open("a")
		if err != nil {
			return err
		}
		_, err = f.Read(make([]byte, 1))
		return errors.Join(err, f.Close())
	}, syscall.EIO)
	fault(func(f *DiskFaults) { f.FailDirSyncs = 1 }, func() error { return d.SyncDir(".") }, syscall.EIO)
	fault(func(f *DiskFaults) { f.FailSyncs = 1 }, func() error { return write("dropped", "12") }, syscall.EIO)
	steps(t, d, "syncdir .")
	fault(func(f *DiskFaults) { f.Lie = true }, func() error { return errors.Join(write("lost", "1"), d.SyncDir(".")) }, nil)
	lost := false
	for seed := range uint64(100) {
		after := d.AfterCrash(rand.New(rand.NewPCG(seed, 3)))
		lost = lost || after.Get("lost") == nil && string(after.Get("dropped")) != "12"
	}
	if !lost {
		t.Error("nothing is lost after syncs without effect")
	}
	last := d.NumOps() + 2 // a Create, and the Write
	fault(func(f *DiskFaults) { f.CrashAt = last }, func() error {
		err := write("torn", "1234")
		if err2 := write("torn", "5678"); !errors.Is(err2, ErrCrashed) {
			t.Errorf("after the crash: %v", err2)
		}
		return err
	}, ErrCrashed)
	if got := string(d.Get("torn")); got != "12" {
		t.Errorf("the write at the crash wrote %q", got)
	}
}

func TestDiskLock(t *testing.T) {
	d := NewDisk()
	l, err := d.Lock("l")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Lock("./l"); !errors.Is(err, base.ErrLocked) {
		t.Errorf("second Lock: %v", err)
	}
	for _, after := range []*Disk{d.AfterKill(), d.AfterCrash(rand.New(rand.NewPCG(1, 1)))} {
		l, err := after.Lock("l")
		if err != nil {
			t.Fatalf("Lock in a new process: %v", err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	d.Change(func(f *DiskFaults) { f.ReadOnly = true })
	if l, err = d.Lock("l"); err != nil {
		t.Fatalf("on a read-only file system: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestDiskMisuse(t *testing.T) {
	d := NewDisk()
	steps(t, d, "mkdir d/e", "create f 1", "create d/e/g 2")
	read, err := d.Open("f")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := read.Write([]byte("x")); !errors.Is(err, syscall.EBADF) {
		t.Errorf("a write to a file open for reading: %v", err)
	}
	if err := read.Close(); err != nil || d.NumOpen() != 0 {
		t.Errorf("%v, %d files open", err, d.NumOpen())
	}
	_, create := d.Create("d")
	_, open := d.Open("d")
	_, mapped := d.Map("d/e")
	_, list := d.ReadDir("f")
	for what, err := range map[string]error{
		"Create of a folder": create, "Open of a folder": open, "Map of a folder": mapped, "ReadDir of a file": list,
		"MkdirAll through a file": d.MkdirAll("f/x"), "Mkdir through a file": d.Mkdir("f/x"), "Rename over a folder": d.Rename("f", "d"), "Remove of a folder with files": d.Remove("d"),
		"SyncDir of a missing folder": d.SyncDir("none"), "Remove of nothing": d.Remove("."),
	} {
		if err == nil {
			t.Errorf("%s: no error", what)
		}
	}
}
