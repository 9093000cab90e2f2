package wal

import (
	"bytes"
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

// The example of docs/formats/wal.md.
func TestFormatExample(t *testing.T) {
	h := header{id: 0x1122334455667788, number: 1, first: 1}
	file := h.encode()
	var at position
	for i, text := range []string{"one", "two"} {
		f := frame{prev: at.crc, kind: byte(kindRecord + i), typ: 7, seq: at.seq + 1}
		at.seq++
		file, at.crc = appendFrame(file, h.seed(), f, []byte(text))
	}
	var mark [frameLen]byte
	putMark(mark[:], h.seed(), at.crc, at.seq)
	file = append(file, mark[:]...)
	page, err := os.ReadFile("../../docs/formats/wal.md")
	if err != nil {
		t.Fatal(err)
	}
	if dump := hex.Dump(file); !strings.Contains(string(page), dump) {
		t.Errorf("docs/formats/wal.md has not the dump\n%s", dump)
	}
	d := vfstest.NewDisk()
	d.Set(fileName(testDir, 1), file)
	var got bytes.Buffer
	torn, err := Scan(d, testDir, 0, func(e Entry) error { got.Write(e.Payload); return nil })
	if err != nil || torn != (Torn{}) || got.String() != "onetwo" {
		t.Errorf("%q, %+v, %v", &got, torn, err)
	}
}
