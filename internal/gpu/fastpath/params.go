package fastpath

import "github.com/griffin-search/griffin/internal/gpu/cuda"

// The types of this file are mirrored in fastpath.cuh and fastpath_build.cu, field by
// field.

// termParams is a term as the kernels read it: 128 bytes.
type termParams struct {
	// What is read most, as 16 bytes each.
	satAt   cuda.Ptr[byte] // sat
	satStep uint32         // worth of a step of the 8-bit contributions
	_       uint32
	maxAt   cuda.Ptr[byte] // rangeMax
	maxStep uint32         // as satStep
	_       uint32

	image   cuda.Ptr[byte]
	lengths cuda.Ptr[uint32]

	weight, c0, c1 float32
	linear         uint32

	step        uint32 // worth of a step of the 8-bit contributions
	docFreq     uint32
	dense       uint32 // 1, or 0: sparse
	bucketShift uint32

	superMax, rangeMax, bitmap, rank   uint32 // in units of layoutUnit, as in layout
	starts, docIDs, sat, freq, escapes uint32

	escapeMask uint32 // slots of the hash table less 1, 0 if there is none
	freqBytes  uint32
	bounded    uint32 // 1 if there is rangeMax
}

// queryParams is a query as the kernels read it: 64 bytes.
type queryParams struct {
	filter cuda.Ptr[uint32] // 0: none
	docIDs cuda.Ptr[uint32] // where WantDocIDs puts them

	firstTerm, numTerms uint32
	k                   uint32
	flags               uint32
	threshold           uint32 // scores below do not matter
	bucketShift         uint32 // buckets of scores are of 2^bucketShift, from threshold up
	firstHit            uint32 // in hits
	result              uint32 // its number in results
	numDense            uint32 // terms [0, numDense) are dense, unless the query goes to probe
	splits              uint32 // blocks that share the query
	firstKey            uint32 // where they put what they find, in keys, if there are several
	numBounded          uint32 // terms [0, numBounded) have bounds of ranges
}

// Flags of a query.
const (
	flagAll   = 1 << iota // documents must hold all terms
	flagRetry             // only if the answer so far has fewer than k hits
	flagCount
	flagEmit
)

// result is what a query gives beside its hits: 32 bytes.
type result struct {
	numHits uint32
	done    uint32 // the launch's number, written last
	count   uint64

	supers, ranges, candidates, rounds uint32
}

// splitState is what the blocks of a query share where there are several.
//
//nolint:unused // only the kernels touch the fields
type splitState struct {
	buckets [numBuckets]uint32 // scores, by bucket
	thetas  [threads / 32][32]uint32
	joined  uint64 // blocks that have put their keys there, and those keys << 32
	done    uint32 // blocks of fastpath_count
	count   uint32
	pushed  uint32    // scores in buckets
	work    [4]uint32 // supers, ranges, candidates, rounds
	_       uint32
}

// blockParams say what a block does: part split of the splits of a query.
type blockParams struct{ query, split uint32 }

// searchParams are the parameters of the search kernels.
type searchParams struct {
	queries cuda.Ptr[queryParams]
	terms   cuda.Ptr[termParams]
	blocks  cuda.Ptr[blockParams]
	results cuda.Ptr[result]
	hits    cuda.Ptr[uint64]
	live    cuda.Ptr[uint32] // 0: all are
	states  cuda.Ptr[splitState]
	keys    cuda.Ptr[uint64] // of queries with several blocks
	answer  cuda.Ptr[uint64] // of a query on its own, or 0: results and hits are written

	numDocs  uint32
	maxTerms uint32 // terms that shared memory has room for
	capacity uint32 // keys that it has room for
	window   uint32 // superblocks that it has room for
	_        uint32
	launch   uint32 // number of the launch, for result.done; 0: the answer is not yet whole
}

// answerHead is how many words of an answer lie before those of the hits, two each: the
// number of hits, and the work.
const answerHead = 5

// maxOneTerms is the number of terms of a query that travels with the launch.
const maxOneTerms = 30

// maxFewTerms is that of a query with few terms: parameters of 1 KB are on their way for
// a microsecond less than 4 KB.
const maxFewTerms = 8

// oneParams are searchParams with the only query in them.
type oneParams struct {
	search searchParams
	query  queryParams
	terms  [maxOneTerms]termParams
}

// fewParams are oneParams for few terms.
type fewParams struct {
	search searchParams
	query  queryParams
	terms  [maxFewTerms]termParams
}

// buildParams are the parameters of the building kernel.
type buildParams struct {
	docIDs  cuda.Ptr[uint32]
	freqs   cuda.Ptr[uint32]
	lengths cuda.Ptr[uint32]
	term    termParams // image, layout, docFreq, kind

	numDocs uint32
	linear  uint32
	max     uint32 // of Shape
	c0, c1  float32
	perUnit float32 // 8-bit steps a saturation of 1
	_       [2]uint32
}
