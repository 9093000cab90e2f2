package plan

import (
	"context"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/traverse"
)

// RunSegments completes a stage that another processor ran in the other segments: it searches these,
// which rise, on the CPU, and adds to a.Hits, a.Matches and a.Work. The best hits and the counts are the
// same wherever a segment was searched. The stage must not be of ModeSaat. All scores are without the scores of filters
// (AddFilterScores). Errors are RunCPU's.
func RunSegments(ctx context.Context, p *Plan, sc *Scratch, stage int, segments []int, a *Answer, trace *Trace) error {
	var ahead Ahead
	ahead.Begin(p, sc, stage, segments)
	return ahead.Finish(ctx, a, trace)
}

// Ahead is RunSegments in parts: Step searches segments before the other processor has answered. The Scratch serves
// nothing else from Begin to Finish.
type Ahead struct {
	plan     *Plan
	sc       *Scratch
	stage    int
	segments []int
	next     int // index in segments
	// floor is a score that K documents of the other segments probably reach: hits with less are left out.
	floor base.Score
	work  Work
	err   error // of a Step
}

// Begin begins before the other processor does.
func (s *Ahead) Begin(p *Plan, sc *Scratch, stage int, segments []int) {
	*s = Ahead{plan: p, sc: sc, stage: stage, segments: segments}
}

// Step searches the next segment; more is false if there is none. The first Step also guesses a threshold. After an
// error, Step and Finish return it again.
func (s *Ahead) Step(ctx context.Context) (more bool, err error) {
	p, st := s.plan, &s.plan.stages[s.stage]
	if s.err != nil || st.root == nil || p.k == 0 || s.next == len(s.segments) {
		return false, s.err
	}
	if s.next == 0 {
		p.ResetHits(s.sc)
		s.sc.unknownMatches(p)
		s.floor = s.likely(st)
	}
	r := s.sc.stage(p, st, ctx)
	r.countWith(s.sc.matched)
	r.floor = s.floor
	segment := s.segments[s.next]
	s.next++
	if !r.isHopeless(segment) {
		s.err = r.search(segment, &s.work, nil)
	}
	return s.err == nil && s.next < len(s.segments), s.err
}

// likely returns a threshold that K documents of the segment with the most documents probably reach.
func (s *Ahead) likely(st *Stage) base.Score {
	if !st.flat || st.kind != traverse.Or || st.isMasked() {
		return 0
	}
	segments, large := s.plan.planner.snapshot.Segments, 0
	for i := range segments {
		if segments[i].NumDocs() > segments[large].NumDocs() {
			large = i
		}
	}
	v := &segments[large]
	return likelyKth(st.Legs(large), s.sc.queue.K(), float64(maskOf(v).count)/float64(v.NumDocs()))
}

// Finish adds the hits and the counts of s's segments to a, which already has the hits of the other segments.
func (s *Ahead) Finish(ctx context.Context, a *Answer, trace *Trace) error {
	p, sc, st := s.plan, s.sc, &s.plan.stages[s.stage]
	a.Work.Add(s.work)
	if s.err != nil || st.root == nil {
		return s.err
	}
	r := sc.stage(p, st, ctx)
	rest := s.segments[s.next:]
	if s.next == 0 {
		sc.unknownMatches(p)
	}
	r.countWith(sc.matched)
	if s.next > 0 {
		sc.addHits(a.Hits)
		if s.floor > 0 && !r.reached(s.floor) {
			rest = s.segments
		}
	}
	if len(rest) == len(s.segments) {
		ResumeHits(p, sc, a.Hits)
	}
	for _, i := range rest {
		if p.k == 0 || trace == nil && r.isHopeless(i) {
			continue
		}
		if err := r.search(i, &a.Work, trace); err != nil {
			return err
		}
	}
	a.Hits = sc.AppendHits(a.Hits[:0])
	if !p.counts || p.FallsBack(s.stage, len(a.Hits)) {
		return nil
	}
	for _, i := range s.segments {
		n, err := r.count(i, &a.Work)
		if err != nil {
			return err
		}
		a.Matches += n
	}
	return nil
}
