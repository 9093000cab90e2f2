package index

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/segment"
)

// compareLists merges the dictionaries of a field of all segments and of the rebuilt index.
func (c *comparer) compareLists(f base.FieldID) error {
	type dictionary struct {
		view  *View
		terms *segment.TermIterator
		more  bool
	}
	all := make([]dictionary, 0, len(c.s.Segments)+1) // the last is the rebuilt index's
	for i := range c.s.Segments {
		all = append(all, dictionary{view: &c.s.Segments[i]})
	}
	all = append(all, dictionary{view: c.fresh})
	next := func(d *dictionary) error {
		d.more = d.terms.Next()
		return d.terms.Err()
	}
	for i := range all {
		all[i].terms = all[i].view.Terms(f, nil)
		if err := next(&all[i]); err != nil {
			return err
		}
	}
	l := newListComparer(c, f)
	for {
		l.term = l.term[:0]
		found := false
		for i := range all {
			if d := &all[i]; d.more && (!found || bytes.Compare(d.terms.Term(), l.term) < 0) {
				found = true
				l.term = append(l.term[:0], d.terms.Term()...)
			}
		}
		if !found {
			return nil
		}
		if l.numTerms++; l.numTerms%64 == 0 && c.ctx.Err() != nil {
			return c.ctx.Err()
		}
		l.segments, l.inFresh = l.segments[:0], false
		for i := range all {
			d := &all[i]
			if !d.more || !bytes.Equal(d.terms.Term(), l.term) {
				continue
			}
			if i < len(c.s.Segments) {
				l.segments = append(l.segments, i)
			} else {
				l.inFresh = true
			}
			if err := next(d); err != nil {
				return err
			}
		}
		if err := l.compare(); err != nil {
			return err
		}
	}
}

// listComparer compares the lists of one term after the other.
type listComparer struct {
	*comparer
	field    base.FieldID
	term     []byte
	numTerms int
	segments []int // of s with the term, rising
	inFresh  bool  // the rebuilt index has the term

	got  livePostings
	want segmentPostings
}

func newListComparer(c *comparer, f base.FieldID) *listComparer {
	l := &listComparer{comparer: c, field: f}
	l.got.l, l.want.c = l, c
	l.want.ranks = &ranks{}
	return l
}

func (l *listComparer) at() Difference {
	d := l.comparer.field(l.field)
	d.Term = string(l.term)
	return d
}

func (l *listComparer) open(v *View, list *postings.List) error {
	found, err := v.FindParts(l.field, l.term, segment.Positions, list)
	if err == nil && !found {
		err = fmt.Errorf("segment %s: field %q: term %q: not found: %w", v.Name, l.s.Fields[l.field].Name, l.term, base.ErrCorrupt)
	}
	return err
}

func (l *listComparer) compare() error {
	var list postings.List
	got, want := uint64(0), uint64(0)
	for _, i := range l.segments {
		v := &l.s.Segments[i]
		if err := l.open(v, &list); err != nil {
			return err
		}
		got += v.Deletions.DocFreq(&list)
	}
	l.want.list = postings.List{}
	l.want.reset()
	if l.inFresh {
		if err := l.open(l.fresh, &l.want.list); err != nil {
			return err
		}
		want = uint64(l.want.list.DocFreq)
		l.sampler.add(l.s.Fields[l.field].Name, l.term, want)
		l.result.Terms++
	}
	if err := l.differInts(l.at(), "document frequency", got, want); err != nil {
		return err
	}
	l.got.segment, l.got.open = 0, false
	return l.comparePostings()
}

// livePosting is a posting of a live document.
type livePosting struct {
	rank, freq uint32
	positions  []byte // vbytes of gaps, in a mapped file
}

func (l *listComparer) comparePostings() error {
	var got, want livePosting
	more, err := l.got.next(&got)
	if err != nil {
		return err
	}
	left, err := l.want.next(&want)
	if err != nil {
		return err
	}
	for more || left {
		switch {
		case !left || more && got.rank < want.rank:
			if err := l.differPosting(got.rank, describe(&got), "none"); err != nil {
				return err
			}
			if more, err = l.got.next(&got); err != nil {
				return err
			}
			continue
		case !more || want.rank < got.rank:
			if err := l.differPosting(want.rank, "none", describe(&want)); err != nil {
				return err
			}
		default:
			if got.freq != want.freq || !bytes.Equal(got.positions, want.positions) {
				if err := l.differPosting(got.rank, describe(&got), describe(&want)); err != nil {
					return err
				}
			}
			l.result.Postings++
			if more, err = l.got.next(&got); err != nil {
				return err
			}
		}
		if left, err = l.want.next(&want); err != nil {
			return err
		}
	}
	return nil
}

func (l *listComparer) differPosting(rank uint32, got, want string) error {
	d := l.at()
	d.What, d.Got, d.Want = "posting", got, want
	id, err := l.fresh.ID(base.DocID(rank))
	if err != nil {
		return err
	}
	d.ID = string(id)
	return l.differ(d)
}

// describe returns frequency and, with positions, the first of these.
func describe(p *livePosting) string {
	s := "frequency " + strconv.FormatUint(uint64(p.freq), 10)
	if len(p.positions) == 0 {
		return s
	}
	const most = 10
	positions, _, err := postings.DecodePositions(nil, p.positions, 0, min(p.freq, most))
	if err != nil {
		return s + " at unreadable positions"
	}
	s += fmt.Sprintf(" at positions %v", positions)
	if p.freq > most {
		s += " and others"
	}
	return s
}
