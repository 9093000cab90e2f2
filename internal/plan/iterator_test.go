package plan

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
)

// fakeList yields docs with scores and counts calls.
type fakeList struct {
	docs          []base.DocID
	scores        []base.Score
	at            int // of docs; -1 before the first call
	moves, scored int
}

func listOf(score base.Score, docs ...base.DocID) *fakeList {
	return &fakeList{docs: docs, scores: slices.Repeat([]base.Score{score}, len(docs)), at: -1}
}

func (l *fakeList) DocID() base.DocID {
	if l.at < 0 || l.at >= len(l.docs) {
		return base.NoDocID
	}
	return l.docs[l.at]
}

func (l *fakeList) NextGEQ(target base.DocID) base.DocID {
	l.moves++
	for l.at = max(l.at, 0); l.at < len(l.docs) && l.docs[l.at] < target; l.at++ {
	}
	return l.DocID()
}

func (l *fakeList) Score() base.Score {
	l.scored++
	return l.scores[l.at]
}

func (l *fakeList) MaxScore() base.Score {
	if len(l.scores) == 0 {
		return 0
	}
	return slices.Max(l.scores)
}

func (l *fakeList) Cost() int { return len(l.docs) }

func disjunctionOf(p *pulse, lists ...*fakeList) *disjunction {
	children := make([]iterator, len(lists))
	for i, l := range lists {
		children[i] = l
	}
	d := new(disjunction)
	d.reset(children, make([]iterator, len(lists)), make([]base.Score, len(lists)), p)
	return d
}

// rest returns the remaining documents and their scores.
func rest(it iterator) (docs []base.DocID, scores []base.Score) {
	for doc := it.NextGEQ(0); doc != base.NoDocID; doc = it.NextGEQ(doc + 1) {
		docs, scores = append(docs, doc), append(scores, it.Score())
	}
	return docs, scores
}

// A need that a score reaches exactly keeps the document, one more drops it.
func TestDisjunctionNeeds(t *testing.T) {
	for _, c := range []struct {
		need   base.Score
		docs   []base.DocID
		scores []base.Score
	}{
		{0, []base.DocID{1, 2, 3, 4, 9}, []base.Score{2, 3, 5, 14, 9}},
		{2, []base.DocID{1, 2, 3, 4, 9}, []base.Score{2, 3, 5, 14, 9}},
		{3, []base.DocID{2, 3, 4, 9}, []base.Score{3, 5, 14, 9}},
		{5, []base.DocID{3, 4, 9}, []base.Score{5, 14, 9}},
		{6, []base.DocID{4, 9}, []base.Score{14, 9}},
		{9, []base.DocID{4, 9}, []base.Score{14, 9}},
		{10, []base.DocID{4}, []base.Score{14}},
		{14, []base.DocID{4}, []base.Score{14}},
		{15, nil, nil},
		{1000, nil, nil},
	} {
		d := disjunctionOf(new(pulse), listOf(9, 4, 9), listOf(2, 1, 3, 4), listOf(3, 2, 3, 4))
		d.SetNeed(c.need)
		if docs, scores := rest(d); !slices.Equal(docs, c.docs) || !slices.Equal(scores, c.scores) {
			t.Errorf("need %d: documents %v with scores %v, want %v with %v", c.need, docs, scores, c.docs, c.scores)
		}
	}
}

// The score of the current document stays exact when a child becomes non-essential, is computed
// once, and not before it is asked for.
func TestDisjunctionScoresLazily(t *testing.T) {
	low, high := listOf(1, 1, 2, 3), listOf(10, 1, 3)
	d := disjunctionOf(new(pulse), high, low)
	if doc := d.NextGEQ(0); doc != 1 || low.scored+high.scored != 0 {
		t.Fatalf("document %d, %d scores", doc, low.scored+high.scored)
	}
	if d.SetNeed(0); low.scored+high.scored != 0 {
		t.Error("an unchanged need computes scores")
	}
	d.SetNeed(5)
	if s := d.Score(); s != 11 || d.Score() != s || low.scored != 1 || high.scored != 1 {
		t.Errorf("score %d after %d and %d calls, want 11 after one each", s, low.scored, high.scored)
	}
	if doc := d.NextGEQ(2); doc != 3 || d.Score() != 11 {
		t.Errorf("document %d with the score %d, want 3 with 11", doc, d.Score())
	}
}

func TestDisjunctionMovesOnlyTheFirst(t *testing.T) {
	far := listOf(1, 100)
	d := disjunctionOf(new(pulse), listOf(1, 1, 2, 3, 4), far)
	if docs, _ := rest(d); !slices.Equal(docs, []base.DocID{1, 2, 3, 4, 100}) {
		t.Errorf("documents %v", docs)
	}
	if far.moves != 2 {
		t.Errorf("the list of document 100 moved %d times, want 2", far.moves)
	}
}

// The optional score counts if the sum reaches the need exactly.
func TestPreferenceAtNeed(t *testing.T) {
	for need, want := range []base.Score{8: 8, 9: 5} {
		if want == 0 {
			continue
		}
		p := &preference{required: listOf(5, 1), optional: listOf(3, 1), doc: base.NoDocID, pulse: new(pulse)}
		p.NextGEQ(0)
		p.need = base.Score(need)
		if got := p.Score(); got != want {
			t.Errorf("need %d: score %d, want %d", need, got, want)
		}
	}
}

// endsAfter is a context's error from the call after n on.
type endsAfter struct{ n, calls int }

func (e *endsAfter) Err() error {
	if e.calls++; e.calls > e.n {
		return context.Canceled
	}
	return nil
}

func TestPulse(t *testing.T) {
	stop := &endsAfter{n: 1}
	var p pulse
	p.reset(stop)
	for i := 1; i <= 3*pulsePeriod; i++ {
		if got, want := p.stopped(), i >= 2*pulsePeriod; got != want {
			t.Fatalf("call %d: stopped is %v", i, got)
		}
		if want := min(i/pulsePeriod, 2); stop.calls != want {
			t.Fatalf("call %d: the context was looked at %d times, want %d", i, stop.calls, want)
		}
	}
	if !errors.Is(p.err, context.Canceled) {
		t.Errorf("error %v", p.err)
	}
}

// Every iterator ends before its next match once its pulse has stopped.
func TestIteratorsStop(t *testing.T) {
	stopped := &pulse{err: context.Canceled}
	for name, build := range map[string]func(p *pulse) iterator{
		"conjunction": func(p *pulse) iterator {
			c := new(conjunction)
			c.reset([]iterator{listOf(1, 1, 5), listOf(1, 5, 6, 7)}, p)
			return c
		},
		"disjunction": func(p *pulse) iterator { return disjunctionOf(p, listOf(1, 5), listOf(1, 6)) },
		"exclusion": func(p *pulse) iterator {
			return &exclusion{included: listOf(1, 1, 5), excluded: listOf(1, 1), pulse: p}
		},
		"preference": func(p *pulse) iterator {
			return &preference{required: listOf(1, 1, 5), optional: listOf(1, 5), both: true, doc: base.NoDocID, pulse: p}
		},
	} {
		t.Run(name, func(t *testing.T) {
			if doc := build(new(pulse)).NextGEQ(0); doc != 5 {
				t.Errorf("the first document is %d, want 5", doc)
			}
			it := build(stopped)
			if doc := it.NextGEQ(0); doc != base.NoDocID || it.DocID() != base.NoDocID {
				t.Errorf("stopped at %d, the current document is %d, want none", doc, it.DocID())
			}
		})
	}
}
