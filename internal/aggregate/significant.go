package aggregate

import (
	"cmp"
	"slices"

	"github.com/griffin-search/griffin/internal/base"
)

// significant finds terms that are more frequent in a bucket than in the background: all live documents, or
// the matches of a query.
type significant struct {
	*terms
	heuristic heuristic
	words     [][]uint64      // of the background
	size      int64           // of the background
	sizes     counts          // of buckets
	others    map[int64]int64 // documents of the background, by key
}

const defaultSignificantCount = 3

func parseSignificant(r *Request, p *params) (func(e *env) (collector, error), error) {
	t := termsParams{field: p.field(), size: p.integer("size", defaultSize, 1, maxSize)}
	t.minCount = int64(p.integer("min_doc_count", defaultSignificantCount, 1, maxSize))
	t.keep = p.keep()
	p.integer("shard_size", 0, -1, maxSize)
	p.integer("shard_min_doc_count", 0, 0, maxSize)
	p.ignored("execution_hint")
	heuristic := p.heuristic()
	background := p.raw("background_filter")
	return func(e *env) (collector, error) {
		c, err := newTerms(e, r, &t)
		if err != nil {
			return nil, err
		}
		s := &significant{terms: c, heuristic: heuristic}
		if background != nil {
			if s.words, err = e.filter(r, background); err != nil {
				return nil, err
			}
		} else {
			for i := range e.index.Segments {
				s.words = append(s.words, e.index.Segments[i].live())
			}
		}
		for _, words := range s.words {
			s.size += ones(words)
		}
		return s, nil
	}, p.err
}

func (s *significant) collect(docs []base.DocID, buckets []uint32) error {
	for _, b := range buckets {
		if err := s.e.count(s.Request, &s.sizes, b, 1); err != nil {
			return err
		}
	}
	return s.terms.collect(docs, buckets)
}

func (s *significant) whole(segment int, words []uint64) (bool, error) {
	done, err := s.terms.whole(segment, words)
	if done && err == nil {
		err = s.e.count(s.Request, &s.sizes, topBucket, ones(words))
	}
	return done, err
}

func (s *significant) finish() error {
	if err := s.tabulate(); err != nil {
		return err
	}
	s.others = map[int64]int64{}
	for n, key := range s.table.keys {
		if s.terms.counts[n] >= s.minCount {
			s.others[key] = 0
		}
	}
	for i := range s.words {
		if err := s.countBackground(i); err != nil {
			return err
		}
	}
	return s.terms.finish()
}

// countBackground adds a segment's documents to others.
func (s *significant) countBackground(segment int) error {
	column, err := s.e.index.Segments[segment].Column(s.field)
	if err != nil || column == nil || len(s.others) == 0 {
		return s.wrap(err)
	}
	if s.keys.lexicon == nil {
		lastDoc, last := base.NoDocID, int64(0)
		return s.wrap(column.Scan(s.words[segment], func(docs []base.DocID, values []int64) error {
			for i, v := range values {
				if docs[i] == lastDoc && v == last {
					continue
				}
				lastDoc, last = docs[i], v
				if n, ok := s.others[v]; ok {
					s.others[v] = n + 1
				}
			}
			return s.e.ctx.Err()
		}))
	}
	n := column.NumTerms()
	if err := s.e.budget.take(s.Request, 4*max(0, n-cap(s.ords))); err != nil {
		return err
	}
	s.ords = slices.Grow(s.ords[:0], n)[:n]
	clear(s.ords)
	if _, err := column.CountOrdinals(s.words[segment], s.ords); err != nil {
		return s.wrap(err)
	}
	for key := range s.others {
		term, err := s.keys.lexicon.term(key)
		if err != nil {
			return err
		}
		ord, found, err := column.Lookup(term)
		if err != nil {
			return s.wrap(err)
		}
		if found {
			s.others[key] += int64(s.ords[ord])
		}
	}
	return nil
}

func (s *significant) build(bucket uint32) (*Result, error) {
	out := newResult(s.Request)
	out.keyType = s.keys.typeName()
	out.DocCount, out.Background, out.Buckets = s.sizes.of(bucket), s.size, []Bucket{}
	type scored struct {
		candidate
		score float64
	}
	var list []scored
	for _, n := range s.table.of(bucket) {
		c := candidate{number: n, key: s.table.keys[n], count: s.terms.counts[n]}
		if c.count < s.minCount {
			continue
		}
		f := frequencies{c.count, out.DocCount, s.others[c.key], s.size}
		if s.heuristic.superset && !f.isSubset() {
			return nil, s.errorf("the background has fewer documents than a bucket: set [background_is_superset] to false, or widen [background_filter]")
		}
		if v := s.heuristic.score(f); v > 0 {
			list = append(list, scored{c, v})
		}
	}
	base.Sort(list, func(a, b scored) int { return cmp.Or(cmp.Compare(b.score, a.score), s.keys.compare(a.key, b.key)) })
	list = list[:min(len(list), s.termsParams.size)]
	if err := s.e.budget.answer(s.Request, len(list)); err != nil {
		return nil, err
	}
	for _, c := range list {
		b := Bucket{DocCount: c.count, Values: []Value{{Name: "score", Value: c.score}, {Name: "bg_count", Value: float64(s.others[c.key]), Whole: true}}}
		if err := s.keys.write(&b, c.key); err != nil {
			return nil, err
		}
		var err error
		if b.Aggs, err = s.within.build(c.number); err != nil {
			return nil, err
		}
		out.Buckets = append(out.Buckets, b)
	}
	return out, nil
}
