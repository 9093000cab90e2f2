// Package decode decodes posting lists in device memory, in the format of the
// index file, to DocIDs, gaps or frequencies: whole lists or selected blocks,
// many lists in one launch.
//
// A list on the device consists of its blocks and its directory as package
// postings lays them out: a BlockEntry is 4 words. For lists of one block,
// which have no directory in the file, the caller makes one entry from the
// Meta. Plan divides a batch into tiles of up to 8 blocks, DecodeList a single
// list of Para-EF into tiles of up to 16, one for each warp that the device
// runs at the same time. A warp decodes a tile and writes value i of the s-th
// requested block to word 128*s + i of the list's output. Words behind the last
// value of a list are not written.
//
// # Kernels
//
// Each codec has up to three kernels, decode_CODEC_WHAT. The grid has a warp
// for each tile, a block 128 threads. Lane l of a warp has values 4l to 4l+3 of
// a block. The kernels decode_CODEC_WHAT_one of simdbp and ef, for a single
// list, have more registers left.
//
//	codec           source            shared bytes  reference          paper
//	simdbp          decode.cu         0             codec.SIMDBP       DESIGN.md; ding09, §6.1
//	raw             decode.cu         0             codec.Raw
//	ef              decode_ef.cu      4,352         codec.EF           griffin18, §3.1.1, Algorithm 1
//	parapfor        decode_pfor.cu    4,096         codec.ParaPFor     ao11, App. D, Algorithm 2
//	pfordelta       decode_pfor.cu    4,096         codec.PForDelta    griffin18, Figure 3
//	pfordelta-rec   decode_rec.cu     18,432        codec.PForDeltaRec ding09, §6.2
//	rice            decode_rice.cu    3,072         codec.Rice         ding09, §6.1
//	lrc, lrcseg     decode_lrc.cu     0             codec.Regression   ao11, §5.2, §5.3
//	seglrc, hslrc   decode_lrc.cu     0             codec.Regression   ao11, §5.2, §5.3
//
// DocIDs are prefix sums within each block, starting at the block's first DocID
// from the directory (localised prefix sums, Ding et al., WWW 2009, §6.1).
//
// Other codecs (see CodecOf), also codec.EF with Plain, are decoded on the host.
//
// Lists of several blocks of pfordelta-rec need additional data: RecArrays. Sum
// is a prefix sum over a whole list, for comparison with localised sums
// (decode_scan.cu).
//
// The four Regression codecs have one more kernel, decode_CODEC_at: DocIDs at
// arbitrary indexes, each computed independently (Kernels.At).
//
// # Speed
//
// docs/benchmarks/gpu-decode.md has measurements on an H200. A kernel reaches
// memory speed if a value takes less than about 45 instructions of a lane. To
// save instructions, full blocks that are not at the payload's end are read
// without bounds checks (DecodeInside), several blocks share a prefix sum if
// its numbers are small, and unary parts are decoded in place. Registers are
// limited to 40 or 48, so that 48 or 40 warps of a multiprocessor hide memory
// latency.
//
// # Trust
//
// Kernels report no errors. The caller has verified a list's checksums and its
// directory, including width bytes. The output is correct if the codec's CPU
// decoder accepts the list. On any other bytes, kernels terminate, write only
// inside the output and read only inside PayloadWords. Numbers of selected
// blocks are trusted.
//
// # Concurrency
//
// Kernels is safe for concurrent use. Lists, selections and outputs must stay
// allocated until asynchronous launches have completed.
package decode
