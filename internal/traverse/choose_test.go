package traverse_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/derived"
	"github.com/griffin-search/griffin/internal/leg"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/score"
	"github.com/griffin-search/griffin/internal/simd"
	"github.com/griffin-search/griffin/internal/simd/simdtest"
	"github.com/griffin-search/griffin/internal/traverse"
)

func TestChoose(t *testing.T) {
	for _, tt := range []struct {
		mode     traverse.Mode
		docFreqs []uint32
		k        int
		want     string
	}{
		{traverse.And, []uint32{3, 4}, 10, "svs"},
		{traverse.And, []uint32{30000, 400000}, 10, "svs"},
		{traverse.Or, nil, 10, "block-max-maxscore"},
		{traverse.Or, []uint32{0, 0, 0}, 10, "block-max-maxscore"},
		{traverse.Or, []uint32{1280, 0}, 10, "merged-scores"}, // one list
		{traverse.Or, []uint32{1281, 0}, 10, "block-max-maxscore"},
		{traverse.Or, []uint32{100, 1948}, 10, "merged-scores"},
		{traverse.Or, []uint32{100, 1949}, 10, "block-max-maxscore"},
		{traverse.Or, []uint32{2000, 96, 2000}, 10, "merged-scores"},
		{traverse.Or, []uint32{2000, 97, 2000}, 10, "block-max-maxscore"},
		{traverse.Or, []uint32{64, 64, 64, 64, 64, 64, 64, 64}, 10, "merged-scores"},
		{traverse.Or, []uint32{64, 64, 64, 64, 64, 64, 64, 64, 0}, 10, "merged-scores"},
		{traverse.Or, []uint32{64, 64, 64, 64, 64, 64, 64, 63, 1}, 10, "merged-scores"},
		{traverse.Or, []uint32{64, 64, 64, 64, 64, 64, 64, 64, 1}, 10, "block-max-maxscore"},
		{traverse.Or, []uint32{64, 64, 64, 64, 64, 64, 64, 64, 1}, 513, "merged-scores"},
		{traverse.Or, []uint32{64, 64, 64, 64, 64, 64, 64, 64, 1536}, 1 << 20, "merged-scores"},
		{traverse.Or, []uint32{64, 64, 64, 64, 64, 64, 64, 64, 1537}, 1 << 20, "block-max-maxscore"},
		{traverse.Or, []uint32{1281}, 63, "block-max-maxscore"},
		{traverse.Or, []uint32{1281}, 64, "merged-scores"},
		{traverse.Or, []uint32{100, 6044}, 100, "merged-scores"},
		{traverse.Or, []uint32{100, 6045}, 511, "block-max-maxscore"},
		{traverse.Or, []uint32{100, 8092}, 512, "merged-scores"},
		{traverse.Or, []uint32{100, 8093}, 1000, "block-max-maxscore"},
	} {
		legs := legsOf(tt.docFreqs, false)
		if got := traverse.Choose(tt.mode, legs, tt.k, false).Name(); got != tt.want {
			t.Errorf("%s of %v, k=%d: %s, want %s", tt.mode, tt.docFreqs, tt.k, got, tt.want)
		}
		if n := testing.AllocsPerRun(10, func() { traverse.Choose(tt.mode, legs, tt.k, false) }); n != 0 {
			t.Errorf("%v allocations", n)
		}
	}
}

func TestChooseForWeights(t *testing.T) {
	for _, tt := range []struct {
		mode     traverse.Mode
		docFreqs []uint32
		numDocs  int
		k        int
		want     string
	}{
		{traverse.And, []uint32{3000, 4000, 5000, 6000}, 10_000, 10, "svs"},
		{traverse.Or, []uint32{3, 4, 5, 6}, 10_000, 10, "merged-scores"},
		// A sixteenth of the documents in the mean.
		{traverse.Or, []uint32{3000, 4000, 5000, 6000}, 72_000, 16, "block-max-pruning"},
		{traverse.Or, []uint32{3000, 4000, 5000, 6000}, 72_000, 17, "windowed-taat"},
		{traverse.Or, []uint32{3000, 4000, 5000, 5999}, 72_000, 16, "windowed-taat"},
		{traverse.Or, []uint32{100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 5000, 6000}, 16_000, 10, "block-max-pruning"},
		{traverse.Or, []uint32{100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 5000, 6000}, 16_000, 10, "windowed-taat"},
		// 64 postings a hit, one for 64 documents.
		{traverse.Or, []uint32{3000, 4000, 5000, 6000}, 72_000, 281, "windowed-taat"},
		{traverse.Or, []uint32{3000, 4000, 5000, 6000}, 72_000, 282, "block-max-maxscore"},
		{traverse.Or, []uint32{3000, 4000, 5000, 6000}, 64*18_000 + 63, 10, "windowed-taat"},
		{traverse.Or, []uint32{3000, 4000, 5000, 6000}, 64 * 18_001, 10, "block-max-maxscore"},
		{traverse.Or, []uint32{1281}, 10_000, 1000, "block-max-maxscore"},
		{traverse.Or, []uint32{3000, 4000, 5000, 0}, 10_000, 10, "block-max-maxscore"},
	} {
		legs := legsOf(tt.docFreqs, true)
		for i := range legs {
			legs[i].Lengths = make([]uint32, tt.numDocs)
		}
		keep(legs, derived.DefaultLimit)
		if got := traverse.Choose(tt.mode, legs, tt.k, false).Name(); got != tt.want {
			t.Errorf("%s of %v in %d, k=%d: %s, want %s", tt.mode, tt.docFreqs, tt.numDocs, tt.k, got, tt.want)
		}
		if n := testing.AllocsPerRun(10, func() { traverse.Choose(tt.mode, legs, tt.k, false) }); n != 0 {
			t.Errorf("%v allocations", n)
		}
	}
}

// The threshold is a bound of the first list. The lists whose greatest score reaches it are essential, the others have scores of 1.
func TestChooseForTexts(t *testing.T) {
	const threshold = 1000
	lengths := make([]uint32, 300_000)
	term := score.NewLinearTerm(1, 1000)
	scale := score.NewScale(term, 0, 0)
	legs := func(numLists, length, essential int) []traverse.Leg {
		legs := make([]traverse.Leg, numLists)
		for i := range legs {
			list := &postings.List{Meta: postings.Meta{DocFreq: uint32(length)}}
			legs[i] = traverse.Leg{Leg: leg.Leg{List: list, Scale: scale}, Lengths: lengths, MaxScore: 1}
			if i < essential {
				legs[i].MaxScore = scale.Lower(threshold)
			}
		}
		legs[0].List.Kth = [3]score.Bound{0, 0, threshold}
		return legs
	}
	unknown := legs(8, 4000, 4)
	unknown[0].List.Kth = [3]score.Bound{}
	for _, tt := range []struct {
		name string
		legs []traverse.Leg
		k    int
		want string
	}{
		{"half is essential", legs(8, 4000, 4), 1000, "windowed-taat"},
		{"less than half is essential", legs(8, 4000, 3), 1000, "block-max-maxscore"},
		{"all are essential", legs(8, 4000, 8), 1000, "block-max-maxscore"},
		{"no bound", unknown, 1000, "block-max-maxscore"},
		{"7 lists", legs(7, 4000, 4), 1000, "block-max-maxscore"},
		{"64 lists", legs(64, 4000, 32), 1000, "windowed-taat"},
		{"65 lists", legs(65, 4000, 33), 1000, "block-max-maxscore"},
		{"a sixteenth of the documents", legs(8, 2344, 4), 1000, "windowed-taat"},
		{"fewer", legs(8, 2343, 4), 1000, "block-max-maxscore"},
		{"4096 postings a hit", legs(8, 512*200, 4), 200, "windowed-taat"},
		{"more", legs(8, 512*200+512, 4), 200, "block-max-maxscore"},
	} {
		if got := traverse.Choose(traverse.Or, tt.legs, tt.k, false).Name(); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
		if got := traverse.Choose(traverse.Or, tt.legs, tt.k, true).Name(); got != "block-max-maxscore" {
			t.Errorf("%s, documents are missing: %s", tt.name, got)
		}
		if n := testing.AllocsPerRun(10, func() { traverse.Choose(traverse.Or, tt.legs, tt.k, false) }); n != 0 {
			t.Errorf("%s: %v allocations", tt.name, n)
		}
	}
	simdtest.EachLevel(t, func(t *testing.T) {
		want := "block-max-maxscore"
		if simd.Current() == simd.AVX512 {
			want = "windowed-taat"
		}
		if got := traverse.Choose(traverse.Or, legs(20, 4000, 9), 1000, false).Name(); got != want {
			t.Errorf("45 %% are essential: %s, want %s", got, want)
		}
	})
}

func keep(legs []traverse.Leg, limitBytes int64) *derived.Cache {
	c := derived.NewCache(limitBytes)
	s := c.NewSegment()
	for i := range legs {
		legs[i].Derived = s.List(uint64(i))
	}
	return c
}

// block-max-pruning and windowed-taat need room for their derived structures and keep no more than
// predicted.
func TestChooseWhatStays(t *testing.T) {
	const numDocs = 100_000
	x := oneSegment(numDocs, nil)
	x.linear = true
	for _, step := range []int{1, 2, 10, 30, 100, 700} {
		x.terms = append(x.terms, x.term(2))
		// Frequencies need one byte or two.
		x.segments[0].lists = append(x.segments[0].lists, listOf(step/2, step, numDocs/step, func(i int) uint32 {
			return uint32(i*7%200+1) << (step % 4 * 3)
		}))
	}
	x.write(t, codec.SIMDBP{})
	for _, tt := range []struct {
		k, structures int
		want          string
	}{
		{10, 2, "block-max-pruning"},
		{100, 1, "windowed-taat"},
	} {
		t.Run(tt.want, func(t *testing.T) {
			queries := x.queries(t)
			legs := queries[0].Legs
			for i := range legs {
				legs[i].Derived = derived.List{}
			}
			choose := func() string { return traverse.Choose(traverse.Or, legs, tt.k, false).Name() }
			if got := choose(); got != "block-max-maxscore" {
				t.Errorf("nothing is kept: %s", got)
			}
			least, most := int64(0), int64(derived.DefaultLimit)
			for most-least > 1 {
				limit := (least + most) / 2
				if keep(legs, limit); choose() == tt.want {
					most = limit
				} else {
					least = limit
				}
			}
			c := keep(legs, most)
			want := x.oracle(traverse.Or)[:tt.k]
			if got := run(t, traverse.Choose(traverse.Or, legs, tt.k, false), new(traverse.Scratch), queries, tt.k); !slices.Equal(got, want) {
				t.Errorf("%s", difference(got, want))
			}
			structures := tt.structures * len(legs)
			if got := c.Stats(); got.Entries != structures || got.SizeBytes > most || got.SizeBytes < most*2/3 {
				t.Errorf("%+v is kept, predicted %d bytes of %d structures", got, most, structures)
			}
			if got := choose(); got != tt.want {
				t.Errorf("all is kept: %s", got)
			}
			legs = append(legs, traverse.Leg{Leg: leg.Leg{List: new(postings.List)}, Lengths: legs[0].Lengths})
			if got := choose(); got != tt.want {
				t.Errorf("an empty list needs nothing: %s", got)
			}
		})
	}
}

func legsOf(docFreqs []uint32, weights bool) []traverse.Leg {
	legs := make([]traverse.Leg, len(docFreqs))
	for i, n := range docFreqs {
		legs[i].List = &postings.List{Meta: postings.Meta{DocFreq: n}}
		legs[i].Term.Linear = weights
	}
	return legs
}

func TestGuideListsAllTraversals(t *testing.T) {
	text, err := os.ReadFile("../../docs/guides/traversals.md")
	if err != nil {
		t.Fatal(err)
	}
	_, or, _ := strings.Cut(string(text), "## Any of the words: mode `or`")
	or, and, ok := strings.Cut(or, "## All of the words: mode `and`")
	if !ok {
		t.Fatal("the guide lacks its sections")
	}
	for mode, section := range map[traverse.Mode]string{traverse.Or: or, traverse.And: and} {
		for _, name := range traverse.Names(mode) {
			if !strings.Contains(section, "`"+name+"`") {
				t.Errorf("mode %s: %s is missing", mode, name)
			}
		}
	}
}

func TestNamesDoNotAllocate(t *testing.T) {
	for _, tr := range allTraversals(t) {
		if n := testing.AllocsPerRun(10, func() { _ = tr.Name() }); n != 0 {
			t.Errorf("%s: %v allocations", tr.Name(), n)
		}
	}
}
