package decode

import "github.com/griffin-search/griffin/internal/gpu/cuda"

// PlanTiles is Plan with tiles of a given number of blocks, to find the best.
func PlanTiles(lists []List, tileBlocks int) Batch { return plan(lists, uint32(tileBlocks)) }

// Registers returns the registers of a thread of a kernel, and the bytes of local memory
// for what did not fit.
func (k *Kernels) Registers(c Codec, w What) (registers, localBytes int, err error) {
	kernel, err := k.kernel(c, w)
	if err != nil {
		return 0, 0, err
	}
	return kernel.Registers(), kernel.LocalBytes(), nil
}

// Tunings are the variants of decode_tune.cu.
var Tunings = []string{"1_1", "1_4", "1_6", "1_8", "2_1", "2_4", "2_6", "2_8", "4_1", "4_4", "4_6"}

// Tune loads a variant and returns what launches it, its registers, and its bytes of
// local memory.
func (k *Kernels) Tune(name string) (launch func(s *cuda.Stream, lists cuda.Buffer[List], b Batch) error, registers, localBytes int, err error) {
	kernel, err := load[params](k, "decode_tune", "decode_tune_"+name)
	if err != nil {
		return nil, 0, 0, err
	}
	return func(s *cuda.Stream, lists cuda.Buffer[List], b Batch) error {
		p := params{lists: lists.Ptr(), numLists: b.numLists, numTiles: b.numTiles, tileBlocks: b.tileBlocks}
		return cuda.Launch(s, kernel, cuda.D1(int((p.numTiles+warps-1)/warps)), cuda.D1(threads), 0, &p)
	}, kernel.Registers(), kernel.LocalBytes(), nil
}
