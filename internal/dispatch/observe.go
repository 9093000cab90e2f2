package dispatch

import "time"

// alwaysTimed is the predicted time from which on every step is timed. Of shorter steps one in
// timeOneOf is, because reading the clock and learning take a part of their time.
const (
	alwaysTimed = 100 * time.Microsecond
	timeOneOf   = 4
)

func (p *predictor) isTimed(predicted time.Duration) bool {
	if predicted >= alwaysTimed {
		return true
	}
	p.ticks++
	return p.ticks%timeOneOf == 0
}

func (r *queryRun) observe(s *Step, from int, took time.Duration) {
	r.predictor.model.learn(s, took)
	if r.have != nil && s.to == r.pos && s.to < len(r.predictor.lengths) && len(r.predictor.expected) == len(r.predictor.lengths) {
		r.d.selectivity.observe(from, s.to, r.predictor.expected[s.to-1], r.have.Len())
	}
}

// learnLowerBound learns from a step that was ended early.
func (m *model) learnLowerBound(s *Step, after time.Duration) {
	if after > s.took {
		m.learn(s, after)
	}
}

// learn attributes the difference to the step's largest prediction.
func (m *model) learn(s *Step, took time.Duration) {
	if l := s.largest(); l != nil && !s.guessed {
		rest := s.took - l.Took
		m.costs.Observe(l.Kind, &l.Features, max(took-rest, took/4))
	}
}
