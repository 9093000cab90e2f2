package griffin18

import (
	"fmt"
	"strings"
	"time"

	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/traverse"
)

// tracer adds the steps of a query to its trace, if it has one.
type tracer struct {
	to      *plan.Trace // nil: none
	words   []plan.ListTrace
	segment string
	lists   []plan.ListTrace // of the segment, the shortest first
	last    time.Time        // end of the last step
}

// begin notes the words of a planned query.
func (t *tracer) begin(to *plan.Trace, p *plan.Plan) {
	*t = tracer{to: to}
	if to == nil {
		return
	}
	to.Begin()
	if !p.Stage(0).IsFlat() {
		return
	}
	p.SortTerms()
	order := p.Stage(0).Order()
	t.words = make([]plan.ListTrace, len(order))
	for i, l := range p.StageLists(0) {
		t.words[order[i]] = l
	}
}

func (t *tracer) beginSegment(name string) {
	if t.to != nil {
		t.segment, t.lists, t.last = name, nil, time.Now()
	}
}

// open notes the lists of the segment: legs in the order of the query, and sorted.
func (t *tracer) open(legs []traverse.Leg, sorted []*traverse.Leg) {
	if t.to == nil {
		return
	}
	for _, s := range sorted {
		for i := range legs {
			if &legs[i] == s {
				l := t.words[i]
				l.DocFreq, l.Blocks = s.List.DocFreq, s.List.NumBlocks()
				t.lists = append(t.lists, l)
			}
		}
	}
}

// list describes a list of the segment, the shortest first.
func (t *tracer) list(i int) []plan.ListTrace {
	if t.to == nil {
		return nil
	}
	return t.lists[i : i+1 : i+1]
}

// add adds the step since the last one.
func (t *tracer) add(s plan.Step) {
	if t.to == nil {
		return
	}
	now := time.Now()
	s.Segment, s.Mode, s.Traversal = t.segment, plan.ModeAnd, name
	t.to.AddFor(t.last, now.Sub(t.last), s)
	t.last = now
}

// note adds a line about the segment.
func (t *tracer) note(format string, args ...any) {
	if t.to != nil {
		t.to.Notes = append(t.to.Notes, fmt.Sprintf("segment %s: ", t.segment)+fmt.Sprintf(format, args...))
	}
}

// missing notes that word i of the query is in no document of the segment.
func (t *tracer) missing(i int) {
	if t.to != nil {
		t.note("not searched, as %s is in no document", t.words[i].Term)
	}
}

// unread notes the lists from a number on, which were not read because no candidates are left.
func (t *tracer) unread(from int) {
	if t.to == nil || from >= len(t.lists) {
		return
	}
	var unread []string
	for _, l := range t.lists[from:] {
		unread = append(unread, fmt.Sprintf("%s (%d postings)", l.Term, l.DocFreq))
	}
	t.note("no candidates are left; not read: %s", strings.Join(unread, ", "))
}
