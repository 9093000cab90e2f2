package aggregate

import (
	"math"
	"slices"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/topk"
)

// termsParams are of terms; significant_terms has some of them.
type termsParams struct {
	field      string
	format     string
	missing    string
	hasMissing bool
	size       int
	minCount   int64
	order      order
	keep       keep
	showErrors bool
}

const (
	defaultSize     = 10
	maxSize         = math.MaxInt32
	maxRegexpLength = 1000 // index.max_regex_length of OpenSearch
)

// NewTerms returns an aggregation of the size most frequent values of a field, as Parse does of
// {"terms": {"field": field, "size": size}}.
func NewTerms(name, field string, size int) (*Request, error) {
	r := &Request{Name: name, Type: "terms", kind: kinds["terms"], counted: field}
	if size < 1 || size > maxSize {
		return nil, r.errorf("[size]: want an integer from 1 to %d, have %d", maxSize, size)
	}
	t := &termsParams{field: field, size: size, minCount: 1, order: mostFrequent()}
	r.make = func(e *env) (collector, error) { return newTerms(e, r, t) }
	return r, nil
}

func parseTerms(r *Request, p *params) (func(e *env) (collector, error), error) {
	t := termsParams{field: p.field(), format: p.text("format", "")}
	t.missing, t.hasMissing = p.missing()
	t.size = p.integer("size", defaultSize, 1, maxSize)
	t.minCount = int64(p.integer("min_doc_count", 1, 0, maxSize))
	t.order = p.order(mostFrequent())
	t.keep = p.keep()
	t.showErrors = p.boolean("show_term_doc_count_error", false)
	p.integer("shard_size", 0, -1, maxSize)         // counts are exact
	p.integer("shard_min_doc_count", 0, 0, maxSize) // likewise
	p.choice("collect_mode", "depth_first", "depth_first", "breadth_first")
	p.ignored("execution_hint")
	r.counted = t.field
	return func(e *env) (collector, error) { return newTerms(e, r, &t) }, p.err
}

func mostFrequent() order { return order{{by: byCount, desc: true}} }

// terms counts documents by the values of a field.
type terms struct {
	*Request
	*termsParams
	e      *env
	keys   *keys
	filter *filter
	table  table
	counts []int64 // by number of the table
	ofKeys []int64 // beside the table, counts in topBucket by key: of numbers of a lexicon
	within within
	ords   []uint32       // counts of a segment's ordinals
	only   []uint32       // the same, of the only segment that has terms: its ordinals are the keys. If nil, they are in ofKeys
	all    map[int64]bool // with a minimal count of 0, the keys of all live documents
}

func newTerms(e *env, r *Request, p *termsParams) (*terms, error) {
	k, err := e.keysOf(r, p.field, p.format, p.missing, p.hasMissing)
	if err != nil {
		return nil, err
	}
	t := &terms{Request: r, termsParams: p, e: e, keys: k}
	if t.filter, err = p.keep.filter(k); err != nil {
		return nil, err
	}
	if p.minCount == 0 {
		t.all = map[int64]bool{}
	}
	t.within, err = e.within(r)
	return t, err
}

func (t *terms) request() *Request { return t.Request }

func (t *terms) begin(segment int) error {
	if err := t.keys.begin(segment); err != nil {
		return err
	}
	if t.all != nil {
		if err := t.findAll(segment); err != nil {
			return err
		}
	}
	return t.within.begin(segment)
}

// findAll adds the keys of a segment's live documents.
func (t *terms) findAll(segment int) error {
	if len(t.keys.missing) > 0 {
		t.all[t.keys.missing[0]] = true
	}
	if t.keys.column == nil {
		return nil
	}
	const mapBytes = 24
	last, hasLast := int64(0), false
	return t.wrap(t.keys.column.Scan(t.e.index.Segments[segment].live(), func(_ []base.DocID, values []int64) (err error) {
		for _, v := range values {
			if hasLast && v == last {
				continue
			}
			last, hasLast = v, true
			if t.keys.lexicon != nil {
				if v, err = t.keys.lexicon.number(v); err != nil {
					return err
				}
			}
			if !t.all[v] {
				t.all[v] = true
				if err = t.e.budget.take(t.Request, mapBytes); err != nil {
					return err
				}
			}
		}
		return nil
	}))
}

// number returns the bucket of a key, and noBucket if it has none.
func (t *terms) number(parent uint32, key int64) (uint32, error) {
	n, isNew := t.table.number(parent, key)
	if !isNew {
		return n, nil
	}
	t.counts = append(t.counts, 0)
	return n, t.e.budget.take(t.Request, tableBytes)
}

func (t *terms) collect(docs []base.DocID, buckets []uint32) error {
	for i, doc := range docs {
		values, err := t.keys.of(doc)
		if err != nil {
			return err
		}
		for _, key := range values {
			if t.filter != nil {
				if kept, err := t.filter.keeps(key); !kept {
					if err != nil {
						return err
					}
					continue
				}
			}
			n, err := t.number(buckets[i], key)
			if err != nil {
				return err
			}
			t.counts[n]++
			if err := t.within.add(doc, n); err != nil {
				return err
			}
		}
	}
	return nil
}

// whole counts ordinals without visiting documents one by one.
func (t *terms) whole(segment int, words []uint64) (bool, error) {
	if t.keys.lexicon == nil || len(t.within.children) > 0 {
		return false, nil
	}
	if t.e.index.Counts != nil {
		if c := t.e.index.Counts(segment, t.keys.field.Name); c != nil {
			return true, t.addOrdinals(c.Counts, c.Missing)
		}
	}
	if t.keys.column == nil {
		return len(t.keys.missing) == 0, nil
	}
	n := t.keys.column.NumTerms()
	if err := t.e.budget.take(t.Request, 4*max(0, n-cap(t.ords))); err != nil {
		return false, err
	}
	t.ords = slices.Grow(t.ords[:0], n)[:n]
	clear(t.ords)
	missing, err := t.keys.column.CountOrdinals(words, t.ords)
	if err != nil {
		return false, t.wrap(err)
	}
	return true, t.addOrdinals(t.ords, int64(missing))
}

// addOrdinals adds the counts of a segment's ordinals, of which there are none without a column, and of the documents
// without a value.
func (t *terms) addOrdinals(counts []uint32, missing int64) error {
	single := t.filter == nil && t.keys.lexicon.single >= 0 // numbers are ordinals
	if single && t.keys.column != nil && t.only == nil && (missing == 0 || len(t.keys.missing) == 0) {
		t.only = counts
		return nil
	}
	if t.keys.column != nil {
		if err := t.reserve(); err != nil {
			return err
		}
	}
	if single && len(counts) <= len(t.ofKeys) {
		for ord, count := range counts {
			t.ofKeys[ord] += int64(count)
		}
		counts = nil
	}
	for ord, count := range counts {
		if count == 0 {
			continue
		}
		key, err := t.keys.lexicon.number(int64(ord))
		if err != nil {
			return err
		}
		if err := t.addWhole(key, int64(count)); err != nil {
			return err
		}
	}
	if missing > 0 && len(t.keys.missing) > 0 {
		return t.addWhole(t.keys.missing[0], missing)
	}
	return nil
}

// reserve makes room for the numbers of a segment's ordinals in ofKeys.
func (t *terms) reserve() error {
	l := t.keys.lexicon
	n := l.column.NumTerms()
	if l.single < 0 {
		n += len(l.terms)
	}
	if err := t.e.budget.take(t.Request, 8*max(0, n-len(t.ofKeys))); err != nil {
		return err
	}
	t.ofKeys = append(t.ofKeys, make([]int64, max(0, n-len(t.ofKeys)))...)
	return nil
}

// tabulate moves only and ofKeys to the table.
func (t *terms) tabulate() error {
	for key, count := range t.only {
		if count == 0 {
			continue
		}
		n, err := t.number(topBucket, int64(key))
		if err != nil {
			return err
		}
		t.counts[n] += int64(count)
	}
	t.only = nil
	for key, count := range t.ofKeys {
		if count == 0 {
			continue
		}
		n, err := t.number(topBucket, int64(key))
		if err != nil {
			return err
		}
		t.counts[n] += count
	}
	t.ofKeys = nil
	return nil
}

func (t *terms) addWhole(key, count int64) error {
	if kept, err := t.filter.keeps(key); !kept {
		return err
	}
	if key >= 0 && key < int64(len(t.ofKeys)) {
		t.ofKeys[key] += count
		return nil
	}
	n, err := t.number(topBucket, key)
	if err == nil {
		t.counts[n] += count
	}
	return err
}

func (t *terms) end() error { return t.within.end() }

func (t *terms) finish() error {
	t.table.group()
	return t.within.finish()
}

func (t *terms) build(bucket uint32) (*Result, error) {
	out := newResult(t.Request)
	list, total, err := t.candidates(bucket)
	if err != nil {
		return nil, err
	}
	out.keyType = t.keys.typeName()
	list = t.order.best(list, t.size, &t.within, t.keys.compare)
	out.SumOther = total
	out.Buckets = make([]Bucket, len(list))
	if err := t.e.budget.answer(t.Request, len(list)); err != nil {
		return nil, err
	}
	for i, c := range list {
		b := &out.Buckets[i]
		b.DocCount, b.bound = c.count, t.showErrors
		out.SumOther -= c.count
		if err := t.keys.write(b, c.key); err != nil {
			return nil, err
		}
		if b.Aggs, err = t.within.build(c.number); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// candidatesOf are candidates if all buckets are in counts, by key. Of those that come after enough others, it leaves
// out most.
func candidatesOf[N uint32 | int64](t *terms, counts []N) (list []candidate, total int64) {
	least := t.minCount
	if len(t.order) == 1 && t.order[0].by == byCount && t.order[0].desc && t.size < len(counts) {
		best := new(topk.Queue)
		best.Reset(t.size)
		enough := base.Score(max(least, 1))
		need := enough
		for key, count := range counts {
			total += int64(count)
			if base.Score(count) >= need {
				best.Add(base.Hit{DocID: base.DocID(key), Score: base.Score(count)})
				need = max(best.Need(), enough)
			}
		}
		if t.keys.lexicon.single >= 0 { // keys are in the order of their terms, so that ties are resolved
			list = make([]candidate, 0, best.Len())
			for _, h := range best.AppendSorted(nil) {
				list = append(list, candidate{number: noBucket, key: int64(h.DocID), count: int64(h.Score)})
			}
			return list, total
		}
		least, total = max(least, int64(need-1)), 0
	}
	n := 0
	for _, count := range counts {
		total += int64(count)
		if int64(count) >= least {
			n++
		}
	}
	list = make([]candidate, 0, n)
	for key, count := range counts {
		if int64(count) >= least {
			list = append(list, candidate{number: noBucket, key: int64(key), count: int64(count)})
		}
	}
	return list, total
}

// candidates returns the buckets with enough documents, and the sum of all counts.
func (t *terms) candidates(parent uint32) (list []candidate, total int64, err error) {
	if parent == topBucket && len(t.ofKeys)+len(t.only) > 0 {
		switch of := len(t.table.keys) == 0 && t.all == nil; {
		case of && len(t.ofKeys) == 0:
			list, total = candidatesOf(t, t.only)
			return list, total, nil
		case of && len(t.only) == 0:
			list, total = candidatesOf(t, t.ofKeys)
			return list, total, nil
		}
		if err := t.tabulate(); err != nil {
			return nil, 0, err
		}
		t.table.group()
	}
	for _, n := range t.table.of(parent) {
		total += t.counts[n]
		if t.counts[n] >= t.minCount {
			list = append(list, candidate{number: n, key: t.table.keys[n], count: t.counts[n]})
		}
	}
	for key := range t.all {
		kept, err := t.filter.keeps(key)
		if err != nil {
			return nil, 0, err
		}
		if kept && t.table.find(parent, key) == noBucket {
			list = append(list, candidate{number: noBucket, key: key})
		}
	}
	return list, total, nil
}
