package dispatch

import (
	"time"

	"github.com/griffin-search/griffin/internal/cost"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/sched"
)

// Step is a step of a stage at a place, with its prediction: the lists up to to, which may be all. It
// is large, so functions fill it in place.
type Step struct {
	to   int
	path pipeline.Path
	// took is predicted for the step, total for it and all that follows; sched.Never: it cannot run.
	// predictions sum up to took.
	took, total    time.Duration
	guessed        bool // the path on the GPU is not known, or the step also counts: nothing is learnt from the time
	predictions    [maxPredictions]Prediction
	numPredictions int
}

// Prediction is the predicted time of some work.
type Prediction struct {
	Kind     cost.Kind
	Features cost.Features
	Took     time.Duration
}

// maxPredictions is the number of predictions kept for comparison with the time.
const maxPredictions = 3

// lastResort is the cost of a place that is used only if the other place fails.
const lastResort = time.Hour

// begin makes s the step up to a list by a path, and keeps the memory of predictions.
func (s *Step) begin(to int, path pipeline.Path) {
	s.to, s.path, s.took, s.total, s.guessed, s.numPredictions = to, path, 0, 0, false, 0
}

// is makes s the step up to a list that takes a time.
func (s *Step) is(to int, path pipeline.Path, took time.Duration) {
	s.begin(to, path)
	s.took, s.total = took, took
}

func (s *Step) never() {
	s.begin(0, pipeline.PathAuto)
	s.total = sched.Never
}

func (s *Step) add(k cost.Kind, f *cost.Features, took time.Duration) {
	if s.numPredictions < maxPredictions {
		s.predictions[s.numPredictions] = Prediction{k, *f, took}
		s.numPredictions++
	}
	s.took += took
	s.total += took
}

// largest returns the prediction of at least half of the time, nil if there is none.
func (s *Step) largest() *Prediction {
	for i := range s.predictions[:s.numPredictions] {
		if p := &s.predictions[i]; 2*p.Took >= s.took {
			return p
		}
	}
	return nil
}

// Took returns the predicted time of the step.
func (s *Step) Took() time.Duration { return s.took }

// Predictions returns the predictions whose sum is the step's time, at most maxPredictions.
func (s *Step) Predictions() []Prediction { return s.predictions[:s.numPredictions] }
