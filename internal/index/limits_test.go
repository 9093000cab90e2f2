package index

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/score"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

func TestOptionsDefaults(t *testing.T) {
	own := score.BM25{K1: 2, B: 1}
	for _, c := range []struct{ given, want Options }{
		{Options{}, Options{Analyzer: "english", Codec: "simdbp", BM25: score.DefaultBM25, Fields: []string{"title"}}},
		{Options{WeightScale: 1}, Options{Analyzer: "whitespace", Codec: "simdbp", BM25: score.DefaultBM25, Fields: []string{}, WeightScale: 1}},
		{
			Options{WeightScale: 1, Analyzer: "simple", Codec: "raw", BM25: own, Fields: []string{}},
			Options{WeightScale: 1, Analyzer: "simple", Codec: "raw", BM25: own, Fields: []string{}},
		},
		{Options{BM25IsSet: true, Fields: []string{"a"}}, Options{Analyzer: "english", Codec: "simdbp", BM25IsSet: true, Fields: []string{"a"}}},
	} {
		got, err := c.given.withDefaults()
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%+v: got %+v, %v, want %+v", c.given, got, err, c.want)
		}
	}
	fields := []string{"a"}
	got, err := Options{Fields: fields}.withDefaults()
	check(t, err)
	if fields[0] = "b"; got.Fields[0] != "a" {
		t.Error("the options share the caller's fields")
	}
}

func TestOptionsLimits(t *testing.T) {
	names := func(n int) (names []string) {
		for i := range n {
			names = append(names, fmt.Sprint("f", i))
		}
		return names
	}
	above, below := func(x float64) float64 { return math.Nextafter(x, 1e9) }, func(x float64) float64 { return math.Nextafter(x, -1) }
	over, under := func(x float32) float32 { return math.Nextafter32(x, 1e9) }, func(x float32) float32 { return math.Nextafter32(x, -1) }
	nan := float32(math.NaN())
	bm25 := func(k1, b float32) Options { return Options{BM25: score.BM25{K1: k1, B: b}, BM25IsSet: true} }
	for _, c := range []struct {
		options Options
		ok      bool
	}{
		{bm25(0, 0), true},
		{bm25(1000, 1), true},
		{bm25(under(0), 0), false},
		{bm25(over(1000), 0), false},
		{bm25(0, under(0)), false},
		{bm25(0, over(1)), false},
		{bm25(nan, 0), false},
		{bm25(0, nan), false},
		{Options{Fields: names(base.MaxFields - 1)}, true},
		{Options{Fields: names(base.MaxFields)}, false},
		{Options{Fields: []string{"é1_-."}}, true},
		{Options{Fields: []string{"a/b"}}, false},
		{Options{Fields: []string{"\xff"}}, false},
		{Options{Fields: []string{""}}, false},
		{Options{Fields: []string{"a", "b", "a"}}, false},
		{Options{WeightScale: 1e-6}, true},
		{Options{WeightScale: 1e6}, true},
		{Options{WeightScale: below(1e-6)}, false},
		{Options{WeightScale: above(1e6)}, false},
		{Options{WeightScale: -1}, false},
		{Options{WeightScale: math.NaN()}, false},
		{Options{WeightScale: 1, Positions: true}, false},
		{Options{WeightScale: 1, Fields: []string{"a"}}, false},
	} {
		if _, err := c.options.withDefaults(); c.ok && err != nil || !c.ok && !errors.Is(err, base.ErrBadInput) {
			t.Errorf("%+v: error %v, allowed: %t", c.options, err, c.ok)
		}
	}
}

func TestBuildOptionsDefaults(t *testing.T) {
	all := runtime.GOMAXPROCS(0)
	for _, c := range []struct{ given, want BuildOptions }{
		{BuildOptions{}, BuildOptions{MemoryBytes: DefaultMemoryBytes, Threads: all, Reorder: ReorderNone}},
		{BuildOptions{Threads: -1}, BuildOptions{MemoryBytes: DefaultMemoryBytes, Threads: all, Reorder: ReorderNone}},
		{
			BuildOptions{MemoryBytes: minMemoryBytes, Threads: all + 1, Reorder: ReorderBP},
			BuildOptions{MemoryBytes: minMemoryBytes, Threads: all + 1, Reorder: ReorderBP},
		},
	} {
		if got, err := c.given.withDefaults(); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%+v: got %+v, %v, want %+v", c.given, got, err, c.want)
		}
	}
	for _, o := range []BuildOptions{{MemoryBytes: minMemoryBytes - 1}, {MemoryBytes: -1}, {Reorder: "BP"}} {
		if _, err := o.withDefaults(); !errors.Is(err, base.ErrBadInput) {
			t.Errorf("%+v: error %v, want ErrBadInput", o, err)
		}
	}
}

func TestManifestLimits(t *testing.T) {
	const live = "seg-000004.live-000003"
	for name, c := range map[string]struct {
		segments []manifestSegment
		ok       bool
	}{
		"most documents":     {[]manifestSegment{{Name: "seg-000002", NumDocs: base.MaxDocs - 1, NumLive: base.MaxDocs - 1}, {Name: "seg-000004", NumDocs: 1, NumLive: 1}}, true},
		"too many documents": {[]manifestSegment{{Name: "seg-000002", NumDocs: base.MaxDocs, NumLive: base.MaxDocs}, {Name: "seg-000004", NumDocs: 1, NumLive: 1}}, false},
		"one document":       {[]manifestSegment{{Name: "seg-000004", NumDocs: 1, NumLive: 1}}, true},
		"none live":          {[]manifestSegment{{Name: "seg-000004", NumDocs: 1, Live: live}}, true},
		"fewer than 0 live":  {[]manifestSegment{{Name: "seg-000004", NumDocs: 1, NumLive: -1, Live: live}}, false},
		"no list of live":    {[]manifestSegment{{Name: "seg-000004", NumDocs: 2, NumLive: 1}}, false},
		"another name":       {[]manifestSegment{{Name: "seg-0000004", NumDocs: 1, NumLive: 1}}, false},
		"too great a number": {[]manifestSegment{{Name: "seg-99999999999999999999", NumDocs: 1, NumLive: 1}}, false},
	} {
		m := testManifest(t)
		m.Segments = c.segments
		data, err := m.encode()
		check(t, err)
		if _, err := parseManifest(data); c.ok && err != nil || !c.ok && !errors.Is(err, base.ErrCorrupt) {
			t.Errorf("%s: error %v, allowed: %t", name, err, c.ok)
		}
	}
	data, err := testManifest(t).encode()
	check(t, err)
	_, body, _ := bytes.Cut(data, []byte("\n"))
	for name, changed := range map[string]string{
		"a second object": string(body) + "{}",
		"unknown field":   strings.Replace(string(body), "{", `{"colour": 1,`, 1),
		"bad options":     strings.Replace(string(body), `"english"`, `"klingon"`, 1),
	} {
		head := fmt.Sprintf(base.ManifestMagic+"1 crc32c %08x\n", crc32.Checksum([]byte(changed), castagnoli))
		if _, err := parseManifest([]byte(head + changed)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestMergePolicyLimits(t *testing.T) {
	for n, want := range map[int]int{0: 3, 999: 3, 1000: 4, 9999: 4, 10_000: 5} {
		if got := sizeLevel(n); got != want {
			t.Errorf("%d documents are of level %d, want %d", n, got, want)
		}
	}
	three := []int{500, 500, 500}
	for _, c := range []struct {
		sizes       []int
		added, want int
	}{
		{slices.Repeat([]int{5}, 10), 0, 10}, // only deletions: there is no new segment
		{slices.Repeat([]int{5}, 11), 0, 0},
		{three, 1500, 0},
		{three, 1499, 3},
		{three, 999, 3},
	} {
		if got := mergeFrom(c.sizes, c.added); got != c.want {
			t.Errorf("mergeFrom(%v, %d) = %d, want %d", c.sizes, c.added, got, c.want)
		}
	}
	for _, c := range []struct {
		docs, live int
		want       bool
	}{{10, 5, false}, {10, 4, true}, {11, 5, false}, {11, 4, true}, {1, 0, false}} {
		if got := mostlyDead(c.docs, c.live); got != c.want {
			t.Errorf("%d of %d live: mostly dead: %t", c.live, c.docs, got)
		}
	}
}

func TestCommitOfTooManyDocuments(t *testing.T) {
	for _, last := range []int{1, 2} {
		c := &commit{session: &session{ix: new(Index)}, next: &manifest{Segments: []manifestSegment{{NumDocs: base.MaxDocs - 1}, {NumDocs: last}}}}
		if err := c.checkSize(); last == 1 && err != nil || last == 2 && !errors.Is(err, base.ErrBadInput) {
			t.Errorf("%d documents: error %v, at most %d", base.MaxDocs-1+last, err, int64(base.MaxDocs))
		}
	}
}

func TestIdentity(t *testing.T) {
	mem := vfstest.NewMem()
	a, b := create(t, mem, Options{}), create(t, mem, Options{})
	s, err := a.Snapshot()
	check(t, err)
	defer s.Release()
	if a.Owner() == b.Owner() || s.Owner() != a.Owner() || s.IndexID() != a.currentManifest().ID || len(s.IndexID()) != 32 || s.IndexID() == b.currentManifest().ID {
		t.Errorf("owners %d, %d and %d, index %q", a.Owner(), b.Owner(), s.Owner(), s.IndexID())
	}
	if s.Retired() {
		t.Error("retired before Retire")
	}
	if a.Retire(); !s.Retired() {
		t.Error("not retired")
	}
	if got := (&FieldStats{TotalTokens: 3}).AvgLen(); got != 0 {
		t.Errorf("mean length %g without documents", got)
	}
	w := newWriter(t, a)
	var serials []uint64
	var segments []*segment.Segment
	for i := range 2 {
		check(t, w.Add(&corpus.Document{ID: fmt.Sprint(i), Text: "word"}))
		check(t, w.Commit(t.Context()))
		s, err := a.Snapshot()
		check(t, err)
		serials, segments = append(serials, s.Serial), append(segments, s.Segments[0].Segment)
		if got := s.Retain(); got != s {
			t.Error("Retain returns another snapshot")
		}
		s.Release()
		s.Release()
	}
	if serials[0] >= serials[1] || segments[0] != segments[1] {
		t.Errorf("serials %d; segments %p", serials, segments)
	}
	check(t, w.Close())
}

func TestCreateChecksTheFolder(t *testing.T) {
	for _, c := range []struct {
		names []string
		want  error
	}{
		{nil, nil},
		{[]string{lockName}, nil},
		{[]string{lockName, "seg-000001/ids", tempName + "/x", manifestTemp, impactsTemp, "impacts-000001", "seg-000001.live-000002"}, nil},
		{[]string{lockName, "seg-1"}, base.ErrBadInput},
		{[]string{lockName, "letter.txt"}, base.ErrBadInput},
		{[]string{"seg-000001/ids"}, base.ErrBadInput},
		{[]string{lockName, manifestName}, base.ErrBadInput}, // of another program
		{[]string{lockName, manifestName, "seg-000001/ids"}, base.ErrExists},
	} {
		mem := vfstest.NewMem()
		for _, name := range c.names {
			mem.Set("ix/"+name, []byte("text"))
		}
		if _, err := Create(mem, "ix", Options{}); !errors.Is(err, c.want) || c.want == nil && err != nil {
			t.Errorf("folder with %q: error %v, want %v", c.names, err, c.want)
		}
	}
	if _, err := Create(vfstest.NewFaulty(vfstest.NewMem(), vfstest.Plan{FailAt: 1}), "ix", Options{}); !errors.Is(err, vfstest.ErrInjected) {
		t.Errorf("error %v, want the injected one", err)
	}
}
