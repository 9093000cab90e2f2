// Package decode decodes posting lists in device memory, from the bytes that the index
// has on disk to DocIDs, gaps or frequencies, whole lists or blocks chosen by number,
// many lists in one launch.
//
// A list on the device is its blocks and its directory as package postings lays them
// out: BlockEntry is 4 words. Lists of one block have no directory there; who copies
// them makes one of one entry, from the Meta. Plan cuts the lists of a batch into tiles
// of up to 8 blocks (DecodeList one list of Para-EF into longer ones, of up to 16, as many as
// the device runs at a time); a warp decodes a tile, one or a few blocks at a time, and writes value i of
// block s of those asked for to word 128*s + i of the list's output. Words behind the
// last value of a list are not written.
//
// # Kernels
//
// Each codec has up to three kernels, named decode_CODEC_WHAT, one of
// DocIDs, Gaps and Freqs. All take one DecodeParams; the grid has a warp for each tile,
// a block 128 threads. Lane l of a warp has values 4l to 4l+3 of a block. simdbp and ef have
// kernels more for launches of a single list, decode_CODEC_WHAT_one, which do not look for
// it and have more registers left.
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
// DocIDs are summed up within each block from the first one, which the directory has
// (localised prefix sums, Ding et al., WWW 2009, §6.1). Gaps are what lies between a
// DocID and the one before it; that before the first of a list is -1.
//
// The codecs that are not in the table (CodecOf says which) are decoded on the host,
// and go to the device as raw or as plain numbers.
//
// Lists of several blocks of pfordelta-rec need more than their bytes: RecArrays. Sum is
// a prefix sum over a whole list, to compare the localised ones with (decode_scan.cu).
//
// The four Regression codecs have a kernel more, decode_CODEC_at: DocIDs at any
// indexes, each computed alone (Kernels.At).
//
// # Speed
//
// docs/benchmarks/gpu-decode.md has what was measured on an H200. Four bytes of each value
// are written whatever the codec, so that a kernel is as fast as memory where a value
// takes less than some 45 instructions of a lane. What saves them: blocks that are full and
// not at the payload's end, which all but the last are, are read without a comparison
// (DecodeInside); several blocks share a prefix sum where its numbers are small; and the
// bits of a unary part are taken apart where they lie, not looked for. Registers are held
// to 40 or 48, so that 48 or 40 warps of a multiprocessor take turns waiting for memory.
//
// # Trust
//
// Kernels report no errors. Who brings a list to the device has verified its checksums
// and its directory, of which the width bytes are ones that the codec has. What kernels
// write is right if the codec's CPU decoder accepts the list. On any other bytes they
// write nothing outside of the output, read nothing outside of PayloadWords, and come to
// an end; what they write is then undefined. Numbers of selected blocks are trusted.
//
// # Concurrency
//
// Kernels is safe for concurrent use. Launches are asynchronous and ordered by their
// stream; lists, selections and outputs must live until they are done.
package decode
