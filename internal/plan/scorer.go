package plan

import (
	"context"
	"fmt"

	"github.com/griffin-search/griffin/internal/base"
)

// Scorer computes the scores of the documents of Matches, one by one.
type Scorer struct {
	run  stageRun
	root iterator // of the segment; nil: nothing matches
	view string   // name of the segment
}

// NewScorer returns a Scorer. It and sc are for one goroutine, and sc for nothing else meanwhile. The error
// is the context's, or wraps base.ErrBadInput in ModeSaat and base.ErrCorrupt if a list is damaged.
func NewScorer(ctx context.Context, p *Plan, sc *Scratch) (*Scorer, error) {
	if p.mode == ModeSaat {
		return nil, fmt.Errorf("mode saat has no scores of single documents: %w", base.ErrBadInput)
	}
	stage, err := matchingStage(ctx, p, sc)
	if err != nil {
		return nil, err
	}
	return &Scorer{run: stageRun{plan: p, st: &p.stages[stage], sc: sc, stop: ctx}}, nil
}

// Begin opens a segment.
func (s *Scorer) Begin(segment int) (err error) {
	if err := s.end(); err != nil {
		return err
	}
	p := s.run.plan
	s.view = p.planner.snapshot.Segments[segment].Name
	s.run.sc.begin(&p.words, segment, s.run.stop)
	s.root, err = s.run.sc.tree.build(s.run.st.root)
	return err
}

// Score returns the score of a document of the segment that matches. Documents rise.
func (s *Scorer) Score(doc base.DocID) (base.Score, error) {
	if s.root != nil && s.root.NextGEQ(doc) == doc {
		return s.root.Score(), nil
	}
	if err := s.end(); err != nil {
		return 0, err
	}
	return 0, fmt.Errorf("segment %s: document %d does not match: %w", s.view, doc, base.ErrBadInput)
}

// end reports errors of reading lists.
func (s *Scorer) end() error {
	if s.root == nil {
		return nil
	}
	s.root = nil
	var w Work
	err := s.run.sc.tree.finish(&w)
	if err == nil {
		err = s.run.sc.pulse.err
	}
	if err == nil {
		return nil
	}
	if ended := s.run.stop.Err(); ended != nil {
		return ended
	}
	return fmt.Errorf("segment %s: query %s: %w", s.view, s.run.plan.query, err)
}

// Close returns the error of the last segment.
func (s *Scorer) Close() error { return s.end() }
