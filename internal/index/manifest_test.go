package index

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/mapping"
	"github.com/griffin-search/griffin/internal/vfs"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

var update = flag.Bool("update", false, "write the golden files anew")

func testManifest(t testing.TB) *manifest {
	t.Helper()
	opts, err := Options{}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	return &manifest{
		ID: strings.Repeat("0", 32), Generation: 3, NextSegment: 5, Options: opts,
		Segments: []manifestSegment{
			{Name: "seg-000002", Sum: 77, NumDocs: 10, NumLive: 10},
			{Name: "seg-000004", Sum: 78, NumDocs: 7, NumLive: 6, Live: "seg-000004.live-000003", LiveSum: 79},
		},
	}
}

func TestManifestRoundTrip(t *testing.T) {
	m := testManifest(t)
	data, err := m.encode()
	check(t, err)
	got, err := parseManifest(data)
	check(t, err)
	if !reflect.DeepEqual(got, m) {
		t.Errorf("got %+v, want %+v", got, m)
	}
}

// Version 1 stays readable.
func TestManifestGolden(t *testing.T) {
	name := filepath.Join("testdata", "manifest-v1")
	want, err := testManifest(t).encode()
	check(t, err)
	if *update {
		check(t, os.WriteFile(name, want, 0o644))
	}
	data, err := os.ReadFile(name)
	check(t, err)
	if !bytes.Equal(data, want) {
		t.Errorf("the encoded manifest differs from version 1:\n%s", want)
	}
	got, err := parseManifest(data)
	check(t, err)
	if !reflect.DeepEqual(got, testManifest(t)) {
		t.Errorf("version 1 reads as %+v", got)
	}
}

// Any flipped bit or truncation is a specific error.
func TestManifestDamage(t *testing.T) {
	data, err := testManifest(t).encode()
	check(t, err)
	for i := range data {
		for bit := range 8 {
			c := bytes.Clone(data)
			c[i] ^= 1 << bit
			if _, err := parseManifest(c); !errors.Is(err, base.ErrCorrupt) && !errors.Is(err, base.ErrVersion) {
				t.Fatalf("byte %d, bit %d: error %v", i, bit, err)
			}
		}
		if _, err := parseManifest(data[:i]); !errors.Is(err, base.ErrCorrupt) {
			t.Fatalf("cut after %d bytes: error %v", i, err)
		}
	}
}

// Version 5 does not count the documents of before a change.
func TestManifestFormer(t *testing.T) {
	former, err := mapping.Parse([]byte(`{"properties": {"k": {"type": "keyword"}}}`))
	check(t, err)
	next, err := mapping.Parse([]byte(`{"properties": {"k": {"type": "keyword", "ignore_above": 5}}}`))
	check(t, err)
	m := testManifest(t)
	m.Options.Mapping, _, err = former.Updated(next)
	check(t, err)
	m.Options.Fields = m.Options.Mapping.TermFields()
	m.Segments[1].Former = 6
	data, err := m.encode()
	check(t, err)
	got, err := parseManifest(data)
	check(t, err)
	if !bytes.HasPrefix(data, []byte("griffin-manifest 6 ")) || got.Segments[0].Former != 0 || got.Segments[1].Former != 6 {
		t.Errorf("%.20s: %+v", data, got.Segments)
	}
	_, body, _ := bytes.Cut(data, []byte{'\n'})
	body = bytes.Replace(body, []byte(`"shape": 1`), []byte(`"reshaped": true`), 1)
	body = bytes.Replace(body, []byte(",\n      \"former\": 6"), nil, 1)
	old := append(fmt.Appendf(nil, "griffin-manifest 5 crc32c %08x\n", crc32.Checksum(body, castagnoli)), body...)
	got, err = parseManifest(old)
	check(t, err)
	if got.Segments[0].Former != 10 || got.Segments[1].Former != 7 {
		t.Errorf("%s: %+v", old, got.Segments)
	}
	data, err = got.encode()
	check(t, err)
	again, err := parseManifest(data)
	check(t, err)
	if again.Segments[0].Former != 10 || again.version() != 6 {
		t.Errorf("written again: %+v", again.Segments)
	}
	m.Segments[1].Former = 8
	data, err = m.encode()
	check(t, err)
	if _, err := parseManifest(data); !errors.Is(err, base.ErrCorrupt) {
		t.Errorf("8 of 7 documents: %v", err)
	}
}

func TestManifestContradictions(t *testing.T) {
	for name, change := range map[string]func(m *manifest){
		"segment twice":     func(m *manifest) { m.Segments[0].Name = m.Segments[1].Name },
		"segment not given": func(m *manifest) { m.NextSegment = 4 },
		"strange name":      func(m *manifest) { m.Segments[0].Name = "../other" },
		"strange live":      func(m *manifest) { m.Segments[1].Live = "/etc/passwd" },
		"all live":          func(m *manifest) { m.Segments[1].NumLive = 7 },
		"too many live":     func(m *manifest) { m.Segments[0].NumLive = 11 },
		"empty segment":     func(m *manifest) { m.Segments[0].NumDocs, m.Segments[0].NumLive = 0, 0 },
		"too many":          func(m *manifest) { m.Segments[0].NumDocs = 1 << 32; m.Segments[0].NumLive = 1 << 32 },
		"former":            func(m *manifest) { m.Segments[0].Former = 1 },
		"no fields":         func(m *manifest) { m.Options.Fields = nil },
	} {
		t.Run(name, func(t *testing.T) {
			m := testManifest(t)
			change(m)
			data, err := m.encode()
			check(t, err)
			if _, err := parseManifest(data); !errors.Is(err, base.ErrCorrupt) {
				t.Errorf("%s: error %v, want ErrCorrupt", name, err)
			}
		})
	}
	newer := []byte("griffin-manifest 8 crc64 00\n...")
	if _, err := parseManifest(newer); !errors.Is(err, base.ErrVersion) {
		t.Errorf("version 8: error %v, want ErrVersion", err)
	}
}

// A foreign MANIFEST is no index and blocks Create; beside segments it is a damaged one.
func TestForeignManifest(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, manifestName)
	check(t, os.WriteFile(name, []byte("packing list: two crates of apples\n"), 0o600))
	if _, err := Open(vfs.OS, dir); !errors.Is(err, base.ErrNotIndex) || errors.Is(err, base.ErrCorrupt) {
		t.Errorf("Open: error %v, want ErrNotIndex", err)
	}
	if _, err := Create(vfs.OS, dir, Options{}); !errors.Is(err, base.ErrBadInput) {
		t.Errorf("Create: error %v, want ErrBadInput", err)
	}
	if _, err := Open(vfs.OS, name); !errors.Is(err, base.ErrNotIndex) {
		t.Errorf("Open of a file: error %v, want ErrNotIndex", err)
	}
	check(t, os.Mkdir(filepath.Join(dir, "seg-000001"), 0o755))
	if _, err := Open(vfs.OS, dir); !errors.Is(err, base.ErrCorrupt) {
		t.Errorf("Open beside a segment: error %v, want ErrCorrupt", err)
	}
}

func FuzzManifest(f *testing.F) {
	data, err := testManifest(f).encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte("griffin-manifest 1 crc32c 00000000\n{}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := parseManifest(data)
		if err != nil {
			return
		}
		again, err := m.encode()
		if err != nil {
			t.Fatal(err)
		}
		if n, err := parseManifest(again); err != nil || !reflect.DeepEqual(m, n) {
			t.Fatalf("%+v reads as %+v (%v)", m, n, err)
		}
	})
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(vfs.OS, dir); !errors.Is(err, base.ErrNotIndex) {
		t.Errorf("empty folder: error %v, want ErrNotIndex", err)
	}
	if _, err := Open(vfs.OS, filepath.Join(dir, "nowhere")); !errors.Is(err, base.ErrNotIndex) {
		t.Errorf("no folder: error %v, want ErrNotIndex", err)
	}
	check(t, os.WriteFile(filepath.Join(dir, "letter.txt"), []byte("dear"), 0o644))
	if _, err := Create(vfs.OS, dir, Options{}); !errors.Is(err, base.ErrBadInput) || !strings.Contains(err.Error(), "letter.txt") {
		t.Errorf("folder with other files: error %v, want ErrBadInput that names one", err)
	}
}

// Missing and truncated files.
func TestOpenDamaged(t *testing.T) {
	mem := vfstest.NewMem()
	ix, err := Create(mem, "ix", Options{})
	check(t, err)
	w := newWriter(t, ix)
	docs := randomDocs(50, 100, false)
	for i := range docs {
		check(t, w.Add(&docs[i]))
	}
	check(t, w.Commit(t.Context()))
	check(t, w.Delete(docs[3].ID))
	check(t, w.Commit(t.Context()))
	check(t, w.Close())
	check(t, ix.Close())
	for _, name := range mem.Names() {
		if filepath.Base(name) == lockName {
			continue
		}
		c := mem.Clone()
		check(t, c.Remove(name))
		want := base.ErrCorrupt
		if filepath.Base(name) == manifestName {
			want = base.ErrNotIndex
		}
		if _, err := Open(c, "ix"); !errors.Is(err, want) {
			t.Errorf("%s is missing: error %v, want %v", name, err, want)
		}
		c = mem.Clone()
		data := c.Get(name)
		c.Set(name, data[:len(data)-1])
		if _, err := Open(c, "ix"); !errors.Is(err, base.ErrCorrupt) {
			t.Errorf("%s is cut: error %v, want ErrCorrupt", name, err)
		}
	}
}

func TestCreateRefusesOptions(t *testing.T) {
	for _, o := range []Options{
		{Analyzer: "klingon"},
		{Codec: "zip"},
		{Fields: []string{"a", "a"}},
		{Fields: []string{""}},
		{Fields: []string{"a b"}},
		{Fields: make([]string, base.MaxFields)},
	} {
		if _, err := Create(vfs.OS, filepath.Join(t.TempDir(), "ix"), o); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
}
