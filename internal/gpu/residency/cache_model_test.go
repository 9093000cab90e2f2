package residency

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// modelList models a list of a query log, without a GPU and without images.
type modelList struct {
	number                      uint64
	postings                    int64
	packedBytes, directoryBytes int64 // packedBytes includes directoryBytes
	uses                        int   // in the log
	share                       float64
	reads, tried                int
	readShare                   float64 // sum over reads
}

// payloadSaves and directorySaves are the nanoseconds that a use of a share of the blocks saves
// if the part is on the device.
func (l *modelList) payloadSaves(share float64) float64 {
	return packedGain(l.packedBytes-l.directoryBytes, 0, share) - directoryGain(0)
}

func (l *modelList) directorySaves() float64 { return directoryGain(l.directoryBytes) }

type modelUse struct {
	*modelList
	share float64
}

const modelDocs = 25_000_000

// modelLog returns lists of 1,000 to 8 million postings and queries with skewed frequencies;
// long lists are more frequent.
func modelLog(rng *rand.Rand, numLists, numQueries int, conjunctive bool) (lists []*modelList, queries [][]modelUse) {
	var sum float64
	weights := make([]float64, numLists)
	for i := range numLists {
		postings := int64(1000 * math.Exp(rng.Float64()*9))
		l := &modelList{number: uint64(i), postings: postings, directoryBytes: roundUp((postings + 127) / 128 * 16)}
		l.packedBytes = roundUp(postings) + l.directoryBytes
		sum += math.Pow(float64(postings), 0.35) * math.Exp(1.2*rng.NormFloat64())
		weights[i], lists = sum, append(lists, l)
	}
	for range numQueries {
		var q []modelUse
		for range 1 + rng.IntN(6) {
			at, _ := slices.BinarySearch(weights, rng.Float64()*sum)
			q = append(q, modelUse{lists[at], 0})
		}
		slices.SortFunc(q, func(a, b modelUse) int { return cmp.Compare(a.postings, b.postings) })
		shares := NewShares(conjunctive, modelDocs)
		for i := range q {
			q[i].share = shares.Next(q[i].postings)
			q[i].modelList.share += q[i].share
			q[i].uses++
		}
		queries = append(queries, q)
	}
	return lists, queries
}

// worth returns the time that lists could save in a log, and the greedy optimum for limit
// bytes, at most one list below the true one: known uses, no fragmentation.
func worth(lists []*modelList, limit int64) (all, most float64) {
	type piece struct {
		size         int64
		saves, aByte float64
	}
	var pieces []piece
	for _, l := range lists {
		n := float64(l.uses)
		directory, payload := n*l.directorySaves(), n*l.payloadSaves(l.share/max(n, 1))
		all += directory + payload
		for _, p := range []piece{{size: l.directoryBytes, saves: directory}, {size: l.packedBytes - l.directoryBytes, saves: payload}} {
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

type modelCache struct{ *cache }

func (c modelCache) there(l *modelList, k kind) bool {
	e := c.find(key(l.number).of(k))
	if e != nil {
		e.Unpin()
	}
	return e != nil
}

func (c modelCache) put(l *modelList, k kind, size int64, gain float64, uses int, a admission) bool {
	e := c.acquire(key(l.number).of(k), term{}, size, uint32(uses), gain, a)
	if e == nil {
		return false
	}
	c.publish(e)
	e.Unpin()
	return true
}

// read returns the bus time in nanoseconds.
func (c modelCache) read(u modelUse) float64 {
	l := u.modelList
	if c.there(l, kindPacked) {
		return 0
	}
	ns, directory := l.payloadSaves(u.share), c.there(l, kindDirectory)
	if !directory {
		ns += l.directorySaves()
	}
	l.reads++
	l.readShare += u.share
	uses := l.reads - l.tried
	if uses < min(l.tried, promoteEvery) {
		return ns
	}
	l.tried = l.reads
	if !c.put(l, kindPacked, l.packedBytes, packedGain(l.packedBytes-l.directoryBytes, l.directoryBytes, l.readShare/float64(l.reads)), uses, ifBetter) && !directory {
		c.put(l, kindDirectory, l.directoryBytes, directoryGain(l.directoryBytes), uses, ifBetter)
	}
	return ns
}

// The cache has room for a tenth of the lists, with all directories at the start.
func TestCacheApproachesOptimum(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	for i := range 10 {
		conjunctive := i%2 == 1
		lists, queries := modelLog(rng, 600, 300, conjunctive)
		c, size := tenth(lists)
		all, most := worth(lists, size)
		for round, want := range []float64{0, 0.8, 0.8, 0.8, 0.8, 0.9, 0.9, 0.9} {
			before, ns := c.snapshot().Evictions, 0.0
			for _, q := range queries {
				for _, l := range q {
					ns += c.read(l)
				}
			}
			saved, gone := (all-ns)/most, c.snapshot().Evictions-before
			t.Logf("conjunctive %v, round %d: saves %.3f of the optimum, %d evictions", conjunctive, round, saved, gone)
			if saved < want {
				t.Errorf("conjunctive %v, round %d: saves %.3f of the optimum, want at least %g", conjunctive, round, saved, want)
			}
		}
	}
}

// BenchmarkCachePasses measures the cost per query, which the promoter pays: first passes over
// a log of 300 queries on 6,000 lists, with room for a tenth of them.
func BenchmarkCachePasses(b *testing.B) {
	const passes = 6
	var took [passes]time.Duration
	n := 0
	for b.Loop() {
		lists, queries := modelLog(rand.New(rand.NewPCG(7, 1)), 6000, 300, n%2 == 1)
		c, _ := tenth(lists)
		for i := range took {
			began := time.Now()
			for _, q := range queries {
				for _, l := range q {
					c.read(l)
				}
			}
			took[i] += time.Since(began) / time.Duration(len(queries))
		}
		n++
	}
	for i := range took {
		b.ReportMetric(float64(took[i].Microseconds())/float64(n), fmt.Sprintf("µs/query-%d", i+1))
	}
}

// tenth returns a cache of a tenth of the lists, with all directories, and its size.
func tenth(lists []*modelList) (c modelCache, size int64) {
	for _, l := range lists {
		size += l.packedBytes
	}
	size /= 10
	c = modelCache{testCache(size, 0)}
	for _, l := range lists {
		c.put(l, kindDirectory, l.directoryBytes, directoryGain(l.directoryBytes), 1, ifFree)
	}
	return c, size
}
