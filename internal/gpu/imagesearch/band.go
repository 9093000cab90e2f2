package imagesearch

import (
	"github.com/griffin-search/griffin/internal/gpu/cuda"
)

// A band is a range of adjacent superblocks of a segment, for which a Pass makes images of all of its lists. The structures
// are mirrored in band.cuh and imagesearch_band.cu, where comments explain the fields.

type bandList struct {
	payload, directory cuda.Ptr[uint32]
	lengths            cuda.Ptr[uint32]
	docFreq            uint32
	kind               uint32
	shift              uint32
	freqBytes          uint32
	linear             uint32
	max                uint32
	c0, c1, perUnit    float32
	_                  uint32
}

type bandImage struct {
	at                    uint32
	firstBlock, numBlocks uint32
	_                     uint32
}

type bandTile struct {
	list                  uint32
	firstBlock, numBlocks uint32
	supers                uint32
}

type bandTerm struct {
	weight, c0, c1 float32
	linear         uint32
	list           uint32
	step           uint32
	_              [2]uint32
}

type fillParams struct {
	lists             cuda.Ptr[bandList]
	images            cuda.Ptr[bandImage]
	tiles             cuda.Ptr[bandTile]
	terms             cuda.Ptr[termParams]
	memory            cuda.Ptr[byte]
	firstDoc, numDocs uint32
}

type bandSearchParams struct {
	search   searchParams
	terms    cuda.Ptr[bandTerm]
	lists    cuda.Ptr[termParams]
	images   cuda.Ptr[bandImage]
	counts   cuda.Ptr[uint32]
	firstDoc uint32
	_        uint32
}

const (
	// fillThreads is the size of a block that fills a tile.
	fillThreads = 128
	// tileSupers is the maximum number of superblocks of a tile of a dense list, tileBlocks of its compressed blocks if that
	// is more than a unit: the four warps of a tile have four blocks in flight each, and the longest tile determines
	// the time of a launch.
	tileSupers = 8
	tileBlocks = 96
	// rangeBytes is the shared memory of a tile per range: its bound, and of a dense list its bits and its rank.
	rangeBytes, denseRangeBytes = 4, 12
)

// bytesPerPosting is the size of a posting in the image of a band.
func (l *bandList) bytesPerPosting() uint32 {
	if l.kind == uint32(dense) {
		return 1 + l.freqBytes
	}
	return 4 + 1 + l.freqBytes
}

// bandParts returns upper bounds of the bytes of bandLayout that do not belong to postings: per superblock, and fixed, with
// the rounding of each part.
func (l *bandList) bandParts() (perSuper, fixed int64) {
	const parts = 8
	perSuper, fixed = 1, parts*layoutUnit
	if l.kind >= uint32(bounded) {
		perSuper += superRanges
	}
	if l.kind == uint32(dense) {
		return perSuper + 6*superRanges + 4, fixed
	}
	return perSuper + (4*superDocs-1)>>l.shift + 1, fixed + 8
}

// bandLayout returns the size of a list's image in a band of numDocs documents, in layoutUnit bytes, for numBlocks compressed
// blocks. The image has the usual layout (layout), but no table of long frequencies. DocIDs and starts have 32 bits,
// and each posting of these blocks has a place.
func (l *bandList) bandLayout(numDocs, numBlocks uint32) (units uint32) {
	part := func(bytes uint32) { units += (bytes + layoutUnit - 1) / layoutUnit }
	supers := (numDocs + superDocs - 1) / superDocs
	ranges, n := supers*superRanges, numBlocks*blockLen
	part(supers)
	if l.kind >= uint32(bounded) {
		part(ranges)
	}
	if l.kind == uint32(dense) {
		part(4 * supers)
		part(4 * ranges)
		part(2 * ranges)
	} else {
		part(4 * ((numDocs-1)>>l.shift + 2))
		part(4 * n)
	}
	part(n)
	part(n * l.freqBytes)
	return units
}
