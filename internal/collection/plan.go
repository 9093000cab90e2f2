package collection

import (
	"math"
	"slices"

	"github.com/griffin-search/griffin/internal/base"
)

// Document g, in crawl order, is composed from source document starts[g] on; DocID i is
// document at(i).
type plan struct {
	starts []uint32
	order  []uint32     // by DocID; nil: crawl order
	topics []base.DocID // chapters in topic order
	shifts []int16      // of the quantiles of lengths, by chapter
	// By chapter, the share of postings of documents that start in it, relative to the densest.
	dense []float64
}

func (p *plan) numDocs() int { return len(p.starts) }

func (p *plan) at(docID int) uint32 {
	if p.order == nil {
		return uint32(docID)
	}
	return p.order[docID]
}

// The share of documents outside their site's topics, so that all of the source is used.
const elsewhere = 0.1

// The standard deviation of the logarithm of a site's size: the largest hundredth has a fifth
// of the documents.
const siteSpread = 1.5

// topics are the chapters in topic order.
func newPlan(o *Options, f *forward, topics []base.DocID) *plan {
	p := &plan{starts: make([]uint32, o.NumDocs), topics: topics, shifts: lengthShifts(o, topics), dense: densities(o, topics)}
	// A site's share does not depend on the collection's size.
	numSites := min(max(1, o.Like.Sites), max(1, o.NumDocs/8))
	bounds := siteBounds(o.Seed, numSites, o.NumDocs)
	var ranks []uint64
	if o.Order == Rank {
		ranks = make([]uint64, o.NumDocs)
	}
	width := max(1, int(math.Round(o.Like.Breadth*float64(len(topics)))))
	for site := range numSites {
		rng := newStream(o.Seed, streamSite, uint64(site))
		first := rng.below(len(topics) - min(width, len(topics)) + 1)
		siteRank := rng.float()
		window := topics[first:min(first+width, len(topics))]
		for g := bounds[site]; g < bounds[site+1]; g++ {
			place := newStream(o.Seed, streamPlace, uint64(g))
			from := window
			if place.float() < elsewhere {
				from = topics
			}
			chapter := int(from[place.below(len(from))]) * chapterDocs
			p.starts[g] = uint32(chapter + place.below(min(chapterDocs, f.numDocs()-chapter)))
			if ranks != nil {
				chance := newStream(o.Seed, streamRank, uint64(g))
				content := newStream(o.Seed, streamDocument, uint64(g)) // the same draw as in compose
				length := float64(quantile(&content, p.shifts, int(p.starts[g]))) / 256
				rank := o.Like.RankSite*siteRank + o.Like.RankLength*length + (1-o.Like.RankSite-o.Like.RankLength)*chance.float()
				ranks[g] = uint64(rank*(1<<31))<<32 | uint64(g)
			}
		}
	}
	switch o.Order {
	case Rank:
		slices.Sort(ranks)
		p.order = make([]uint32, o.NumDocs)
		for i, r := range ranks {
			p.order[i] = uint32(r)
		}
	case Random:
		p.order = shuffle(o.Seed, o.NumDocs)
	}
	return p
}

// Shifts of lengths by chapter of start. Neighbouring topics have similar ones, so that sites
// differ.
func lengthShifts(o *Options, topics []base.DocID) []int16 {
	shifts := make([]int16, len(topics))
	for i, chapter := range topics {
		rng := newStream(o.Seed, streamLength, uint64(i/stretchOf(topics)))
		shifts[chapter] = int16(math.Round(max(-1, min(1, o.Like.LengthSpread*rng.normal())) * 255))
	}
	return shifts
}

// A 64th of all topics, neighbouring chapters, has the same length and density.
func stretchOf(topics []base.DocID) int { return max(1, len(topics)/64) }

// Log-normal, and 1 for one in six.
func densities(o *Options, topics []base.DocID) []float64 {
	dense := make([]float64, len(topics))
	for i, chapter := range topics {
		rng := newStream(o.Seed, streamDensity, uint64(i/stretchOf(topics)))
		dense[chapter] = min(1, math.Exp(o.Like.DensitySpread*(rng.normal()-1)))
	}
	return dense
}

// Starts of sites, and the end.
func siteBounds(seed uint64, numSites, numDocs int) []int {
	sizes := make([]float64, numSites)
	sum := 0.0
	for i := range sizes {
		rng := newStream(seed, streamSite, uint64(i)|1<<63)
		sizes[i] = math.Exp(siteSpread * rng.normal())
		sum += sizes[i]
	}
	bounds := make([]int, numSites+1)
	before := 0.0
	for i, s := range sizes {
		before += s
		bounds[i+1] = int(math.Round(before / sum * float64(numDocs)))
	}
	bounds[numSites] = numDocs
	return bounds
}

// Fisher and Yates.
func shuffle(seed uint64, n int) []uint32 {
	order := make([]uint32, n)
	for i := range order {
		order[i] = uint32(i)
	}
	rng := newStream(seed, streamShuffle, 0)
	for i := n - 1; i > 0; i-- {
		j := rng.below(i + 1)
		order[i], order[j] = order[j], order[i]
	}
	return order
}
