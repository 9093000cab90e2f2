package pipeline

// frequencies count how often lists were asked for, resident or not, so that
// the cache can tell a list that comes back from one that was asked for once.
// Counts are halved now and then, so that they follow what is asked for now.
// It is for one goroutine at a time.
//
// Einziger, Friedman and Manes, "TinyLFU: a highly efficient cache admission
// policy", ACM TOS 13(4), 2017, §3.3 (halving). We differ: counts are exact, as
// there are far fewer lists asked for than pages of a cache; of those that were
// asked for least the count is forgotten.
type frequencies struct {
	counts map[listKey]uint32
	added  int // since the last halving
	limit  int // lists that are counted
}

// maxFrequency is the greatest count: more says nothing.
const maxFrequency = 1 << 20

func newFrequencies(limit int) frequencies {
	return frequencies{counts: map[listKey]uint32{}, limit: limit}
}

// add counts n more uses of a list and returns its count, and whether all were
// halved.
func (f *frequencies) add(k listKey, n uint32) (count uint32, halved bool) {
	count = min(f.counts[k]+n, maxFrequency)
	f.counts[k] = count
	f.added++
	if len(f.counts) > f.limit || f.added > 8*f.limit {
		f.halve()
		return count / 2, true
	}
	return count, false
}

func (f *frequencies) halve() {
	f.added = 0
	for k, n := range f.counts {
		if n /= 2; n == 0 {
			delete(f.counts, k)
		} else {
			f.counts[k] = n
		}
	}
}
