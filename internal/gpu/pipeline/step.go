package pipeline

import (
	"context"
	"errors"
	"fmt"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/packedsearch"
)

// Candidates are the intermediate result of a conjunction in host memory, by segment: rising
// DocIDs, local to the segment, with partial sums of scores.
type Candidates struct {
	Segments []packedsearch.Candidates
}

// Reset empties c, keeping its memory.
func (c *Candidates) Reset(numSegments int) {
	for len(c.Segments) < numSegments {
		c.Segments = append(c.Segments, packedsearch.Candidates{})
	}
	c.Segments = c.Segments[:numSegments]
	for i := range c.Segments {
		s := &c.Segments[i]
		s.DocIDs, s.Scores = s.DocIDs[:0], s.Scores[:0]
	}
}

// Len is the number of candidates in all segments.
func (c *Candidates) Len() int {
	n := 0
	for i := range c.Segments {
		n += len(c.Segments[i].DocIDs)
	}
	return n
}

// Step looks up candidates, or the documents of the first list, in further lists of a
// conjunction. Any division into Intersects gives the same hits and matches as one Query.
type Step struct {
	// Legs are lists of the conjunction by segment, then term, shortest first:
	// [numSegments][NumTerms], NumTerms at least 1.
	Legs     []Leg
	NumTerms int
	// First and End select the terms [First, End) of each segment; both 0: all.
	First, End int
	// From are the read-only candidates of the previous step, nil for the first one. It must
	// not be &Out.
	From *Candidates
	// K is the number of hits of the last step, 1 to MaxK; 0: candidates go to Out.
	K int
	// Count, always set if K is 0, requests the number of candidates in Result.Matches.
	Count bool

	// Out receives the live documents with all terms if K is 0, in reused memory.
	Out Candidates
	// Result is set as by Run: Hits are appended to Result.Hits[:0].
	Result Result
}

// errNotPacked is the Err of a step that packedsearch cannot answer.
var errNotPacked = errors.New("compressed lists cannot be read in place: impacts, a codec other than simdbp, or several GPUs")

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

// Intersect runs a step on a device, on compressed lists in place. Candidates are copied from
// host memory, stay on the device for all lists of the step, and are copied back, or only the
// best K.
//
// The returned error is the context's. Other failures are in s.Result.Err; the CPU can then
// continue from the same candidates. Several devices, and lists that packedsearch cannot read
// (Located.Packed), are not supported.
//
// trace, if not nil, is filled as by Run. Intersect allocates nothing if s has served a step of
// the same size and the lists are resident.
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
	t := terms{s.Legs, s.NumTerms, s.First, s.End, true /* conjunctive */, false /* imagesOnly */}
	if t.end == 0 {
		t.end = t.stride
	}
	if len(v.engine.devices) > 1 || !v.readsPacked(0, &t, s.K) {
		s.Result.Err = errNotPacked
		return ctx.Err()
	}
	d := v.engine.devices[0]
	l := d.lane(ctx, 1)
	if l == nil {
		return ctx.Err()
	}
	l.enter()
	defer l.leave()
	l.packed.ask = packedAsk{terms: t, k: s.K, count: s.Count, from: s.From, traced: trace != nil}
	if s.K == 0 {
		l.packed.ask.to = &s.Out
	}
	_ = l.runPacked(v, v.targets[0], &s.Result) // the error is in s.Result
	d.steps.Add(1)
	l.report(trace, 0)
	if s.K == 0 && s.Result.Err == nil {
		s.Result.Matches = int64(s.Out.Len())
	}
	return nil
}
