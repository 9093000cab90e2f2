package ao11

// Each level of the skip list has every eighth element of the level below.
const skipBits = 3

// skipTo returns the position of the last of docIDs that is at most x, at or after from, or from if there
// is none. It is a search in a skip list from the position of the previous one, with levels as
// positions instead of pointers (Pugh, "Skip lists: a probabilistic alternative to balanced trees", CACM
// 33(6), 1990; the paper's baseline on a CPU, §6.3).
func skipTo(docIDs []uint32, from int, x uint32) int {
	at, level := from, 0
	// Up, while the next element of the level above is at most x.
	for {
		next := (at>>(skipBits*(level+1)) + 1) << (skipBits * (level + 1))
		if next >= len(docIDs) || docIDs[next] > x {
			break
		}
		at = next
		level++
	}
	for ; level >= 0; level-- {
		for next := at + 1<<(skipBits*level); next < len(docIDs) && docIDs[next] <= x; next += 1 << (skipBits * level) {
			at = next
		}
	}
	return at
}
