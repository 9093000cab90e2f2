package direct

import "github.com/griffin-search/griffin/internal/gpu/cuda"

// The types of this file are mirrored in direct.cuh and direct.cu, field by field.

// listParams is a list as the kernels read it: 64 bytes.
type listParams struct {
	payload   cuda.Ptr[uint32]
	directory cuda.Ptr[uint32] // in device memory
	lengths   cuda.Ptr[uint32]
	worth     uint64 // 2^16 times the score that a step of a bound is worth, rounded up

	weight, c0, c1 float32
	linear         uint32

	numBlocks, docFreq uint32
	maxScore           uint32
	_                  uint32
}

// result is what a query gives beside its hits.
type result struct {
	numHits uint32
	done    uint32 // the launch's number, written last
	count   uint64
	work    [4]uint64 // blocks, quads of 16 bytes, ranges
}

// state is what the blocks of a launch share.
//
//nolint:unused // only the kernels touch the fields
type state struct {
	buckets [numBuckets]uint32 // scores, by bucket
	thetas  [threads / 32][32]uint32
	work    [4]uint64
	done    uint32 // blocks
	numKeys uint32
	count   uint32
	_       uint32
}

// Flags of a query.
const (
	flagCount = 1 << iota // the number of matches is wanted: nothing is left out
	flagScore             // scores are
)

// searchParams are the parameters of the search kernels.
type searchParams struct {
	state  cuda.Ptr[state]
	result cuda.Ptr[result]
	hits   cuda.Ptr[uint64]
	keys   cuda.Ptr[uint64]
	live   cuda.Ptr[uint32] // 0: all are

	fromDocIDs, fromScores          cuda.Ptr[uint32]
	outDocIDs, outScores, outCounts cuda.Ptr[uint32]

	numLists, numDocs uint32
	k                 uint32
	flags             uint32
	threshold         uint32 // scores below do not matter
	bucketShift       uint32 // buckets of scores are of 2^bucketShift, from threshold up
	capacity          uint32 // keys that shared memory has room for
	launch            uint32 // number of the launch, for result.done
	numFrom           uint32 // candidates, or postings of the first list
	groupSize         uint32
	numGroups         uint32 // or ranges
	_                 uint32

	lists [MaxLists]listParams
}

// copyEntry is a directory to be copied.
type copyEntry struct {
	from, to cuda.Ptr[uint32]
	upTo     uint32 // entries of this one and those before
	_        uint32
}

// copyParams are the parameters of direct_copy.
type copyParams struct {
	numCopies, numEntries uint32
	_                     [2]uint32
	copies                [MaxLists]copyEntry
}
