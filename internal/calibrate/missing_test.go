package calibrate

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/cost"
	"github.com/griffin-search/griffin/internal/dispatch"
	"github.com/griffin-search/griffin/internal/index"
)

// A term that the segment lacks has no document, also after one that it has.
func TestNextOfMissingTerm(t *testing.T) {
	s, err := sampleTerms(t.Context(), textIndex(t, index.Options{}, pairs(5)), newRng(), longWait)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		term string
		want base.DocID
	}{{"left003", 3}, {"missing", 5}} {
		if doc, err := s.next([]byte(c.term), 0); err != nil || doc != c.want {
			t.Errorf("%s: document %d, %v; want %d", c.term, doc, err, c.want)
		}
	}
}

// Times that no tree learns are an error.
func TestTrainInvalidTimes(t *testing.T) {
	m, r := scripted(t, nil, trainIndex(t))
	d := testDispatcher(t, nil, dispatch.Config{})
	r.took = func(string, *dispatch.Step) (time.Duration, error) { return math.MaxInt64, nil }
	if _, err := m.train(t.Context(), d, some(40, 0), TrainOptions{}); !errors.Is(err, base.ErrBadInput) || d.Costs().Trees() != (cost.Trees{}) {
		t.Errorf("%v, trees %+v", err, d.Costs().Trees())
	}
}
