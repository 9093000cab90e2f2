package querytest

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Published properties of GOV (ao11, Appendix B and Table 4): documents, mean
// length of a query's shortest list, shares of queries of 2 to 6 terms, and
// length of the longest list relative to the shortest (from the table's R and
// lengths).
const (
	GovDocs     = 1_053_372
	govShortest = 8430
)

var (
	govTerms   = []float64{2: 0.161, 3: 0.245, 4: 0.228, 5: 0.148, 6: 0.0824}
	govLongest = []float64{2: 7.4, 3: 24, 4: 43, 5: 60, 6: 92}
)

// Lists draw a third of their DocIDs from the documents of their topic, and
// queries their terms from one topic, so that about a fifth of the shortest
// list is in the second, and increasing fractions of the rest in the others, as
// in GOV.
const (
	numTopics  = 32
	topicShare = 0.35
	// Lengths of lists are from leastLength to mostShare of the documents, uniform
	// in the logarithm; the logarithm of the shortest's has the standard deviation
	// lengthSpread.
	leastLength  = 300.0 / GovDocs
	mostShare    = 0.7
	lengthSpread = 1.0
)

// Workload is a set of lists with queries.
type Workload struct {
	NumDocs int
	// DocIDs, strictly ascending, below NumDocs; none is empty.
	Lists [][]uint32
	// Indexes of lists, at least one, without duplicates, unordered.
	Queries [][]int
}

// Gov returns lists and queries as in GOV, scaled to another number of
// documents, the same for the same arguments; 1,024 lists of all of GOV are 97
// million postings.
func Gov(seed uint64, numDocs, numLists, numQueries int) *Workload {
	rng := rand.New(rand.NewPCG(seed, 0x676f76))
	w := &Workload{NumDocs: numDocs, Queries: make([][]int, numQueries)}
	lengths := make([]int, numLists)
	perTopic := max(1, (numLists-1)/numTopics)
	for i := range lengths {
		share := leastLength * math.Pow(mostShare/leastLength, min(1, float64(i/numTopics)/float64(perTopic)))
		lengths[i] = int(max(1, share*float64(numDocs)))
	}
	drawQueries(rng, w.Queries, lengths, govShortest*float64(numDocs)/GovDocs)
	byTopic := make([][]uint32, numTopics)
	for d := range uint32(numDocs) {
		t := topicOf(d)
		byTopic[t] = append(byTopic[t], d)
	}
	w.Lists = make([][]uint32, numLists)
	for i, n := range lengths {
		topic := byTopic[i%numTopics]
		own := min(int(topicShare*float64(n)), len(topic))
		chosen := make([]uint32, 0, n+n/8)
		sample(rng, own, len(topic), func(j int) { chosen = append(chosen, topic[j]) })
		sample(rng, n-own, numDocs, func(j int) { chosen = append(chosen, uint32(j)) })
		if len(chosen) == 0 {
			chosen = append(chosen, uint32(rng.IntN(numDocs)))
		}
		slices.Sort(chosen)
		w.Lists[i] = slices.Clip(slices.Compact(chosen))
	}
	return w
}

func topicOf(d uint32) uint32 { return d * 2654435769 >> 16 % numTopics }

// A query's topic, and the lengths of its lists relative to the mean of
// shortest lists.
type shape struct {
	topic   int
	lengths []float64
}

func drawShape(rng *rand.Rand) shape {
	total := 0.0
	for _, share := range govTerms {
		total += share
	}
	k, at := len(govTerms)-1, rng.Float64()*total
	for terms, share := range govTerms {
		if at < share {
			k = terms
			break
		}
		at -= share
	}
	s := shape{topic: rng.IntN(numTopics), lengths: make([]float64, k)}
	s.lengths[0] = math.Exp(lengthSpread * rng.NormFloat64())
	for i := 1; i < k; i++ {
		jitter := math.Exp(0.3 * rng.NormFloat64())
		s.lengths[i] = s.lengths[0] * math.Pow(govLongest[k], float64(i)/float64(k-1)) * jitter
	}
	return s
}

// drawQueries selects lists such that the shortest of a query has want DocIDs
// on average. List i has topic i%numTopics.
func drawQueries(rng *rand.Rand, queries [][]int, lengths []int, want float64) {
	shapes := make([]shape, len(queries))
	for q := range shapes {
		shapes[q] = drawShape(rng)
	}
	scale := want
	for range 30 {
		sum := 0
		for q, s := range shapes {
			queries[q] = choose(queries[q][:0], s, lengths, scale)
			shortest := lengths[queries[q][0]]
			for _, l := range queries[q] {
				shortest = min(shortest, lengths[l])
			}
			sum += shortest
		}
		scale *= want * float64(len(queries)) / float64(max(1, sum))
	}
}

// choose returns the lists of a topic whose lengths are closest to the shape's,
// each once.
func choose(query []int, s shape, lengths []int, scale float64) []int {
	for _, relative := range s.lengths {
		best, off := -1, math.Inf(1)
		for l := s.topic % len(lengths); l < len(lengths); l += numTopics {
			d := math.Abs(math.Log(float64(lengths[l]) / (scale * relative)))
			if d < off && !slices.Contains(query, l) {
				best, off = l, d
			}
		}
		if best >= 0 {
			query = append(query, best)
		}
	}
	return query
}

// sample calls f with about n of the numbers below size, ascending, uniformly
// distributed.
func sample(rng *rand.Rand, n, size int, f func(i int)) {
	if n <= 0 {
		return
	}
	p := min(float64(n)/float64(size), 0.999)
	logNot := math.Log1p(-p)
	for i := -1; ; {
		i += 1 + int(math.Log(1-rng.Float64())/logNot)
		if i >= size {
			return
		}
		f(i)
	}
}

// Intersect is the slow reference.
func (w *Workload) Intersect(query []int) []uint32 {
	lists := make([][]uint32, len(query))
	for i, t := range query {
		lists[i] = w.Lists[t]
	}
	return Intersect(lists)
}

// Probes returns the list searches of an element-by-element intersection: each
// element of the shortest list is searched in the longer ones, in order, until
// one lacks it.
func (w *Workload) Probes(query []int) int {
	order := slices.Clone(query)
	slices.SortStableFunc(order, func(a, b int) int { return len(w.Lists[a]) - len(w.Lists[b]) })
	probes := 0
	for _, d := range w.Lists[order[0]] {
		for _, l := range order[1:] {
			probes++
			if _, found := slices.BinarySearch(w.Lists[l], d); !found {
				break
			}
		}
	}
	return probes
}

// Intersect merges at least one list pairwise.
func Intersect(lists [][]uint32) []uint32 {
	out := slices.Clone(lists[0])
	for _, l := range lists[1:] {
		n, j := 0, 0
		for _, d := range out {
			for j < len(l) && l[j] < d {
				j++
			}
			if j < len(l) && l[j] == d {
				out[n] = d
				n++
			}
		}
		out = out[:n]
	}
	return out
}
