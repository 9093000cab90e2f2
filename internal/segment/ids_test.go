package segment

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/zeebo/xxh3"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/sealed"
)

// TestIDTableVerify changes a table in ways that checksums do not detect.
func TestIDTableVerify(t *testing.T) {
	payload := func(ids ...string) []byte {
		return payloadOf(t, fileIDs, func(w *sealed.Writer) error {
			return writeWithTable(t.Context(), w, len(ids), func(d int) []byte { return []byte(ids[d]) })
		})
	}
	verify := func(payload []byte, n int) error {
		table, err := newIDTable(sealPayload(t, fileIDs, payload), n)
		if err != nil {
			t.Fatal(err)
		}
		return table.verify(t.Context())
	}
	ids := []string{"zero", "one", "two", "three"}
	slices.SortFunc(ids, func(a, b string) int { // table entry d is of document d
		if xxh3.HashString(a) < xxh3.HashString(b) {
			return -1
		}
		return 1
	})
	n := len(ids)
	good := payload(ids...)
	if err := verify(good, n); err != nil {
		t.Fatal(err)
	}
	length := 0
	for _, id := range ids {
		length += len(id)
	}
	ends := idsHeader + 8
	idBytes := ends + 4*n
	table := len(good) - hashEntry*n
	if table-idBytes-length != 1 {
		t.Fatalf("%d bytes of padding, the test needs 1", table-idBytes-length)
	}
	put := func(at int, v uint32) func([]byte) []byte {
		return func(b []byte) []byte { binary.LittleEndian.PutUint32(b[at:], v); return b }
	}
	first := func(b []byte, d int) []byte { return b[table+hashEntry*d:][:hashEntry] }
	for name, change := range map[string]func([]byte) []byte{
		"document twice":      put(table+hashEntry+8, 0),
		"document beyond":     put(table+8, uint32(n)),
		"documents exchanged": func(b []byte) []byte { first(b, 0)[8], first(b, 1)[8] = 1, 0; return b },
		"hash of document 0":  func(b []byte) []byte { first(b, 0)[0] ^= 1; return b },
		"hash of document 3":  func(b []byte) []byte { first(b, 3)[0] ^= 1; return b },
		"entries out of order": func(b []byte) []byte {
			return slices.Concat(b[:table], first(b, 1), first(b, 0), b[table+2*hashEntry:])
		},
		"first id behind start": put(idsHeader, 1),
		"last id too short":     put(ends+4*(n-1), uint32(length-2)),
		"ids overlap":           put(ends, 0),
		"padding":               func(b []byte) []byte { b[table-1] = 7; return b },
		"padding of 5 bytes":    func(b []byte) []byte { return slices.Insert(b, table, 0, 0, 0, 0) },
		"table not aligned":     func(b []byte) []byte { return slices.Insert(b, table, 0, 0) },
	} {
		if err := verify(change(bytes.Clone(good)), n); !errors.Is(err, base.ErrCorrupt) {
			t.Errorf("%s: error %v, want ErrCorrupt", name, err)
		}
	}
	for _, same := range [][]string{{"a", "b", "a"}, {"b", "a", "a"}, {"", ""}} {
		if err := verify(payload(same...), len(same)); !errors.Is(err, base.ErrCorrupt) || !strings.Contains(err.Error(), "has the same id") {
			t.Errorf("ids %q: error %v, want ErrCorrupt of a second document with the same id", same, err)
		}
	}
	for _, padding := range []string{"abcd", "abc", "ab", "a", ""} {
		if err := verify(payload(padding), 1); err != nil {
			t.Errorf("id %q: %v", padding, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	x, err := newIDTable(sealPayload(t, fileIDs, good), n)
	if err != nil {
		t.Fatal(err)
	}
	if err := x.verify(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want Canceled", err)
	}
}

func writeWithTable(ctx context.Context, w *sealed.Writer, n int, id func(doc int) []byte) error {
	if err := writeIDs(w, n, id); err != nil {
		return err
	}
	return writeHashTable(ctx, w, n, id)
}
