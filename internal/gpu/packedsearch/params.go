package packedsearch

import "github.com/griffin-search/griffin/internal/gpu/cuda"

// Mirrored in packedsearch.cuh and packedsearch.cu, field by field, where comments explain the
// fields.

// 64 bytes.
type listParams struct {
	payload   cuda.Ptr[uint32]
	directory cuda.Ptr[uint32]
	lengths   cuda.Ptr[uint32]
	worth     uint64

	weight, c0, c1 float32
	linear         uint32

	numBlocks, docFreq uint32
	maxScore           uint32
	_                  uint32
}

type result struct {
	numHits uint32
	done    uint32 // number of the launch, written last
	count   uint64
	work    [4]uint64 // blocks, quads of 16 bytes, ranges
}

// Shared by the blocks of a launch.
//
//nolint:unused // only the kernels use the fields
type state struct {
	buckets [numBuckets]uint32
	thetas  [threads / 32][32]uint32
	work    [4]uint64
	done    uint32
	numKeys uint32
	count   uint32
	_       uint32
}

const (
	flagCount = 1 << iota // count matches: no pruning
	flagScore             // compute scores
)

type searchParams struct {
	state  cuda.Ptr[state]
	result cuda.Ptr[result]
	hits   cuda.Ptr[uint64]
	keys   cuda.Ptr[uint64]
	live   cuda.Ptr[uint32]
	filter cuda.Ptr[uint32]

	fromDocIDs, fromScores          cuda.Ptr[uint32]
	outDocIDs, outScores, outCounts cuda.Ptr[uint32]

	numLists, numDocs uint32
	k                 uint32
	flags             uint32
	threshold         uint32
	bucketShift       uint32
	capacity          uint32
	launch            uint32
	numFrom           uint32
	groupSize         uint32
	numGroups         uint32
	_                 [3]uint32

	lists [MaxLists]listParams
}

type copyEntry struct {
	from, to cuda.Ptr[uint32]
	upTo     uint32
	_        uint32
}

type copyParams struct {
	numCopies, numEntries uint32
	_                     [2]uint32
	copies                [MaxLists]copyEntry
}
