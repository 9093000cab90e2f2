package watch

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
)

// restartWith ends the Watcher, and follows the folder with another one.
func (h *history) restartWith(o Options, device uint64) {
	h.t.Helper()
	check(h.t, h.w.end(h.t.Context(), nil))
	check(h.t, h.w.Close())
	h.fs = h.fs.Clone()
	o.Folders, o.Report = h.folders, func(e Event) { h.events = append(h.events, e) }
	w, err := Open(h.t.Context(), h.fs, "state", h.index, o)
	check(h.t, err)
	h.w = w
	h.mounted(device)
	w.scan()
	check(h.t, h.settle())
}

// mounted has the folders on a device.
func (h *history) mounted(device uint64) {
	h.w.followed.deviceOf = func(os.FileInfo) uint64 { return device }
}

// scanned scans twice, and wants numbers of events of ErrEmptied since the last call, and of documents.
func (h *history) scanned(what string, emptied, docs int) {
	h.t.Helper()
	for range 2 {
		h.w.scan()
		check(h.t, h.settle())
	}
	n := 0
	for _, e := range h.events {
		if errors.Is(e.Err, ErrEmptied) && e.Kind == Failed && e.File == h.folders[0] {
			n++
		}
	}
	if n != emptied || len(h.index.docs) != docs {
		h.t.Errorf("%s: %d events, want %d; %d documents, want %d", what, n, emptied, len(h.index.docs), docs)
	}
	h.events = nil
}

// The documents of a folder that was emptied stay, until it has files again.
func TestEmptied(t *testing.T) {
	o := Options{Poll: time.Hour, Quiet: time.Nanosecond}
	h := following(t, map[string]string{"a.txt": "alpha", "d/b.txt": "beta"}, o)
	folder, away := h.folders[0], filepath.Join(h.root, "away")
	check(t, os.Rename(folder, away))
	check(t, os.Mkdir(folder, 0o755))
	// Events of files come before the scan.
	h.w.changed(filepath.Join(folder, "a.txt"), fsnotify.Remove)
	h.w.changed(filepath.Join(folder, "d", "b.txt"), fsnotify.Remove)
	check(t, h.settle())
	h.scanned("emptied", 1, 2)
	h.scanned("emptied as before", 0, 2)
	h.restartWith(o, 0)
	h.scanned("emptied, after a restart", 1, 2)
	if h.w.scanned.due.After(h.w.now().Add(2 * time.Second)) {
		t.Errorf("the next scan is in %s", h.w.scanned.due.Sub(h.w.now()))
	}
	write(t, filepath.Join(away, "a.txt"), "alpha two")
	check(t, os.Remove(filepath.Join(away, "d", "b.txt")))
	check(t, os.Remove(folder))
	check(t, os.Rename(away, folder))
	h.scanned("back", 0, 1)
	h.compare()
	check(t, os.Remove(filepath.Join(folder, "a.txt")))
	h.scanned("emptied again", 1, 1)
	o.AllowEmpty = true
	h.restartWith(o, 0)
	h.scanned("accepted", 0, 0)
}

// A folder on another device is the same one if it has most of its files.
func TestOtherDevice(t *testing.T) {
	o := Options{Poll: time.Hour, Quiet: time.Nanosecond}
	h := following(t, map[string]string{"a.txt": "alpha", "b.txt": "beta", "c.txt": "gamma"}, o)
	folder, away := h.folders[0], filepath.Join(h.root, "away")
	h.restartWith(o, 1)
	check(t, os.Rename(folder, away))
	write(t, filepath.Join(folder, "stranger.txt"), "is under the mount point")
	write(t, filepath.Join(folder, "b.txt"), "is under the mount point")
	h.mounted(2)
	for _, name := range []string{"a.txt", "b.txt", "stranger.txt"} {
		h.w.changed(filepath.Join(folder, name), fsnotify.Write)
	}
	for _, c := range h.w.pending {
		c.due = time.Time{}
	}
	if worked, err := h.w.step(t.Context()); worked || err != nil || len(h.w.pending) > 0 {
		t.Errorf("files of the other device were read: %v, %v", worked, err)
	}
	h.scanned("unmounted", 1, 3)
	h.restartWith(o, 2)
	h.scanned("unmounted, after a restart", 1, 3)
	if got := h.index.docs["b.txt"].doc.Text; got != "beta" {
		t.Errorf("b.txt is %q", got)
	}
	check(t, os.RemoveAll(folder))
	check(t, os.Rename(away, folder))
	// The number of the device is another one after the next mount.
	check(t, os.Remove(filepath.Join(folder, "c.txt")))
	h.mounted(3)
	h.scanned("mounted", 0, 2)
	h.compare()
	h.restartWith(o, 3)
	if got := h.w.state.devices; len(got) != 1 || got[0] != 3 {
		t.Errorf("devices %v", got)
	}
	// The same device may have other files.
	check(t, os.Remove(filepath.Join(folder, "a.txt")))
	check(t, os.Rename(filepath.Join(folder, "b.txt"), filepath.Join(folder, "e.txt")))
	h.scanned("renamed", 0, 1)
	h.compare()
	write(t, filepath.Join(folder, "f.txt"), "new")
	check(t, os.Remove(filepath.Join(folder, "e.txt")))
	o.AllowEmpty = true
	h.restartWith(o, 4)
	h.scanned("accepted", 0, 1)
	h.compare()
}

// A folder that is unmounted while it is listed has lost no file.
func TestUnmountedMeanwhile(t *testing.T) {
	h := following(t, map[string]string{"a.txt": "alpha", "b.txt": "beta", "c.txt": "gamma"}, Options{Poll: time.Hour, Quiet: time.Nanosecond})
	check(t, os.Remove(filepath.Join(h.folders[0], "c.txt")))
	calls := uint64(0)
	h.w.followed.deviceOf = func(os.FileInfo) uint64 { calls++; return calls }
	h.w.scan()
	if n := len(h.w.pending); n != 0 || !h.w.followed.held[0] {
		t.Errorf("%d files are pending", n)
	}
	if n := len(h.events); !errors.Is(h.events[n-1].Err, errMounting) {
		t.Errorf("events %+v", h.events)
	}
	h.mounted(calls)
	h.scanned("mounted", 0, 2)
	h.compare()
}
