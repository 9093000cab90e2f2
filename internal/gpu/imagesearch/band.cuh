/* Images of the postings in a band: adjacent superblocks of a segment (band.go). */
#pragma once

#include "ranges.cuh"
#include "steps.cuh"

/* bandList in band.go: a compressed list of codec simdbp. */
struct ImageBandList {
    const uint4* payload;    /* in device or host memory */
    const uint4* directory;  /* [numBlocks]: {First, Last, Offset, Bound | DocWidth << 16 | FreqWidth << 24} */
    const uint32_t* lengths; /* [numDocs of the segment]; not read if linear */
    uint32_t docFreq;
    uint32_t kind;  /* kSparse, kBounded or kDense */
    uint32_t shift; /* log2 of the documents per bucket of the directory */
    uint32_t freqBytes;
    ImageSteps steps;
    uint32_t padding;
};
static_assert(sizeof(ImageBandList) == 64, "mirrored by bandList");

/* bandImage in band.go: a list in a band. */
struct ImageBandImage {
    uint32_t at; /* in the memory of the band, in units of kLayoutUnit bytes */
    uint32_t firstBlock, numBlocks;
    uint32_t padding;
};

/* bandTile in band.go: a part of a band that a block fills. */
struct ImageBandTile {
    uint32_t list;
    uint32_t firstBlock, numBlocks; /* that can have documents of the part */
    uint32_t supers;                /* the first superblock, counted from the band's, and their number << 16 */
};

/* bandTerm in band.go: a term of a query. */
struct ImageBandTerm {
    Bm25Term score;
    uint32_t list;
    uint32_t step;
    uint32_t padding[2];
};
static_assert(sizeof(ImageBandTerm) == 32, "mirrored by bandTerm");

/* fillParams in band.go. */
struct ImageBandFill {
    const ImageBandList* lists;
    const ImageBandImage* images; /* by list */
    const ImageBandTile* tiles;   /* [gridDim.x] */
    ImageTerm* terms;             /* by list: out */
    uint8_t* memory;              /* of the images: out */
    uint32_t firstDoc, numDocs;   /* of the band */
};

/* The layout of the image of a list in a band: bandLayout in band.go. A posting has its place among those of the blocks
 * from firstBlock on, also if the band begins in the middle of a block. */
__device__ __forceinline__ ImageTerm imagesearch_band_term(const ImageBandFill& p, const ImageBandList& list,
                                                           const ImageBandImage& image) {
    ImageTerm t = {};
    const uint32_t numRanges = (p.numDocs + kSuperDocs - 1) / kSuperDocs * kSuperRanges;
    const uint32_t n = image.numBlocks * decodeBlockLen;
    const bool dense = list.kind == kDense, bounded = list.kind >= kBounded;
    uint32_t at = 0;
    const auto part = [&at](uint32_t bytes) {
        const uint32_t from = at;
        at += (bytes + kLayoutUnit - 1) / kLayoutUnit;
        return from;
    };
    t.superMax = part(numRanges / kSuperRanges);
    t.rangeMax = part(bounded ? numRanges : 0);
    t.base = part(dense ? numRanges / kSuperRanges * 4 : 0);
    t.bitmap = part(dense ? numRanges * 4 : 0);
    t.rank = part(dense ? numRanges * 2 : 0);
    t.starts = part(dense ? 0 : (((p.numDocs - 1) >> list.shift) + 2) * 4);
    t.docIDs = part(dense ? 0 : n * 4);
    t.sat = part(n);
    t.freq = part(n * list.freqBytes);
    t.escapes = at;
    t.image = p.memory + static_cast<uint64_t>(image.at) * kLayoutUnit;
    t.satAt = imagesearch_part<uint8_t>(t, t.sat);
    t.maxAt = imagesearch_part<uint8_t>(t, t.rangeMax);
    t.lengths = list.steps.linear != 0 ? nullptr : list.lengths + p.firstDoc;
    t.docFreq = n;
    t.kind = list.kind;
    t.shift = list.shift;
    t.freqBytes = list.freqBytes;
    return t;
}
