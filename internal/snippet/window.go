package snippet

import (
	"math"
	"slices"
)

// A window's score is the sum, over its terms, of weight × (1 + repeatGain × min(count - 1,
// maxRepeats)), plus, over neighbouring matches of different terms, proximityGain × the smaller
// weight / distance in words. A phrase counts its weights again.
//
// Worked: weights 2 and 1; "a b … a" with a and b side by side scores 2 × 1.1 + 1 + 0.25 × 1/1
// + 0.25 × 1/d.
const (
	repeatGain    = 0.1
	maxRepeats    = 3
	proximityGain = 0.25
	// In words between a phrase's neighbours: stop words are not matches.
	maxPhraseGap = 3
	// For terms that an earlier fragment shows.
	seenGain = 0.25
)

// window is matches first to last, inclusive.
type window struct {
	first, last int
	score       float64
}

// bestWindows returns up to MaxFragments windows that do not overlap, best first, the earliest
// among equals.
func (m *Maker) bestWindows() (best []window) {
	if len(m.matches) == 0 {
		return nil
	}
	m.findLinks()
	weights := slices.Clone(m.weights)
	free := []window{{first: 0, last: len(m.matches) - 1}}
	for len(best) < m.options.MaxFragments {
		top, in := window{score: math.Inf(-1)}, -1
		for i, f := range free {
			if w := m.bestWindow(f, weights); w.score > top.score {
				top, in = w, i
			}
		}
		if in < 0 {
			break
		}
		best = append(best, top)
		f := free[in]
		free = slices.Delete(free, in, in+1)
		// Matches within the widened passage cannot be shown again.
		if last := m.lastBefore(f, top.first); last >= f.first {
			free = append(free, window{first: f.first, last: last})
		}
		if first := m.firstAfter(f, top.last); first <= f.last {
			free = append(free, window{first: first, last: f.last})
		}
		for _, match := range m.matches[top.first : top.last+1] {
			weights[match.term] = m.weights[match.term] * seenGain
		}
	}
	return best
}

// The last match of f at least one fragment before match i.
func (m *Maker) lastBefore(f window, i int) int {
	limit := m.matches[i].char - m.options.MaxChars
	for i >= f.first && m.matches[i].char+m.matches[i].chars > limit {
		i--
	}
	return i
}

// The first match of f at least one fragment after match i.
func (m *Maker) firstAfter(f window, i int) int {
	limit := m.matches[i].char + m.matches[i].chars + m.options.MaxChars
	for i <= f.last && m.matches[i].char < limit {
		i++
	}
	return i
}

// bestWindow returns f's best window of at most MaxChars (or a single match), the earliest
// among equals. A longer window never scores less, so one for each first match suffices: two
// pointers, linear time.
func (m *Maker) bestWindow(f window, weights []float64) window {
	best := window{score: math.Inf(-1)}
	clear(m.counts)
	terms, links := 0.0, 0.0
	last := f.first - 1
	for first := f.first; first <= f.last; first++ {
		for last < f.last && (last < first || m.fits(first, last+1)) {
			last++
			terms += m.count(m.matches[last].term, +1, weights)
			if last > first {
				links += m.links[last]
			}
		}
		if score := terms + links; score > best.score+scoreSlack {
			best = window{first: first, last: last, score: score}
		}
		terms -= m.count(m.matches[first].term, -1, weights)
		if first < last {
			links -= m.links[first+1]
		}
	}
	return best
}

// Rounding errors of running sums must not decide between equal scores.
const scoreSlack = 1e-9

func (m *Maker) fits(first, last int) bool {
	return m.matches[last].char+m.matches[last].chars-m.matches[first].char <= m.options.MaxChars
}

// count adds or removes (delta ±1) an occurrence and returns the last one's contribution.
func (m *Maker) count(term, delta int, weights []float64) float64 {
	n := max(m.counts[term], m.counts[term]+delta)
	m.counts[term] += delta
	switch {
	case n == 1:
		return weights[term]
	case n <= 1+maxRepeats:
		return weights[term] * repeatGain
	}
	return 0
}

// links[i] is the gain of a window with match i and the one before.
func (m *Maker) findLinks() {
	m.links = append(m.links[:0], make([]float64, len(m.matches))...)
	for i := 1; i < len(m.matches); i++ {
		a, b := m.matches[i-1], m.matches[i]
		if a.term != b.term {
			distance := max(1, b.position-a.position)
			m.links[i] = proximityGain * min(m.weights[a.term], m.weights[b.term]) / float64(distance)
		}
	}
	for _, phrase := range m.phrases {
		weight := 0.0
		for _, term := range phrase {
			weight += m.weights[term]
		}
		for i := range m.matches {
			if m.isPhrase(i, phrase) {
				for j := i + 1; j < i+len(phrase); j++ {
					m.links[j] += weight / float64(len(phrase)-1)
				}
			}
		}
	}
}

func (m *Maker) isPhrase(i int, phrase []int) bool {
	if i+len(phrase) > len(m.matches) {
		return false
	}
	for j, term := range phrase {
		match := m.matches[i+j]
		if match.term != term || j > 0 && match.position-m.matches[i+j-1].position > maxPhraseGap {
			return false
		}
	}
	return true
}
