package codec

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

func clusteredList(rng *rand.Rand, n int) []uint32 {
	docIDs := make([]uint32, 0, n)
	d := uint32(0)
	for len(docIDs) < n {
		spread := uint32(1) << rng.IntN(9)
		for range 1 + rng.IntN(90) {
			docIDs = append(docIDs, d)
			d += 1 + rng.Uint32N(spread)
		}
	}
	return docIDs[:n]
}

func shortestPath(p *partitioner, docIDs []uint32, base uint32) int {
	cost := make([]int, len(docIDs)+1)
	for j := 1; j <= len(docIDs); j++ {
		cost[j] = 1 << 60
		for i := max(0, j-mostPartition); i < j; i++ {
			before := base
			if i > 0 {
				before = docIDs[i-1]
			}
			cost[j] = min(cost[j], cost[i]+p.entry+partitionBits(docIDs[i:j], before))
		}
	}
	return cost[len(docIDs)]
}

// The cost is within the approximation guarantee.
func TestPartitionsAgainstShortestPath(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	worst := 1.0
	for range 30 {
		docIDs := clusteredList(rng, 1+rng.IntN(700))
		base := NoBase
		if rng.IntN(2) == 0 {
			base = 99
			for i := range docIDs {
				docIDs[i] += 100 + uint32(rng.IntN(2))*uint32(i)
			}
		}
		p := newPartitioner(docIDs)
		ends := p.split(docIDs, base)
		got, start, before := 0, 0, base
		for _, end := range ends {
			got += p.entry + partitionBits(docIDs[start:end], before)
			start, before = end, docIDs[end-1]
		}
		want := shortestPath(p, docIDs, base)
		if !slices.IsSorted(ends) || start != len(docIDs) || got < want {
			t.Fatalf("%d DocIDs: partitions %v of cost %d, the shortest path costs %d", len(docIDs), ends, got, want)
		}
		worst = max(worst, float64(got)/float64(want))
	}
	if most := (1 + partitionEps1) * (1 + partitionEps2); worst > most {
		t.Errorf("cost is up to %.3f times the shortest path, want at most %.3f", worst, most)
	}
}

// Lists of several groups and stretches, and runs that must be cut.
func TestPEFLongLists(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	run := make([]uint32, 3*mostPartition+5)
	for i := range run {
		run[i] = 7 + uint32(i)
	}
	for _, docIDs := range [][]uint32{clusteredList(rng, 20_000), clusteredList(rng, 2*stretch+77), run} {
		t.Run(fmt.Sprintf("n=%d", len(docIDs)), func(t *testing.T) {
			n := len(docIDs)
			list := PEF{}.AppendList(nil, docIDs)
			l, err := openPEF(list, n)
			if err != nil {
				t.Fatal(err)
			}
			if n > len(run) && l.groups() < 2 {
				t.Errorf("%d partitions are one group: the test needs several", l.partitions)
			}
			if size, err := (PEF{}).ListSize(append(slices.Clip(list), 1, 2, 3), n); err != nil || size != len(list) {
				t.Errorf("ListSize %d, %v; %d bytes were written", size, err, len(list))
			}
			got := make([]uint32, n)
			if err := (PEF{}).DecodeList(got, list); err != nil || !slices.Equal(got, docIDs) {
				t.Fatalf("DecodeList: %v, or other DocIDs", err)
			}
			for range 2000 {
				i := rng.IntN(n)
				if d, err := (PEF{}).DocIDAt(list, n, i); err != nil || d != docIDs[i] {
					t.Fatalf("DocIDAt(%d) = %d, %v; want %d", i, d, err, docIDs[i])
				}
			}
		})
	}
}

func BenchmarkPEF(b *testing.B) {
	docIDs := clusteredList(rand.New(rand.NewPCG(5, 6)), 1<<16)
	list := PEF{}.AppendList(nil, docIDs)
	b.Run("AppendList", func(b *testing.B) {
		for b.Loop() {
			list = PEF{}.AppendList(list[:0], docIDs)
		}
		b.ReportMetric(float64(b.N)*float64(len(docIDs))/b.Elapsed().Seconds()/1e6, "Mints/s")
	})
	b.Run("DecodeBlock", func(b *testing.B) {
		var dst [BlockLen]uint32
		i := 0
		for b.Loop() {
			if _, err := (PEF{}).DecodeBlock(&dst, list, len(docIDs), i); err != nil {
				b.Fatal(err)
			}
			i = (i + 1) % (len(docIDs) / BlockLen)
		}
		b.ReportMetric(float64(b.N)*BlockLen/b.Elapsed().Seconds()/1e9, "Gints/s")
	})
	b.Run("DocIDAt", func(b *testing.B) {
		i := 0
		for b.Loop() {
			if _, err := (PEF{}).DocIDAt(list, len(docIDs), i); err != nil {
				b.Fatal(err)
			}
			i = (i + 7919) % len(docIDs)
		}
	})
}
