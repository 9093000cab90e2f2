package bitpack

// The pure-Go versions of all functions: the oracle of the assembly and the fallback.

// group is the number of values that unpackGeneric, unpackGapsGeneric and the AVX2 kernels
// unpack at once. They take width bytes.
const group = 8

// unpackNGeneric writes the first n values of width bits, each plus add. src holds exactly
// their bytes.
func unpackNGeneric(dst *[Len]uint32, src []byte, width uint8, add uint32, n int) {
	whole, groups := split(src, width, n)
	unpackGeneric(dst[:whole*group], src, add, width)
	if whole < groups {
		var tail [tailSize]byte
		copy(tail[:], src[whole*int(width):])
		unpackGeneric(dst[whole*group:groups*group], tail[:], add, width)
	}
}

// unpackGapsNGeneric writes the DocIDs of n gaps minus one of width bits. src holds exactly
// their bytes.
func unpackGapsNGeneric(dst *[Len]uint32, src []byte, base uint32, width uint8, n int) {
	whole, groups := split(src, width, n)
	unpackGapsGeneric(dst[:whole*group], src, base, 1, width)
	if whole < groups {
		if whole > 0 {
			base = dst[whole*group-1]
		}
		var tail [tailSize]byte
		copy(tail[:], src[whole*int(width):])
		unpackGapsGeneric(dst[whole*group:groups*group], tail[:], base, 1, width)
	}
}

func prefixSumGeneric(dst *[Len]uint32, base uint32) {
	for i := range dst {
		base += dst[i] + 1
		dst[i] = base
	}
}

// tailSize is the size of a copy of the bytes that split leaves out, plus Slack bytes.
// These are at most Slack bytes and a group, rounded up to groups.
const tailSize = 2*MaxWidth + 2*Slack

// split divides n values of width bits, stored in src, into whole groups with Slack bytes
// after them, and the rest. It returns the number of whole groups and of all groups, of
// which the last may be partial.
func split(src []byte, width uint8, n int) (whole, groups int) {
	groups = (n + group - 1) / group
	if width == 0 {
		return 0, groups // the tail has Slack bytes, src does not
	}
	return min(n/group, max(0, len(src)-Slack)/int(width)), groups
}
