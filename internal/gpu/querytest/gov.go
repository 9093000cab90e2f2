package querytest

import (
	"math"
	"math/rand/v2"
	"slices"
)

// What is published of GOV (ao11, Appendix B and Table 4): documents, the mean length
// of the shortest list of a query, the shares of queries of 2 to 6 terms, and how many
// times as long the longest list of a query is (from the table's R and lengths).
const (
	GovDocs     = 1_053_372
	govShortest = 8430
)

var (
	govTerms   = []float64{2: 0.161, 3: 0.245, 4: 0.228, 5: 0.148, 6: 0.0824}
	govLongest = []float64{2: 7.4, 3: 24, 4: 43, 5: 60, 6: 92}
)

// Lists draw a third of their DocIDs from the documents of their topic, and queries their
// terms from one topic. So about a fifth of the shortest list is in the second, and more
// and more of what is left in the others, as in GOV.
const (
	numTopics  = 32
	topicShare = 0.35
	// Lists have lengths from leastLength to mostShare of the documents, evenly spread
	// in their logarithms. Lengths of shortest lists have a logarithm of the standard
	// deviation lengthSpread.
	leastLength  = 300.0 / GovDocs
	mostShare    = 0.7
	lengthSpread = 1.0
)

// Workload is lists and queries of them.
type Workload struct {
	NumDocs int
	// Lists are DocIDs, rising strictly, below NumDocs; none is empty.
	Lists [][]uint32
	// Queries are numbers of lists, at least one, each once, in no order.
	Queries [][]int
}

// Gov returns lists and queries as those of GOV, of another number of documents with
// lengths in proportion; 1,024 lists of all of GOV are 97 million postings. The same
// arguments give the same workload.
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

// topicOf spreads documents over topics as a hash does.
func topicOf(d uint32) uint32 { return d * 2654435769 >> 16 % numTopics }

// shape is what a query asks for: a topic, and lengths of lists in relation to the
// mean of shortest lists.
type shape struct {
	topic   int
	lengths []float64
}

// drawShape draws a query.
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

// drawQueries draws queries of lists of given lengths, such that the shortest list of
// a query has want DocIDs in the mean. List i is of topic i%numTopics.
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

// choose returns the lists of a topic whose lengths come next to those of a shape, each
// list once.
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

// sample calls f with about n of the numbers below size, rising, each as likely.
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

// Intersect returns the DocIDs that all lists of a query have: the slow reference.
func (w *Workload) Intersect(query []int) []uint32 {
	lists := make([][]uint32, len(query))
	for i, t := range query {
		lists[i] = w.Lists[t]
	}
	return Intersect(lists)
}

// Probes returns how many searches in a list it takes to intersect a query element by
// element: each of the shortest list in the next longer ones, up to where it is missing.
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

// Intersect returns what all lists have, at least one list, by merging them pair by
// pair.
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
