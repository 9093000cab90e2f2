package imagesearch

import "github.com/griffin-search/griffin/internal/gpu/cuda"

// Mirrored in imagesearch.cuh, block.cuh and imagesearch_build.cu, field by field, where comments
// explain the fields.

// 128 bytes.
type termParams struct {
	satAt             cuda.Ptr[byte]
	satStep, satShift uint32
	maxAt             cuda.Ptr[byte]
	maxStep           uint32
	_                 uint32

	image   cuda.Ptr[byte]
	lengths cuda.Ptr[uint32]

	weight, c0, c1 float32
	linear         uint32

	step        uint32
	docFreq     uint32
	kind        uint32
	bucketShift uint32

	superMax, rangeMax, bitmap, rank   uint32
	starts, docIDs, sat, freq, escapes uint32

	escapeMask uint32
	freqBytes  uint32
	base       uint32
}

// 64 bytes.
type queryParams struct {
	filter cuda.Ptr[uint32]

	keyShift, scoreShift uint32

	firstTerm, numTerms uint32
	k                   uint32
	flags               uint32
	threshold           uint32
	bucketShift         uint32
	firstHit            uint32
	result              uint32
	numDense            uint32
	splits              uint32
	firstKey            uint32
	numBounded          uint32
}

// Bits of queryParams.flags. flagProbe: the terms are sorted by rising length, and the documents of the first are counted
// that the others have.
const (
	flagAll   = 1
	flagProbe = 2
)

// excludedShift is the place in queryParams.flags of the number of excluded terms.
const excludedShift = 8

// partWords is the number of words of ImageParts, which take the place of the term before the first one of a query with
// Parts: the required terms, the number of clauses, and these.
const partWords = termBytes / 4

// The counts of a query, 32 bytes.
type result struct {
	numHits uint32
	done    uint32 // number of the launch, written last
	count   uint64

	supers, ranges, candidates, rounds uint32
}

// splitState is shared by the blocks of a query that has several.
//
//nolint:unused // only the kernels use the fields
type splitState struct {
	buckets [numBuckets]uint32
	thetas  [threads / 32][32]uint32
	joined  uint64
	done    uint32
	count   uint32
	pushed  uint32
	work    [4]uint32
	_       uint32
}

// Block split of the query's queryParams.splits blocks.
type blockParams struct{ query, split uint32 }

type searchParams struct {
	queries cuda.Ptr[queryParams]
	terms   cuda.Ptr[termParams]
	blocks  cuda.Ptr[blockParams]
	results cuda.Ptr[result]
	hits    cuda.Ptr[uint64]
	live    cuda.Ptr[uint32]
	states  cuda.Ptr[splitState]
	keys    cuda.Ptr[uint64]
	answer  cuda.Ptr[uint64]

	numDocs  uint32
	maxTerms uint32
	capacity uint32
	window   uint32
	sends    uint32
	launch   uint32
}

// answerHead is the number of words of an answer before the hits (two words each).
const answerHead = 5

const maxOneTerms = 30

// maxFewTerms: 1 KB of parameters arrives a microsecond sooner than 4 KB.
const maxFewTerms = 8

type oneParams struct {
	search searchParams
	query  queryParams
	terms  [maxOneTerms]termParams
}

type fewParams struct {
	search searchParams
	query  queryParams
	terms  [maxFewTerms]termParams
}

// The mailbox of the kernel that stays (stay.cuh): the words of a query, at most mailWords, then two others.
const (
	mailWords = 320
	mailHead  = mailWords // the number of words
	mailLeave = mailHead + 1
)

// commandParams is the number of words before the parameters in stayParams.command.
const commandParams = 4

type stayParams struct {
	mailbox cuda.Ptr[uint64]
	left    cuda.Ptr[uint64]
	command cuda.Ptr[uint32]

	idle, most uint64

	generation uint32
	_          uint32

	first fewParams // aligned to 16 bytes
}

type buildParams struct {
	docIDs  cuda.Ptr[uint32]
	freqs   cuda.Ptr[uint32]
	lengths cuda.Ptr[uint32]
	term    termParams

	numDocs uint32
	linear  uint32
	max     uint32
	c0, c1  float32
	perUnit float32
	_       [2]uint32
}
