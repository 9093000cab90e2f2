package scoring

import "math/bits"

// The oracle of the assembly and the fallback.

func contributionsGeneric(dst, docIDs, freqs, lengths []uint32, t *Term) {
	if t.Linear {
		for i, f := range freqs {
			dst[i] = uint32(float32(float32(t.Weight*float32(f)) + 0.5))
		}
		return
	}
	w, c0, c1 := t.Weight, t.C0, t.C1
	for i, d := range docIDs {
		f := float32(freqs[i])
		k := float32(c0 + float32(c1*float32(lengths[d])))
		s := float32(float32(w*f) / float32(f+k))
		dst[i] = uint32(float32(s + 0.5))
	}
}

func matchGeneric(of, at *[BlockLen]uint8, docIDs []uint32, block *[BlockLen]uint32, last uint32) (looked, matches int) {
	for i, d := range docIDs {
		if d > last {
			return i, matches
		}
		p := Search(block, d)
		of[matches&127], at[matches&127] = uint8(i), uint8(p)
		if block[p] == d { // without a branch
			matches++
		}
	}
	return len(docIDs), matches
}

// Search returns the position of the first of 128 increasing docIDs that is at least target, or
// 127. Its seven comparisons do not branch, so that searches overlap.
func Search(docIDs *[BlockLen]uint32, target uint32) int {
	t := uint64(target)
	i := less(docIDs[63], t) << 6
	i += less(docIDs[(i+31)&127], t) << 5
	i += less(docIDs[(i+15)&127], t) << 4
	i += less(docIDs[(i+7)&127], t) << 3
	i += less(docIDs[(i+3)&127], t) << 2
	i += less(docIDs[(i+1)&127], t) << 1
	i += less(docIDs[i&127], t)
	return int(i)
}

// t is below 2^32.
func less(d uint32, t uint64) uint64 { return (uint64(d) - t) >> 63 }

func collectGeneric(a *Accumulators, docIDs, sums []uint32, first uint32, lines int, least uint32) int {
	found := 0
	for i := 0; i < lines; i += 64 {
		// Without branches: in a sparse window the marks are unpredictable.
		marked := uint64(0)
		for j, m := range a.marks[i:min(i+64, lines)] {
			marked |= uint64(m) << (j & 63)
		}
		for ; marked != 0; marked &= marked - 1 {
			j := (i + bits.TrailingZeros64(marked)) % len(a.marks)
			a.marks[j] = 0
			line := (*[lineLen]uint32)(a.sums[j*lineLen:])
			for l, sum := range line {
				docIDs[found], sums[found] = first+uint32(j*lineLen+l), sum
				if sum >= least {
					found++
				}
			}
			*line = [lineLen]uint32{}
		}
	}
	return found
}

func intersectGeneric(to *[BlockLen]uint32, of *[BlockLen]uint8, docIDs []uint32, set []uint64) int {
	kept := 0
	for i, d := range docIDs {
		if int(d/64) >= len(set) {
			continue
		}
		to[kept%BlockLen], of[kept%BlockLen] = d, uint8(i)
		kept += int(set[d/64] >> (d % 64) & 1) // without a branch
	}
	return kept
}

func selectGeneric(toDocIDs, toScores, docIDs, scores []uint32, least uint32) int {
	found := 0
	for i, d := range docIDs {
		s := scores[i]
		toDocIDs[found], toScores[found] = d, s
		if s >= least {
			found++
		}
	}
	return found
}
