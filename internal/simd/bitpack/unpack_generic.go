package bitpack

// The oracle of the assembly and the fallback.

// Values unpacked at once, of width bytes, also by the AVX2 and NEON kernels.
const group = 8

// src holds exactly the bytes of n values.
func unpackNGeneric(dst *[Len]uint32, src []byte, width uint8, add uint32, n int) {
	whole, groups := split(src, width, n)
	unpackGeneric(dst[:whole*group], src, add, width)
	if whole < groups {
		var tail [tailSize]byte
		copy(tail[:], src[whole*int(width):])
		unpackGeneric(dst[whole*group:groups*group], tail[:], add, width)
	}
}

// src holds exactly the bytes of n values.
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

// For the bytes that split leaves out (at most Slack and a group, rounded up to groups) and
// Slack.
const tailSize = 2*MaxWidth + 2*Slack

// The number of whole groups with Slack bytes after them, and of all groups; the last may be
// partial.
func split(src []byte, width uint8, n int) (whole, groups int) {
	groups = (n + group - 1) / group
	if width == 0 {
		return 0, groups // the tail has Slack bytes, src does not
	}
	return min(n/group, max(0, len(src)-Slack)/int(width)), groups
}
