// Package decoders has kernels that decode lists on a GPU for the papers' measurements and engines, but
// not for Griffin's own queries: extensions of package decode.
//
//	source          kernels                  reference         paper
//	newpfd.cu       decode_newpfd_docids     codec.NewPFD      ao11, Fig. 8
//	patched_lrc.cu  decode_patched_*_docids  codec.Regression  ao11, §5.1, Appendix D
//
// A warp decodes a tile of up to 8 blocks, as in package decode. The kernels of package decode find the
// exceptions of LRC by a binary search of each lane, which a few DocIDs need; the ones here recover all
// exceptions of a block concurrently, as ParaPFor does, so that their number hardly matters.
//
// We differ from the paper in NewPFD: a warp unpacks 32 Simple-16 words at the same time, after a scan
// of their numbers of values. The paper does not state how its kernel reads them.
//
// The functions are safe for concurrent use.
package decoders
