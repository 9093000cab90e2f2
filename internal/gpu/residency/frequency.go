package residency

// frequencies count requests for lists, resident or not, so that the cache can tell repeated
// from single requests. Periodic halving makes them follow recent queries. They are not safe
// for concurrent use.
//
// Einziger, Friedman and Manes, "TinyLFU: a highly efficient cache admission policy", ACM TOS
// 13(4), 2017, §3.3 (halving). We differ: counts are exact, since lists are far fewer than the
// pages of a cache; halving forgets lists with a count of 1.
type frequencies struct {
	counts map[listKey]uint32
	added  int // since the last halving
	limit  int // maximum number of counted lists
}

const maxFrequency = 1 << 20

func newFrequencies(limit int) frequencies {
	return frequencies{counts: map[listKey]uint32{}, limit: limit}
}

// add counts n uses of a list, and returns its count and whether all counts were halved.
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
