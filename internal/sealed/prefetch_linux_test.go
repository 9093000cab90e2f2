package sealed_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/sealed"
	"github.com/griffin-search/griffin/internal/vfs"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

// Open and Check read only the needed range of a file that is not in memory, and nothing around it.
func TestCheckReadsOnlyTheRange(t *testing.T) {
	const chunks = 300
	name := filepath.Join(t.TempDir(), "a")
	create(t, vfs.OS, name, bytes.Repeat([]byte("griffin."), chunks*sealed.ChunkLen/8))
	if err := vfstest.Evict(name); err != nil {
		t.Fatal(err)
	}
	m, err := vfs.OS.Map(name)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if inMemory(t, m.Bytes()) > 0 {
		t.Skip("the file system keeps files in memory")
	}
	f, err := sealed.Open(vfs.OS, name, kind, 3)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	before := inMemory(t, f.Bytes())
	if before > 3 { // the ends
		t.Fatalf("Open has read %d of %d chunks", before, chunks)
	}
	const first, n = 150, 7
	if err := f.Check(first*sealed.ChunkLen, n*sealed.ChunkLen); err != nil {
		t.Fatal(err)
	}
	if got := inMemory(t, f.Bytes()[first*sealed.ChunkLen:(first+n)*sealed.ChunkLen]); got != n {
		t.Errorf("%d of %d chunks are in memory", got, n)
	}
	if got := inMemory(t, f.Bytes()) - before; got > n+4 { // a page has the end of one chunk and the start of the next, and systems read larger units
		t.Errorf("%d chunks were read, want about %d", got, n)
	}
}

// inMemory counts the chunks of a mapping of which a page is in memory.
func inMemory(t *testing.T, data []byte) (n int) {
	t.Helper()
	pages, err := vfstest.InMemory(data)
	if err != nil {
		t.Fatal(err)
	}
	for chunk := range slices.Chunk(pages, sealed.ChunkLen/os.Getpagesize()) {
		if slices.Contains(chunk, true) {
			n++
		}
	}
	return n
}
