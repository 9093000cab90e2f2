//go:build (!amd64 && !arm64) || noasm

package column

func unpack(dst *[Len]int64, src []byte, width uint8, add int64) {
	unpackGeneric(dst, src, width, add)
}

func inRange(set *[Len / 64]uint64, src []byte, width uint8, lo, hi uint64) {
	rangeGeneric(set, src, width, lo, hi)
}

func selectValues(dst *Selected, values *[Len]uint32, set *[Len / 64]uint64) int {
	return selectGeneric(dst, values, set)
}

func deposit(word, set uint64) uint64 { return depositGeneric(word, set) }
func extract(word, set uint64) uint64 { return extractGeneric(word, set) }

func list(p *Positions, set []uint64) int { return listGeneric(p, set) }
func tally(counts []uint32, d *Directory, src []byte, positions []uint16) int {
	return tallyGeneric(counts, d, src, positions)
}

func tallyEven(counts []uint32, mins *[Len]int64, src []byte, width uint8, positions []uint16) int {
	return tallyEvenGeneric(counts, mins, src, width, positions)
}

func mark(set []uint64, positions []uint32) { markGeneric(set, positions) }
func ones(set []uint64) int                 { return onesGeneric(set) }
