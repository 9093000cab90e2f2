package plan

import (
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/internal/score"
	"github.com/griffin-search/griffin/internal/traverse"
	"github.com/griffin-search/griffin/query"
)

func prepare(t *testing.T, s *Planner, sc *Scratch, text string, o Options) *Plan {
	t.Helper()
	p, err := s.Prepare(sc, plantest.Parse(t, text), o)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return p
}

func u32(n uint32) string { return string(binary.LittleEndian.AppendUint32(nil, n)) }
func u64(n uint64) string { return string(binary.LittleEndian.AppendUint64(nil, n)) }

// The key has the documented format; the phrase sorts after the words, which have fewer terms.
func TestKeyFormat(t *testing.T) {
	s, sc := smallIndex(t), testScratch(t, "whitespace")
	plainLeaf := u32(0) + u32(0) + u32(0) // no slop, alternatives and blend
	word := func(field uint32, boost float64, text string) string {
		return "L" + u32(field) + u64(math.Float64bits(boost)) + plainLeaf + u32(1) + u32(0) + u32(uint32(len(text))) + text
	}
	group := func(required, optional, excluded int, members ...string) string {
		return "G" + u32(0) + u32(uint32(required)) + u32(uint32(optional)) + u32(uint32(excluded)) + strings.Join(members, "")
	}
	phrase := "L" + u32(0) + u64(math.Float64bits(1)) + plainLeaf + u32(2) + u32(0) + u32(2) + "w3" + u32(1) + u32(3) + "w45"
	inner := func(required, optional int) string {
		return group(required, optional, 1, word(0, 1, "w5"), word(0, 1, "w6"), word(0, 1, "w7"))
	}
	head := func(mode Mode, count string, k uint64) string {
		return string(rune(mode)) + count + u64(k) + u32(math.Float32bits(s.bm25.K1)) + u32(math.Float32bits(s.bm25.B))
	}
	const text = `w2^3 title:w1 "w3 w45" -w9 -w8 (w6 w5 -w7)`
	for _, c := range []struct {
		mode  Mode
		count bool
		want  string
	}{
		{ModeOr, false, head(ModeOr, "\x00", 10) + string(rune(ModeOr)) +
			group(0, 4, 2, inner(0, 2), word(0, 3, "w2"), phrase, word(1, 1, "w1"), word(0, 1, "w8"), word(0, 1, "w9"))},
		{ModeAnd, true, head(ModeAnd, "\x01", 10) + string(rune(ModeAnd)) +
			group(5, 0, 3, word(0, 3, "w2"), word(0, 1, "w5"), word(0, 1, "w6"), phrase, word(1, 1, "w1"), word(0, 1, "w7"), word(0, 1, "w8"), word(0, 1, "w9"))},
	} {
		p := prepare(t, s, sc, text, Options{Mode: c.mode, K: 10, Count: c.count})
		if got := string(p.AppendKey(nil, sc)); got != c.want {
			t.Errorf("mode %s: key\n%q\nwant\n%q", c.mode, got, c.want)
		}
	}
	p := prepare(t, s, sc, "", Options{Mode: ModeOr, K: 1})
	if got, want := string(p.AppendKey([]byte("x"), sc)), "x"+head(ModeOr, "\x00", 1)+string(rune(ModeOr))+"N"; got != want {
		t.Errorf("the key of no query is %q, want %q", got, want)
	}
}

func TestNotes(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"the lord the", []string{`"the" is left out: the index's analyzer, english, makes no term of it`}},
		{"the of the", []string{`"the" is left out: the index's analyzer, english, makes no term of it`, `"of" is left out: the index's analyzer, english, makes no term of it`}},
		{"-lord", []string{`"-lord" only excludes: it matches nothing without a word to look for`}},
		{"lord", nil},
	} {
		co := newCompiler(t, "english", true)
		if _, err := co.compile(plantest.Parse(t, c.text), ModeOr, 1); err != nil || !slices.Equal(co.notes, c.want) {
			t.Errorf("%s: notes %q, %v, want %q", c.text, co.notes, err, c.want)
		}
	}
}

func TestCompileWeights(t *testing.T) {
	weights := func(all ...float64) *query.Weights {
		w := new(query.Weights)
		for i, weight := range all {
			w.Terms = append(w.Terms, query.TermWeight{Term: "t" + strconv.Itoa(i), Weight: weight})
		}
		return w
	}
	c := newCompiler(t, "whitespace", false)
	if _, err := c.compile(weights(1), ModeOr, 1); !errors.Is(err, base.ErrBadInput) {
		t.Errorf("an index of texts: %v", err)
	}
	for _, tt := range []struct {
		query   *query.Weights
		or, and string
	}{
		{weights(2, 0, 3), "(0^2 1^3)", "(+0^2 +1^3)"},
		{weights(0, 4), "0^4", "0^4"},
		{weights(0, 0), "", ""},
		{weights(), "", ""},
	} {
		for mode, want := range map[Mode]string{ModeOr: tt.or, ModeAnd: tt.and} {
			c := newCompiler(t, "whitespace", false)
			c.weighted = true
			root, err := c.compile(tt.query, mode, 1)
			if err != nil || (root == nil) != (want == "") || root != nil && nodeString(root) != want {
				t.Errorf("%v in mode %s: %v, %v, want %q", tt.query.Terms, mode, root, err, want)
			}
		}
	}
	c.weighted = true
	most := slices.Repeat([]float64{1}, query.MaxClauses)
	if _, err := c.compile(weights(most...), ModeOr, 1); err != nil {
		t.Errorf("%d terms: %v", len(most), err)
	}
	var tooMany *query.Error
	if _, err := c.compile(weights(append(most, 1)...), ModeOr, 1); !errors.As(err, &tooMany) || !errors.Is(tooMany.Kind, query.ErrTooManyClauses) {
		t.Errorf("%d terms: %v", len(most)+1, err)
	}
}

func TestOwnBounds(t *testing.T) {
	ix := indextest.Snapshot(t, plantest.RandomIndex(t, rand.New(rand.NewPCG(50, 50)), 20, 1, false))
	same, other := ix.Options.BM25, score.BM25{K1: 3, B: 0.1}
	for _, c := range []struct {
		bm25 *score.BM25
		want bool
	}{{nil, false}, {&same, false}, {&other, true}} {
		if s := New(ix, c.bm25); s.OwnBounds() != c.want {
			t.Errorf("%+v: own bounds %v", c.bm25, s.OwnBounds())
		}
	}
}

func TestModeLimits(t *testing.T) {
	for m, want := range map[Mode]string{ModeSaat: "saat", ModeSaat + 1: "Mode(4)", 255: "Mode(255)"} {
		if got := m.String(); got != want {
			t.Errorf("mode %d is %q, want %q", uint8(m), got, want)
		}
	}
	or, and := traverse.Names(traverse.Or), traverse.Names(traverse.And)
	both := Traversals(ModeAndOr)
	if !slices.IsSorted(both) || len(slices.Compact(slices.Clone(both))) != len(both) {
		t.Errorf("traversals %q are not sorted, or repeated", both)
	}
	for _, name := range slices.Concat(or, and) {
		if !slices.Contains(both, name) {
			t.Errorf("traversals %q lack %q", both, name)
		}
	}
	if !slices.Equal(Traversals(ModeOr), or) || !slices.Equal(Traversals(ModeAnd), and) || Traversals(ModeSaat) != nil {
		t.Errorf("traversals of single modes: %q, %q, %q", Traversals(ModeOr), Traversals(ModeAnd), Traversals(ModeSaat))
	}
}

// A stage runs the named traversal if it is of its kind; a single word is of both.
func TestStages(t *testing.T) {
	s, sc := smallIndex(t), testScratch(t, "whitespace")
	type stage struct {
		kind                  traverse.Mode
		by                    string
		flat, empty, excludes bool
	}
	or, and := traverse.Or, traverse.And
	for _, c := range []struct {
		query, named string
		mode         Mode
		want         []stage
	}{
		{"w1 w2", "wand", ModeAndOr, []stage{{and, "svs", true, false, false}, {or, "wand", true, false, false}}},
		{"w1 w2", "merge", ModeAndOr, []stage{{and, "merge", true, false, false}, {or, "merged-scores", true, false, false}}},
		{"w1", "merge", ModeOr, []stage{{or, "merge", true, false, false}}},
		{"w1", "wand", ModeAndOr, []stage{{or, "wand", true, false, false}}},
		{"+w1 -w2", "", ModeOr, []stage{{or, "merged-scores", true, false, true}}},
		{"+w1 w2", "", ModeOr, []stage{{or, treeTraversal, false, false, false}}},
		{"+w1 +w2", "", ModeAndOr, []stage{{and, "svs", true, false, false}}},
		{"", "", ModeAndOr, []stage{{or, treeTraversal, false, true, false}}},
		{"-w1", "", ModeOr, []stage{{or, treeTraversal, false, true, false}}},
	} {
		p := prepare(t, s, sc, c.query, Options{Mode: c.mode, K: 10, Traversal: c.named})
		var got []stage
		for i := range p.NumStages() {
			st := p.Stage(i)
			got = append(got, stage{st.Kind(), st.Traversal(), st.IsFlat(), st.IsEmpty(), st.Excludes()})
		}
		if !slices.Equal(got, c.want) || p.Impacts() != nil {
			t.Errorf("%s in mode %s by %q: %+v, want %+v", c.query, c.mode, c.named, got, c.want)
		}
	}
}

func TestSameNode(t *testing.T) {
	word := func(term int, boost float64) *leaf { return &leaf{terms: []int{term}, boost: boost} }
	all := []node{
		nil,
		word(1, 1), word(1, 2), word(2, 1), &leaf{terms: []int{1, 2}, offsets: []uint32{0, 1}, boost: 1}, &leaf{terms: []int{1, 2}, offsets: []uint32{0, 2}, boost: 1},
		&group{}, &group{required: []node{word(1, 1)}}, &group{optional: []node{word(1, 1)}}, &group{excluded: []node{word(1, 1)}},
		&group{required: []node{word(1, 1), word(2, 1)}}, &group{optional: []node{word(1, 2)}},
	}
	for i, a := range all {
		for j, b := range all {
			if got := sameNode(a, b); got != (i == j) {
				t.Errorf("nodes %d and %d: same is %v", i, j, got)
			}
		}
	}
}

// Equally long lists stay in the order of the query.
func TestSortTermsKeepsTies(t *testing.T) {
	s, sc := smallIndex(t), testScratch(t, "whitespace")
	p := prepare(t, s, sc, "w1 w5 w2 w4 missing", Options{Mode: ModeAnd, K: 10})
	for range 2 {
		p.SortTerms()
		if got, want := p.Stage(0).Order(), []int{4, 1, 2, 3, 0}; !slices.Equal(got, want) {
			t.Errorf("order %v, want %v", got, want)
		}
	}
	tree := prepare(t, s, sc, `w3 "w1 w2"`, Options{K: 10})
	if tree.SortTerms(); len(tree.Stage(0).Order()) != 0 || len(tree.StageLists(0)) != 0 {
		t.Errorf("a tree has the order %v", tree.Stage(0).Order())
	}
}

// A plan that is prepared again has nothing of the earlier query.
func TestPrepareIntoAgain(t *testing.T) {
	s, sc := smallIndex(t), testScratch(t, "whitespace")
	var p Plan
	for _, text := range []string{"w1 w2", "missing w3", "missing missing2", "w1"} {
		q := plantest.Parse(t, text)
		if err := s.PrepareInto(&p, sc, q, Options{K: 10}); err != nil {
			t.Fatal(err)
		}
		got, err := p.RunCPU(t.Context(), sc, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		fresh := prepare(t, s, sc, text, Options{K: 10})
		want, err := fresh.RunCPU(t.Context(), sc, nil, nil)
		if err != nil || !slices.Equal(got.Hits, want.Hits) || !slices.Equal(p.DocFreqs(), fresh.DocFreqs()) {
			t.Errorf("%s: hits %v with frequencies %v, want %v with %v, %v", text, got.Hits, p.DocFreqs(), want.Hits, fresh.DocFreqs(), err)
		}
	}
}
