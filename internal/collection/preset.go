package collection

import (
	"fmt"
	"strings"

	"github.com/griffin-search/griffin/internal/base"
)

// Preset is a collection of the papers, by what is published of it, and the
// parameters of ours that its experiments are redrawn with.
type Preset struct {
	Name string
	// Says is where the numbers come from.
	Says string

	NumDocs    int
	NumQueries int // drawn from the log; 0: all
	// MeanPostings is the number of postings of a query's lists in the mean over
	// queries, and MeanShortest that of its shortest list; 0: not published. They
	// are of NumDocs documents and scaled for another number.
	MeanPostings float64
	MeanShortest float64
	// TermShares are the published shares of queries of so many terms; the queries
	// drawn are made to have them. nil: as the log has it.
	TermShares map[int]float64

	// Together asks for queries all of whose terms some document of the source has:
	// then most queries have results as AND, as the paper's did.
	Together bool

	// Vectors, if its MeanTerms is not 0, makes the documents and queries vectors of
	// weights; Together, Span and DensitySpread play no part then.
	Vectors VectorShape

	// Span is the mean number of source documents that make one of ours: pages are
	// longer than passages. Where a target asks for more postings than Span gives, it grows.
	Span float64
	// Sites is the number of sites of NumDocs documents, and Breadth the share of
	// the source's topics that one site keeps to: fewer and narrower ones make lists
	// less linear.
	Sites   int
	Breadth float64
	// LengthSpread is how much the lengths of documents depend on their topic: the
	// standard deviation of a shift of their quantiles.
	LengthSpread float64
	// DensitySpread is how much the share of the postings that is kept depends on
	// the topic: the standard deviation of its logarithm.
	DensitySpread float64
	// RankSite and RankLength are the parts of the site and of the length in the rank
	// of a document; the rest is chance.
	RankSite, RankLength float64
}

// presets are the collections that experiments use.
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

// VectorShape is how vectors of learned sparse models look.
type VectorShape struct {
	// Vocabulary is the number of terms at most; MeanTerms and MeanQuery are those of
	// a document and of a query in the mean, as published.
	Vocabulary int
	MeanTerms  float64
	MeanQuery  float64
	// LeastQuery and MostQuery bound the number of terms of the queries that are made;
	// all numbers from one to the other are as likely.
	LeastQuery, MostQuery int
}

// Lookup returns the preset of a name, or an error that wraps base.ErrBadInput.
func Lookup(name string) (Preset, error) {
	for _, p := range presets {
		if p.Name == name {
			return p, nil
		}
	}
	return Preset{}, fmt.Errorf("no collection is like %q (there are: %s): %w", name, strings.Join(Names(), ", "), base.ErrBadInput)
}

// Names returns the names of all presets.
func Names() []string {
	names := make([]string, len(presets))
	for i, p := range presets {
		names[i] = p.Name
	}
	return names
}

// Order is the order of the documents.
type Order string

// The orders. All three have the same documents.
const (
	Crawl  Order = "crawl"  // site after site, each with topics of its own
	Rank   Order = "rank"   // by a rank that depends on the site and on chance
	Random Order = "random" // shuffled
)

// Orders returns all orders.
func Orders() []Order { return []Order{Crawl, Rank, Random} }

// ParseOrder returns the order of a name, or an error that wraps base.ErrBadInput.
func ParseOrder(name string) (Order, error) {
	for _, o := range Orders() {
		if string(o) == name {
			return o, nil
		}
	}
	return "", fmt.Errorf("order %q: want one of %q: %w", name, Orders(), base.ErrBadInput)
}
