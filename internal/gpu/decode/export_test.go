package decode

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
