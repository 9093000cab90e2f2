package residency

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/vfs"
)

// mapTruncated maps a file of random bytes and truncates it to whole pages of at most kept
// bytes.
func mapTruncated(t *testing.T, size, kept int) (mapped, content []byte) {
	t.Helper()
	if runtime.GOOS == "windows" || runtime.GOOS == "plan9" {
		t.Skip("files are not mapped on this system")
	}
	rng := rand.New(rand.NewPCG(1, uint64(size)))
	content = make([]byte, size)
	for i := range content {
		content[i] = byte(rng.Uint32())
	}
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := vfs.OS.Map(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	if err := os.Truncate(name, int64(kept/os.Getpagesize()*os.Getpagesize())); err != nil {
		t.Fatal(err)
	}
	return m.Bytes(), content
}

// No goroutine that writes to slots is left.
func TestCopyFault(t *testing.T) {
	d, _ := openDevice(t, 100, DeviceOptions{Memory: Memory{Bytes: 1 << 20}, Uploaders: 1})
	u := d.uploaders[0]
	const whole = (copiers - 1) * 4 * slotWords
	src, content := mapTruncated(t, whole+100, whole) // the last chunk, which this goroutine fills, is missing
	dst, err := cuda.Alloc[uint32](d.dev, whole/4+25)
	if err != nil {
		t.Fatal(err)
	}
	copyAll := func() (err error) {
		defer vfs.RecoverFault(vfs.PanicOnFault(), &err)
		return u.copyBytes(dst, src)
	}
	for range 10 {
		for i := range u.slots {
			clear(u.slots[i].words.Bytes())
			u.slots[i].used = 0
		}
		u.turn = 0
		if err := copyAll(); !errors.Is(err, base.ErrCorrupt) {
			t.Fatalf("error %v", err)
		}
		for i := range copiers - 1 {
			if !bytes.Equal(u.slots[i].words.Bytes(), content[i*4*slotWords:][:4*slotWords]) {
				t.Fatalf("slot %d is being filled after the error", i)
			}
		}
	}
	if err := errors.Join(u.stream.Synchronize(), dst.Free()); err != nil {
		t.Error(err)
	}
}
