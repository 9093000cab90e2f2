package vfs

import (
	"os"
	"testing"
)

// A file that the system cannot write in ranges, such as a pipe, is written all the same.
func TestPaceUnsupported(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	p := Pace(osFile{w})
	if err := p.StartWriting(0, 1); err != nil {
		t.Error(err)
	}
	if err := p.AwaitWriting(0, 1); err != nil {
		t.Error(err)
	}
	if err := p.Forget(0, 1); err != nil {
		t.Error(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if p.AwaitWriting(0, 1) == nil {
		t.Error("a closed file gives no error")
	}
}
