package pipeline

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// modelList is a list of a log, in a model of the cache alone: without images, or a GPU.
type modelList struct {
	number                      uint64
	packedBytes, directoryBytes int64   // the first with the second
	packedSaves, directorySaves float64 // a use, nanoseconds
	uses                        int     // in the log
	reads, tried                int
}

// modelLog returns lists of 1,000 to 8 million postings, and queries for them: some are asked
// for far more often than others, and long ones rather than short ones.
func modelLog(rng *rand.Rand, numLists, numQueries int) (lists []*modelList, queries [][]*modelList) {
	var sum float64
	weights := make([]float64, numLists)
	for i := range numLists {
		postings := int64(1000 * math.Exp(rng.Float64()*9))
		l := &modelList{number: uint64(i), directoryBytes: roundUp((postings + 127) / 128 * 16)}
		l.packedBytes = roundUp(postings) + l.directoryBytes
		l.directorySaves = directoryGain(l.directoryBytes)
		l.packedSaves = packedGain(l.packedBytes-l.directoryBytes) + l.directorySaves
		sum += math.Pow(float64(postings), 0.35) * math.Exp(1.2*rng.NormFloat64())
		weights[i], lists = sum, append(lists, l)
	}
	for range numQueries {
		var q []*modelList
		for range 1 + rng.IntN(6) {
			at, _ := slices.BinarySearch(weights, rng.Float64()*sum)
			q = append(q, lists[at])
			lists[at].uses++
		}
		queries = append(queries, q)
	}
	return lists, queries
}

// worth is what lists could save in a log: all of it, and what has the greatest benefit per byte
// and room in a memory without gaps, with uses known beforehand. That is the most that can be,
// but for what one list saves.
func worth(lists []*modelList, limit int64) (all, most float64) {
	type piece struct {
		size         int64
		saves, aByte float64
	}
	var pieces []piece
	for _, l := range lists {
		n := float64(l.uses)
		all += n * l.packedSaves
		for _, p := range []piece{
			{size: l.directoryBytes, saves: n * l.directorySaves},
			{size: l.packedBytes - l.directoryBytes, saves: n * (l.packedSaves - l.directorySaves)},
		} {
			p.aByte = p.saves / float64(p.size)
			pieces = append(pieces, p)
		}
	}
	slices.SortFunc(pieces, func(a, b piece) int { return cmp.Compare(b.aByte, a.aByte) })
	for _, p := range pieces {
		if p.size <= limit {
			limit -= p.size
			most += p.saves
		}
	}
	return all, most
}

// modelCache is the cache, asked as direct runs do.
type modelCache struct{ *cache }

func (c modelCache) there(l *modelList, k kind) bool {
	e := c.find(key(l.number).of(k))
	if e != nil {
		e.unpin()
	}
	return e != nil
}

func (c modelCache) put(l *modelList, k kind, size int64, gain float64, uses int, a admission) bool {
	e := c.acquire(key(l.number).of(k), size, uint32(uses), gain, a)
	if e == nil {
		return false
	}
	c.publish(e)
	e.unpin()
	return true
}

// read reads a list, and returns what that takes over the bus.
func (c modelCache) read(l *modelList) float64 {
	if c.there(l, kindPacked) {
		return 0
	}
	ns, directory := l.packedSaves, c.there(l, kindDirectory)
	if directory {
		ns -= l.directorySaves
	}
	l.reads++
	uses := l.reads - l.tried
	if uses < min(l.tried, promoteEvery) {
		return ns
	}
	l.tried = l.reads
	if !c.put(l, kindPacked, l.packedBytes, packedGain(l.packedBytes), uses, ifBetter) && !directory {
		c.put(l, kindDirectory, l.directoryBytes, directoryGain(l.directoryBytes), uses, ifBetter)
	}
	return ns
}

// A cache of a tenth of the lists that begins with all their directories saves about what it
// could, from a few queries on.
func TestCacheNearsTheBest(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	for range 5 {
		lists, queries := modelLog(rng, 600, 300)
		var size int64
		for _, l := range lists {
			size += l.packedBytes
		}
		c := modelCache{testCache(size/10, 0)}
		for _, l := range lists {
			c.put(l, kindDirectory, l.directoryBytes, directoryGain(l.directoryBytes), 1, ifFree)
		}
		all, most := worth(lists, size/10)
		for round, want := range []float64{0, 0.8, 0.8, 0.8, 0.8, 0.9, 0.9, 0.9} {
			before, ns := c.snapshot().Evictions, 0.0
			for _, q := range queries {
				for _, l := range q {
					ns += c.read(l)
				}
			}
			saved, gone := (all-ns)/most, c.snapshot().Evictions-before
			t.Logf("round %d: saves %.3f of what can be, %d evicted", round, saved, gone)
			if saved < want {
				t.Errorf("round %d: it saves %.3f of what can be saved, want %g and more", round, saved, want)
			}
		}
	}
}
