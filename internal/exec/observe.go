package exec

import "time"

// watched is the predicted time from which on every piece is timed; of shorter ones
// every so often one is, as looking at the clock and learning take a part of what they do.
const (
	watched    = 100 * time.Microsecond
	watchOneOf = 4
)

// watches reports whether a piece of a predicted time is to be timed.
func (r *placedRun) watches(predicted time.Duration) bool {
	if predicted >= watched {
		return true
	}
	r.ticks++
	return r.ticks%watchOneOf == 0
}

// observe tells the model what a piece took that began with list from.
func (r *placedRun) observe(c *choice, from int, took time.Duration) {
	r.learn(c, took)
	if r.have != nil && c.to == r.pos && c.to < len(r.lengths) && len(r.expected) == len(r.lengths) {
		r.d.expect.observe(from, c.to, r.expected[c.to-1], r.have.Len())
	}
}

// tookLonger tells the model of a piece whose context ended: it takes longer than that.
func (r *placedRun) tookLonger(c *choice, after time.Duration) {
	if after > c.took {
		r.learn(c, after)
	}
}

// learn tells the model what a piece took. The difference is put down to the part that was
// to take the most of it.
func (r *placedRun) learn(c *choice, took time.Duration) {
	if p := c.largest(); p != nil && !c.guessed {
		rest := c.took - p.took
		r.d.costs.Observe(p.kind, &p.features, max(took-rest, took/4))
	}
}

// largest returns the part that is predicted to take at least half of the piece, nil if
// none is.
func (c *choice) largest() *part {
	for i := range c.parts[:c.numParts] {
		if p := &c.parts[i]; 2*p.took >= c.took {
			return p
		}
	}
	return nil
}
