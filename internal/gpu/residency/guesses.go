package residency

import "sync/atomic"

// Guesses counts the outcomes of guesses of thresholds, which are from the number of documents that a query may match. Where
// these documents are related to the words of queries, guesses often fail.
type Guesses struct{ made, failed atomic.Uint32 }

// failureShare of the guesses may fail. A failure repeats the query in a launch of few queries, which takes several
// times the time that a guess saves.
const failureShare = 32

// Allowed reports whether to guess.
func (g *Guesses) Allowed() bool { return g.failed.Load() <= 4+g.made.Load()/failureShare }

// Add records the outcome of a guess.
func (g *Guesses) Add(reached bool) {
	g.made.Add(1)
	if !reached {
		g.failed.Add(1)
	}
}
