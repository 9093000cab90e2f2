package intersect

// Elements of both lists that a thread merges: an odd number, so that threads that
// read shared memory at their tiles' starts hit different banks.
const (
	smallItems = 7
	largeItems = 15
)

// mergeTile returns the elements of both lists in a tile.
func mergeTile(items int) int { return items * blockThreads }

// mergeSlots returns how many matches a tile can have: one for each two elements.
func mergeSlots(items int) int { return (mergeTile(items) + 1) / 2 }
