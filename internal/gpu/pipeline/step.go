package pipeline

import (
	"context"
	"errors"
	"fmt"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/direct"
)

// Candidates are what is left of a conjunction after some of its lists, in the memory
// of the host, by segment of the View: documents, rising, with the sum of the scores of
// the lists so far. DocIDs are the segment's own (Segment.Base is not added).
type Candidates struct {
	Segments []direct.Candidates
}

// Reset makes c hold no candidates of so many segments, and keeps its memory.
func (c *Candidates) Reset(numSegments int) {
	for len(c.Segments) < numSegments {
		c.Segments = append(c.Segments, direct.Candidates{})
	}
	c.Segments = c.Segments[:numSegments]
	for i := range c.Segments {
		s := &c.Segments[i]
		s.DocIDs, s.Scores = s.DocIDs[:0], s.Scores[:0]
	}
}

// Len is how many there are, in all segments.
func (c *Candidates) Len() int {
	n := 0
	for i := range c.Segments {
		n += len(c.Segments[i].DocIDs)
	}
	return n
}

// Step is a part of a conjunction: the candidates so far, or the documents of the
// first list, are looked up in the (further) lists. Steps with the same lists in the
// same order, however they are cut into Intersects, give the same hits and matches, as
// one Query with all of them does.
type Step struct {
	// Legs holds, by segment, then term, lists of the conjunction:
	// [numSegments][NumTerms], the shortest first. NumTerms is at least 1.
	Legs     []Leg
	NumTerms int
	// First and End are the terms of each segment that are looked up, [First, End);
	// both 0: all. So the Legs may be those of a Query.
	First, End int
	// From are the candidates so far, which are read only; nil: the step is the first.
	// Out may not be the same.
	From *Candidates
	// K is how many hits are wanted, 1 to MaxK, of the last step; 0: the candidates
	// are, in Out.
	K int
	// Count asks for the number of candidates in Result.Matches; it is there anyway
	// if K is 0.
	Count bool

	// Out has the candidates that are left, live documents that have all terms, if K is
	// 0. Its memory is used again.
	Out Candidates
	// Result is as that of Run: Hits are appended to Result.Hits[:0].
	Result Result
}

// errNotDirect says why a query is not answered from compressed lists.
var errNotDirect = errors.New("its lists cannot be read where they lie: another codec than simdbp, impacts, or shared by several GPUs")

// check returns what is wrong with a step.
func (s *Step) check(v *View) error {
	n := len(v.segments)
	switch {
	case s.NumTerms < 1 || len(s.Legs) != s.NumTerms*n || s.K < 0 || s.K > MaxK:
		return fmt.Errorf("step: k %d, %d legs of %d terms over %d segments: %w", s.K, len(s.Legs), s.NumTerms, n, base.ErrBadInput)
	case s.First < 0 || s.End > s.NumTerms || s.First > s.End || s.First == s.End && s.End > 0:
		return fmt.Errorf("step: terms %d to %d of %d: %w", s.First, s.End, s.NumTerms, base.ErrBadInput)
	case s.From != nil && len(s.From.Segments) != n:
		return fmt.Errorf("step: candidates of %d segments, not %d: %w", len(s.From.Segments), n, base.ErrBadInput)
	}
	return v.engine.Lost()
}

// Intersect takes a step on a device: candidates go there from the host's memory, stay
// there while all lists of the step are looked up, and those that are left come back, or
// the best K of them. Lists are read where they lie, compressed. What the devices
// cannot do, or fail at, is in s.Result.Err, and the CPU can do it from the same
// candidates; the error is the context's only. trace, if not nil, is filled as by Run.
// A View of several devices, or lists of another codec than simdbp, are what Intersect
// cannot do (Located.Direct). It allocates nothing once s has served a step as large
// and the lists are in memory.
func (v *View) Intersect(ctx context.Context, s *Step, trace *Trace) error {
	s.Result = Result{Hits: s.Result.Hits[:0]}
	s.Out.Reset(len(v.segments))
	if trace != nil {
		trace.Devices = append(trace.Devices[:0], make([]DeviceTrace, len(v.engine.devices))...)
	}
	if err := s.check(v); err != nil {
		s.Result.Err = err
		return ctx.Err()
	}
	t := terms{s.Legs, s.NumTerms, s.First, s.End, true /* conjunctive */}
	if t.end == 0 {
		t.end = t.stride
	}
	if len(v.engine.devices) > 1 || !v.directly(0, &t, s.K) {
		s.Result.Err = errNotDirect
		return ctx.Err()
	}
	d := v.engine.devices[0]
	l := d.lane(ctx)
	if l == nil {
		return ctx.Err()
	}
	l.enter()
	defer l.leave()
	l.ask = directAsk{terms: t, k: s.K, count: s.Count, from: s.From, traced: trace != nil}
	if s.K == 0 {
		l.ask.to = &s.Out
	}
	_ = l.runDirect(v, v.pieces[0], &s.Result) // it is in the Result
	d.steps.Add(1)
	l.report(trace, 0)
	if s.K == 0 && s.Result.Err == nil {
		s.Result.Matches = int64(s.Out.Len())
	}
	return nil
}
