package main

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
)

func TestPisaCollection(t *testing.T) {
	c := newPisaCollection(slices.Values([][]string{{"b", "a", "b"}, nil, {"b"}}))
	if want := map[string]int{"a": 0, "b": 1}; !reflect.DeepEqual(c.termIDs, want) {
		t.Errorf("terms %v, want %v", c.termIDs, want)
	}
	base := filepath.Join(t.TempDir(), "c")
	if err := c.write(base); err != nil {
		t.Fatal(err)
	}
	for suffix, want := range map[string]string{
		".docs":  "\x01\x00\x00\x00\x03\x00\x00\x00" + "\x01\x00\x00\x00\x00\x00\x00\x00" + "\x02\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00",
		".freqs": "\x01\x00\x00\x00\x01\x00\x00\x00" + "\x02\x00\x00\x00\x02\x00\x00\x00\x01\x00\x00\x00",
		".sizes": "\x03\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00",
	} {
		if got, err := os.ReadFile(base + suffix); string(got) != want || err != nil {
			t.Errorf("%s: %q, %v, want %q", suffix, got, err, want)
		}
	}
	if err := c.write(filepath.Join(base, "absent")); err == nil {
		t.Error("a collection is written to no folder")
	}
}
