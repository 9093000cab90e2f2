package collection

import (
	"fmt"
	"strings"

	"github.com/griffin-search/griffin/internal/base"
)

// Preset describes a paper's collection by published statistics, with the parameters of its
// replacement.
type Preset struct {
	Name string
	// Says is the statistics' source.
	Says string

	NumDocs    int
	NumQueries int // drawn from the log; 0: all
	// MeanPostings is the mean number of postings of a query's lists, MeanShortest the mean
	// length of the shortest; 0: not published. They apply to NumDocs documents and are scaled
	// for others.
	MeanPostings float64
	MeanShortest float64
	// TermShares are the published shares of queries by number of terms, for drawn queries,
	// too; nil: as in the log.
	TermShares map[int]float64

	// Together requests queries whose terms all occur in one source document, so that most AND
	// queries have results.
	Together bool

	// Vectors, if its MeanTerms is not 0, makes documents and queries vectors of weights,
	// ignoring Together, Span and DensitySpread.
	Vectors VectorShape

	// Span is the mean number of source documents, increased if the targets need more postings.
	Span float64
	// Sites is their number for NumDocs documents, Breadth a site's share of the source's
	// topics. Fewer and narrower sites make lists less linear.
	Sites   int
	Breadth float64
	// LengthSpread is the standard deviation of the shift of length quantiles by topic.
	LengthSpread float64
	// DensitySpread is the standard deviation of the logarithm of the share of kept postings by
	// topic.
	DensitySpread float64
	// RankSite and RankLength are the shares of site and length in a document's rank; the rest
	// is random.
	RankSite, RankLength float64
}

var presets = []Preset{
	{
		Name: "gov", Says: "TREC GOV: 1,053,372 documents, all queries of the log (ao11 App. B); shortest lists of 8.4 K postings in the mean (ao11 Table 4)",
		NumDocs: 1_053_372, MeanShortest: 8430,
		Span: 9, Sites: 900, Breadth: 0.02, LengthSpread: 0.1, RankSite: 0.5, RankLength: 0.25,
	},
	{
		Name: "gov2", Says: "TREC GOV2: 25,205,179 documents, 1,000 queries with 3.74 million postings each in the mean (ding09 §6.3)",
		NumDocs: 25_205_179, NumQueries: 1000, MeanPostings: 3.74e6, Together: true,
		Span: 2, Sites: 70, Breadth: 0.02, LengthSpread: 0.25, DensitySpread: 0.5, RankSite: 0.5, RankLength: 0.25,
	},
	{
		Name: "clueweb12", Says: "ClueWeb12, 41 million documents and 10,000 queries, 27 % of them with 2 terms, 33 % with 3 and 24 % with 4; lists mostly of 1 K to 1 M postings (griffin18 §4.2)",
		NumDocs: 41_000_000, NumQueries: 10_000, TermShares: map[int]float64{2: 0.27, 3: 0.33, 4: 0.24},
		Span: 1.5, Sites: 2000, Breadth: 0.01, LengthSpread: 0.1, RankSite: 0.5, RankLength: 0.25,
	},
	{
		Name: "splade", Says: "the MS MARCO passages as SPLADE's vectors: 8,841,823 documents of 119 weights and queries of 43 in the mean (Bruch and others, SIGIR 2024); 1.14 of a query's terms in a document (FLOPS of SPLADE-max, NAVER LABS Europe)",
		NumDocs: 8_841_823, NumQueries: 1000, MeanPostings: 1.14 * 8_841_823,
		Vectors: VectorShape{Vocabulary: 30_522, MeanTerms: 119, MeanQuery: 43, LeastQuery: 25, MostQuery: 45},
		Sites:   2000, Breadth: 0.01, LengthSpread: 0.1, RankSite: 0.5, RankLength: 0.25,
	},
}

// VectorShape describes learned sparse models' vectors.
type VectorShape struct {
	// Vocabulary bounds the terms. MeanTerms and MeanQuery are published mean numbers of terms.
	Vocabulary int
	MeanTerms  float64
	MeanQuery  float64
	// LeastQuery and MostQuery bound the uniform number of terms of generated queries.
	LeastQuery, MostQuery int
}

// Lookup returns a preset, or an error that wraps base.ErrBadInput.
func Lookup(name string) (Preset, error) {
	for _, p := range presets {
		if p.Name == name {
			return p, nil
		}
	}
	return Preset{}, fmt.Errorf("unknown collection %q (known: %s): %w", name, strings.Join(Names(), ", "), base.ErrBadInput)
}

// Names returns all presets' names.
func Names() []string {
	names := make([]string, len(presets))
	for i, p := range presets {
		names[i] = p.Name
	}
	return names
}

// Order is the order of the documents.
type Order string

// All have the same documents.
const (
	Crawl  Order = "crawl"  // site by site, each with its own topics
	Rank   Order = "rank"   // by a rank that depends on the site and a random part
	Random Order = "random" // shuffled
)

// Orders returns all orders.
func Orders() []Order { return []Order{Crawl, Rank, Random} }

// ParseOrder returns an error that wraps base.ErrBadInput for unknown names.
func ParseOrder(name string) (Order, error) {
	for _, o := range Orders() {
		if string(o) == name {
			return o, nil
		}
	}
	return "", fmt.Errorf("order %q: want one of %q: %w", name, Orders(), base.ErrBadInput)
}
