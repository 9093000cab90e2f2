package scoring

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/simd"
	"github.com/griffin-search/griffin/internal/simd/simdtest"
)

const canary = 0xdeadbeef

type guarded struct{ all, values []uint32 }

func newGuarded(n int) guarded {
	all := make([]uint32, n+64)
	for i := range all {
		all[i] = canary
	}
	return guarded{all, all[32 : 32+n : 32+n]}
}

func (g guarded) check(t *testing.T, what string) {
	t.Helper()
	n := len(g.values)
	for i, v := range g.all {
		if (i < 32 || i >= 32+n) && v != canary {
			t.Fatalf("%s: %d of %d values was written", what, i-32, n)
		}
	}
}

func risingDocIDs(rng *rand.Rand, n int, limit uint32) []uint32 {
	set := map[uint32]bool{}
	for len(set) < n {
		set[rng.Uint32N(limit)] = true
	}
	docIDs := make([]uint32, 0, n)
	for d := range set {
		docIDs = append(docIDs, d)
	}
	slices.Sort(docIDs)
	return docIDs
}

func randomTerm(rng *rand.Rand) Term {
	return Term{
		Weight: []float32{0, 1e-6, 0.5, 1, 300000, 3.9e9, 4.29e9}[rng.IntN(7)] * (0.5 + rng.Float32()/2),
		C0:     rng.Float32() * 3 * float32(rng.IntN(2)),
		C1:     rng.Float32() * float32(rng.IntN(2)),
		Linear: rng.IntN(4) == 0,
	}
}

func TestContributions(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 3000 {
		n := rng.IntN(BlockLen + 1)
		lengths := make([]uint32, 1+rng.IntN(3000)+n)
		for i := range lengths {
			lengths[i] = rng.Uint32() >> rng.IntN(32)
		}
		docIDs := risingDocIDs(rng, n, uint32(len(lengths)))
		freqs := make([]uint32, n)
		for i := range freqs {
			freqs[i] = 1 + rng.Uint32()>>(1+rng.IntN(31))
		}
		term := randomTerm(rng)
		if term.Linear { // products must stay below 2^32
			for i := range freqs {
				freqs[i] = 1 + freqs[i]%uint32(max(1, min(1e9, 4e9/max(term.Weight, 1e-3)-1)))
			}
		}
		want := make([]uint32, n)
		contributionsGeneric(want, docIDs, freqs, lengths, &term)
		for _, l := range simd.Levels() {
			simdtest.Set(t, l)
			got := newGuarded(n)
			Contributions(got.values, docIDs, freqs, lengths, &term)
			if !slices.Equal(got.values, want) {
				t.Fatalf("round %d: %s: n=%d term %+v: got %d, want %d", round, l, n, term, got.values, want)
			}
			got.check(t, l.String())
		}
	}
}

// n increasing DocIDs, padded like decoded ones, and DocIDs of which some are among them.
func randomBlock(rng *rand.Rand) (block [BlockLen]uint32, size int, docIDs []uint32) {
	size = 1 + rng.IntN(BlockLen)
	limit := uint32(size + rng.IntN(1+size*rng.IntN(20)))
	in := risingDocIDs(rng, size, limit)
	docIDs = risingDocIDs(rng, rng.IntN(int(min(limit, 300)+1)), limit+1)
	offset := []uint32{0, 1 << 31, 1<<31 - limit/2, ^uint32(0) - limit - 2}[rng.IntN(4)]
	for i := range block {
		block[i] = ^uint32(0)
	}
	for i, d := range in {
		block[i] = d + offset
	}
	for i := range docIDs {
		docIDs[i] += offset
	}
	return block, size, docIDs
}

func bruteMatch(docIDs []uint32, block *[BlockLen]uint32, last uint32) (looked int, pairs [][2]uint8) {
	for i, d := range docIDs {
		if d > last || i == BlockLen {
			break
		}
		looked++
		if at := slices.Index(block[:], d); at >= 0 {
			pairs = append(pairs, [2]uint8{uint8(i), uint8(at)})
		}
	}
	return looked, pairs
}

func checkMatch(t *testing.T, docIDs []uint32, block *[BlockLen]uint32, last uint32) {
	t.Helper()
	wantLooked, want := bruteMatch(docIDs, block, last)
	var of, at [BlockLen]uint8
	looked, matches := Match(&of, &at, docIDs, block, last)
	var got [][2]uint8
	for i := range matches {
		got = append(got, [2]uint8{of[i], at[i]})
	}
	if looked != wantLooked || !slices.Equal(got, want) {
		t.Fatalf("%s: %d of %d in %d, last %d: looked at %d, want %d; got %d, want %d",
			simd.Current(), docIDs, len(docIDs), block, last, looked, wantLooked, got, want)
	}
}

func TestMatch(t *testing.T) {
	simdtest.EachLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(3, 4))
		for range 5000 {
			block, size, docIDs := randomBlock(rng)
			checkMatch(t, docIDs, &block, block[size-1])
		}
	})
}

func TestSearch(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 2000 {
		block, size, docIDs := randomBlock(rng)
		for _, d := range docIDs {
			want := slices.IndexFunc(block[:], func(b uint32) bool { return b >= d })
			if want < 0 {
				want = BlockLen - 1
			}
			if got := Search(&block, d); got != want {
				t.Fatalf("Search of %d in %d (%d): got %d, want %d", d, block, size, got, want)
			}
		}
	}
}

func checkAccumulators(t *testing.T, rng *rand.Rand, a *Accumulators) {
	t.Helper()
	n := 1 + rng.IntN(Window)
	if rng.IntN(2) == 0 {
		n = 1 + rng.IntN(300)
	}
	first := []uint32{0, 5, 1 << 31, ^uint32(0) - uint32(n) - 1}[rng.IntN(4)]
	want := map[uint32]uint32{}
	anySum := rng.IntN(3) == 0
	for range 1 + rng.IntN(4) {
		docIDs := risingDocIDs(rng, min(n, rng.IntN(200)), uint32(n))
		contributions := make([]uint32, len(docIDs))
		for i := range docIDs {
			docIDs[i] += first
			contributions[i] = rng.Uint32() >> (2 + rng.IntN(31))
			want[docIDs[i]] += contributions[i]
		}
		if anySum {
			a.AddAny(docIDs, contributions, first)
		} else {
			a.Add(docIDs, contributions, first)
		}
	}
	least := 1 + rng.Uint32()>>(2+rng.IntN(30))
	room := (n + 15) / 16 * 16
	docIDs, sums := newGuarded(room), newGuarded(room)
	var found int
	if anySum {
		if rng.IntN(2) == 0 {
			least = 0
		}
		found = a.CollectAny(docIDs.values, sums.values, first, n, least)
	} else {
		found = a.Collect(docIDs.values, sums.values, first, n, least)
	}
	docIDs.check(t, "DocIDs")
	sums.check(t, "sums")
	expected := 0
	for d, sum := range want {
		if sum < least {
			continue
		}
		expected++
		if i, ok := slices.BinarySearch(docIDs.values[:found], d); !ok || sums.values[i] != sum {
			t.Fatalf("%s: DocID %d with sum %d not found", simd.Current(), d, sum)
		}
	}
	if found != expected {
		t.Fatalf("%s: %d documents, want %d", simd.Current(), found, expected)
	}
	if *a != (Accumulators{}) {
		t.Fatalf("%s: some accumulators are not 0 after Collect", simd.Current())
	}
}

func TestAccumulators(t *testing.T) {
	simdtest.EachLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(7, 8))
		a := new(Accumulators)
		for range 300 {
			checkAccumulators(t, rng, a)
		}
	})
}

func checkSelect(t *testing.T, docIDs, scores []uint32, least uint32, inPlace bool) {
	t.Helper()
	n := len(docIDs)
	var wantDocIDs, wantScores []uint32
	for i, s := range scores {
		if s >= least {
			wantDocIDs, wantScores = append(wantDocIDs, docIDs[i]), append(wantScores, s)
		}
	}
	toDocIDs, toScores := newGuarded(n), newGuarded(n)
	if inPlace {
		copy(toDocIDs.values, docIDs)
		copy(toScores.values, scores)
		docIDs, scores = toDocIDs.values, toScores.values
	}
	found := Select(toDocIDs.values, toScores.values, docIDs, scores, least)
	toDocIDs.check(t, "DocIDs")
	toScores.check(t, "scores")
	if !slices.Equal(toDocIDs.values[:found], wantDocIDs) || !slices.Equal(toScores.values[:found], wantScores) {
		t.Fatalf("%s: n=%d in place %t: got %d %d, want %d %d", simd.Current(), n, inPlace,
			toDocIDs.values[:found], toScores.values[:found], wantDocIDs, wantScores)
	}
}

func TestSelect(t *testing.T) {
	simdtest.EachLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(9, 10))
		for range 3000 {
			n := rng.IntN(100)
			docIDs, scores := make([]uint32, n), make([]uint32, n)
			shift := rng.IntN(32)
			for i := range n {
				docIDs[i], scores[i] = rng.Uint32(), rng.Uint32()>>shift
			}
			checkSelect(t, docIDs, scores, rng.Uint32()>>shift, rng.IntN(2) == 0)
		}
	})
}

// Levels are compared with brute force.
func TestIntersect(t *testing.T) {
	simdtest.EachLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(11, 12))
		for range 3000 {
			checkIntersect(t, rng)
		}
	})
}

// The set is followed by documents that are not in it, but whose bits are set.
func checkIntersect(t *testing.T, rng *rand.Rand) {
	t.Helper()
	words := slices.Repeat([]uint64{math.MaxUint64}, 40)
	n, set := rng.IntN(BlockLen+1), words[:rng.IntN(len(words)+1)]
	for i := range set {
		set[i] = rng.Uint64() &^ (1 << rng.IntN(64))
	}
	docIDs := make([]uint32, n)
	var wantDocIDs []uint32
	var wantOf []uint8
	for i := range docIDs {
		docIDs[i] = rng.Uint32N(64 * 40)
		if rng.IntN(50) == 0 {
			docIDs[i] = rng.Uint32()
		}
		d := docIDs[i]
		if int(d/64) < len(set) && set[d/64]>>(d%64)&1 != 0 {
			wantDocIDs, wantOf = append(wantDocIDs, d), append(wantOf, uint8(i))
		}
	}
	to, of := newGuarded(BlockLen), new([BlockLen]uint8)
	kept := Intersect((*[BlockLen]uint32)(to.values), of, docIDs, set)
	to.check(t, "DocIDs")
	if !slices.Equal(to.values[:kept], wantDocIDs) || !bytes.Equal(of[:kept], wantOf) {
		t.Fatalf("%s: n=%d, set of %d words: got %d at %d, want %d at %d", simd.Current(), n, len(set), to.values[:kept], of[:kept], wantDocIDs, wantOf)
	}
}

func FuzzKernels(f *testing.F) {
	f.Add(uint64(1), uint32(3))
	f.Add(uint64(99), uint32(1<<31))
	f.Fuzz(func(t *testing.T, seed uint64, least uint32) {
		before := simd.Current()
		defer simd.Set(before)
		for _, l := range simd.Levels() {
			simd.Set(l)
			rng := rand.New(rand.NewPCG(seed, 1))
			block, size, docIDs := randomBlock(rng)
			checkMatch(t, docIDs, &block, block[size-1])
			checkAccumulators(t, rng, new(Accumulators))
			scores := make([]uint32, len(docIDs))
			for i := range scores {
				scores[i] = least + rng.Uint32N(3) - 1
			}
			checkSelect(t, docIDs, scores, least, seed%2 == 0)
			checkIntersect(t, rng)
		}
	})
}

func TestKernelsDoNotAllocate(t *testing.T) {
	simdtest.EachLevel(t, func(t *testing.T) {
		var of, at [BlockLen]uint8
		var block, to [BlockLen]uint32
		for i := range block {
			block[i] = uint32(2 * i)
		}
		a := new(Accumulators)
		freqs, lengths, out, sums := make([]uint32, BlockLen), make([]uint32, 1000), make([]uint32, 1024), make([]uint32, 1024)
		term, set := Term{Weight: 1000, C0: 1}, make([]uint64, 4)
		if n := testing.AllocsPerRun(10, func() {
			Contributions(out[:BlockLen], block[:], freqs, lengths, &term)
			Match(&of, &at, block[:], &block, 254)
			a.Add(block[:], out[:BlockLen], 0)
			a.Collect(out, sums, 0, 1024, 1)
			Select(out[:10], sums[:10], out[:10], sums[:10], 5)
			Intersect(&to, &of, block[:], set)
		}); n != 0 {
			t.Errorf("%v allocations", n)
		}
	})
}

func BenchmarkKernels(b *testing.B) {
	rng := rand.New(rand.NewPCG(11, 12))
	block := [BlockLen]uint32(risingDocIDs(rng, BlockLen, 4000))
	candidates := risingDocIDs(rng, 32, block[127])
	freqs, lengths := make([]uint32, BlockLen), make([]uint32, 4000)
	for i := range freqs {
		freqs[i] = 1 + rng.Uint32N(5)
	}
	for i := range lengths {
		lengths[i] = 50 + rng.Uint32N(100)
	}
	term := Term{Weight: 300000, C0: 0.5, C1: 0.003}
	a := new(Accumulators)
	var of, at [BlockLen]uint8
	var to [BlockLen]uint32
	set := make([]uint64, 64)
	for i := range set {
		set[i] = 1 << rng.IntN(64) // 1.6 %
	}
	out, scores, sums := make([]uint32, 4096), make([]uint32, BlockLen), make([]uint32, 4096)
	for _, l := range simd.Levels() {
		for _, k := range []struct {
			name string
			n    int
			run  func()
		}{
			{"contributions", BlockLen, func() { Contributions(scores, block[:], freqs, lengths, &term) }},
			{"match", len(candidates), func() { Match(&of, &at, candidates, &block, block[127]) }},
			{"accumulate+collect", BlockLen, func() {
				a.Add(block[:], scores, 0)
				a.Collect(out, sums, 0, 4000, 150000)
			}},
			{"intersect", BlockLen, func() { Intersect(&to, &of, block[:], set) }},
			{"select", BlockLen, func() { Select(out[:BlockLen], sums[:BlockLen], block[:], scores, 150000) }},
		} {
			b.Run(fmt.Sprintf("kernel=%s/simd=%s", k.name, l), func(b *testing.B) {
				simdtest.Set(b, l)
				for b.Loop() {
					k.run()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(k.n), "ns/value")
			})
		}
	}
}
