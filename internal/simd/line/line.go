package line

// Len is the number of values of a block.
const Len = 128

// Add adds the upper half of start + i*slope to dst[i], modulo 2^32; rising if sums increase
// strictly.
func Add(dst *[Len]uint32, start, slope uint64) (rising bool) { return add(dst, start, slope) }

// AddTail is Add for any length, without assembly.
func AddTail(dst []uint32, start, slope uint64) (rising bool) {
	falls := uint64(0) // only its sign matters
	prev := ^uint64(0)
	for i, deviation := range dst {
		d := uint64(uint32(start>>32) + deviation)
		falls |= d - prev - 1
		prev = d
		dst[i] = uint32(d)
		start += slope
	}
	return falls>>63 == 0
}
