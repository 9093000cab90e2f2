package aggregate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/griffin-search/griffin/internal/mapping"
)

// oracle computes aggregations by plain loops over documents. Answers are what encoding/json makes of the
// JSON of an answer.
type oracle struct {
	m    *mapping.Mapping
	docs []*testDoc // all live ones
}

type object = map[string]any

func (o *oracle) answer(aggs object, docs []*testDoc) object {
	out := object{}
	for name, a := range aggs {
		request := a.(object)
		within, _ := request["aggs"].(object)
		for kind, params := range request {
			if kind != "aggs" {
				out[name] = o.one(kind, params.(object), within, docs)
			}
		}
	}
	return out
}

// value is a value of a document.
type value struct {
	key    any     // as in JSON
	text   string  // key_as_string, or the key's text
	number float64 // of numbers
	isTerm bool
	asText bool
}

func (v value) compare(w value) int {
	if v.isTerm {
		return cmp.Compare(v.text, w.text)
	}
	return cmp.Compare(v.number, w.number)
}

// sortKey of an ip is not its text.
func (o *oracle) compare(field string, v, w value) int {
	if f, _ := o.m.Field(field); f.Type == mapping.IP {
		a, _, _ := f.Bytes(v.text)
		b, _, _ := f.Bytes(w.text)
		return cmp.Compare(string(a), string(b))
	}
	return v.compare(w)
}

// values of a document, sorted, numbers with duplicates.
func (o *oracle) values(d *testDoc, field string, missing any) []value {
	f, _ := o.m.Field(field)
	texts := slices.Clone(d.values[field])
	if len(texts) == 0 && missing != nil {
		texts = []string{fmt.Sprint(missing)}
	}
	var out []value
	for _, text := range texts {
		v := value{text: text, key: text, isTerm: true}
		if f.HasNumbers() {
			n, _ := f.Number(text)
			v = value{number: f.Type.Float64(n), text: string(f.AppendNumber(nil, n))}
			v.key = v.number
			v.asText = f.Type == mapping.Date || f.Type == mapping.Boolean
		}
		out = append(out, v)
	}
	slices.SortFunc(out, func(a, b value) int { return o.compare(field, a, b) })
	return out
}

func (o *oracle) distinct(d *testDoc, field string, missing any) []value {
	return slices.CompactFunc(o.values(d, field, missing), func(a, b value) bool { return o.compare(field, a, b) == 0 })
}

// bucket is a bucket with its documents.
type bucket struct {
	value
	values []value // of several fields
	docs   []*testDoc
}

func (o *oracle) one(kind string, p, within object, docs []*testDoc) object {
	field, _ := p["field"].(string)
	switch kind {
	case "terms", "multi_terms":
		return o.terms(kind, p, within, docs)
	case "histogram":
		return o.histogram(p, within, docs)
	case "date_histogram":
		return o.dateHistogram(p, within, docs)
	case "range":
		return o.ranges(p, within, docs)
	case "filter", "missing", "global":
		keep := func(d *testDoc) bool { return len(d.values[field]) == 0 }
		switch kind {
		case "global":
			docs, keep = o.docs, func(*testDoc) bool { return true }
		case "filter":
			raw, _ := json.Marshal(p)
			keep, _ = testQuery(raw)
		}
		docs = kept(docs, keep)
		out := o.answer(within, docs)
		out["doc_count"] = float64(len(docs))
		return out
	case "filters":
		buckets := object{}
		other := docs
		for name, q := range p["filters"].(object) {
			raw, _ := json.Marshal(q)
			keep, _ := testQuery(raw)
			buckets[name] = o.withCount(within, kept(docs, keep))
			other = kept(other, func(d *testDoc) bool { return !keep(d) })
		}
		if key, ok := p["other_bucket_key"].(string); ok {
			buckets[key] = o.withCount(within, other)
		}
		return object{"buckets": buckets}
	case "cardinality":
		seen := map[string]bool{}
		for _, d := range docs {
			for _, v := range o.values(d, field, p["missing"]) {
				seen[v.text] = true
			}
		}
		return object{"value": float64(len(seen))}
	case "value_count":
		n := 0
		for _, d := range docs {
			f, _ := o.m.Field(field)
			if f.HasOrdinals() {
				n += len(o.distinct(d, field, p["missing"]))
			} else {
				n += len(o.values(d, field, p["missing"]))
			}
		}
		return object{"value": float64(n)}
	}
	return o.metric(kind, field, p, docs)
}

func kept(docs []*testDoc, keep func(d *testDoc) bool) (out []*testDoc) {
	for _, d := range docs {
		if keep(d) {
			out = append(out, d)
		}
	}
	return out
}

func (o *oracle) withCount(within object, docs []*testDoc) object {
	out := o.answer(within, docs)
	out["doc_count"] = float64(len(docs))
	return out
}

func (o *oracle) metric(kind, field string, p object, docs []*testDoc) object {
	var list []float64
	for _, d := range docs {
		for _, v := range o.values(d, field, p["missing"]) {
			list = append(list, v.number)
		}
	}
	slices.Sort(list)
	sum, squares := exactly(list, func(f float64) float64 { return f }), exactly(list, func(f float64) float64 { return f * f })
	n := float64(len(list))
	all := object{"count": n, "sum": sum, "min": nil, "max": nil, "avg": nil}
	if n > 0 {
		all["min"], all["max"], all["avg"] = list[0], list[len(list)-1], sum/n
	}
	f, _ := o.m.Field(field)
	if f.Type == mapping.Date || f.Type == mapping.Boolean {
		for name, v := range maps.Clone(all) {
			if v, ok := v.(float64); ok && name != "count" {
				all[name+"_as_string"] = string(f.AppendNumber(nil, int64(v)))
			}
		}
	}
	switch kind {
	case "stats":
		return all
	case "extended_stats":
		return extended(all, list, sum, squares, f)
	case "percentiles":
		values := object{}
		for _, percent := range p["percents"].([]any) {
			v := any(nil)
			if n > 0 {
				at := max(min(float64(percent.(float64)/100*n)-0.5, n-1), 0)
				low := math.Floor(at)
				x := list[int(low)]
				if at > low {
					x += float64((at - low) * (list[int(low)+1] - x))
				}
				v = x
			}
			name := string(appendFloat(nil, percent.(float64)))
			values[name] = v
			if x, ok := v.(float64); ok && (f.Type == mapping.Date || f.Type == mapping.Boolean) {
				values[name+"_as_string"] = string(f.AppendNumber(nil, int64(x)))
			}
		}
		return object{"values": values}
	}
	out := object{"value": all[kind]}
	if text, ok := all[kind+"_as_string"]; ok {
		out["value_as_string"] = text
	}
	return out
}

func extended(all object, list []float64, sum, squares float64, f *mapping.Field) object {
	n := float64(len(list))
	number := func(v float64) any {
		if math.IsNaN(v) {
			return nil
		}
		return v
	}
	population, sampling := math.NaN(), math.NaN()
	if n > 0 {
		d := max(squares-sum*sum/n, 0)
		population = d / n
		if n > 1 {
			sampling = d / (n - 1)
		}
	} else {
		squares = math.NaN()
	}
	avg := math.NaN()
	if n > 0 {
		avg = sum / n
	}
	flat := map[string]float64{
		"sum_of_squares": squares, "variance": population, "variance_population": population, "variance_sampling": sampling,
		"std_deviation": math.Sqrt(population), "std_deviation_population": math.Sqrt(population), "std_deviation_sampling": math.Sqrt(sampling),
	}
	bounds := map[string]float64{}
	for suffix, v := range map[string]float64{"": population, "_population": population, "_sampling": sampling} {
		bounds["upper"+suffix], bounds["lower"+suffix] = avg+2*math.Sqrt(v), avg-2*math.Sqrt(v)
	}
	put := func(to object, from map[string]float64) object {
		for name, v := range from {
			to[name] = number(v)
			if (f.Type == mapping.Date || f.Type == mapping.Boolean) && math.Abs(v) < 1<<62 {
				to[name+"_as_string"] = string(f.AppendNumber(nil, int64(v)))
			}
		}
		return to
	}
	all = put(all, flat)
	all["std_deviation_bounds"] = put(object{}, bounds)
	return all
}

func exactly(list []float64, f func(float64) float64) float64 {
	sum := new(big.Rat)
	for _, v := range list {
		sum.Add(sum, new(big.Rat).SetFloat64(f(v)))
	}
	v, _ := sum.Float64()
	return v
}

func (o *oracle) terms(kind string, p, within object, docs []*testDoc) object {
	var sources []object
	if kind == "multi_terms" {
		for _, s := range p["terms"].([]any) {
			sources = append(sources, s.(object))
		}
	} else {
		sources = []object{p}
	}
	byKey := map[string]*bucket{}
	for _, d := range docs {
		tuples := [][]value{nil}
		for _, s := range sources {
			var next [][]value
			for _, t := range tuples {
				for _, v := range o.distinct(d, s["field"].(string), s["missing"]) {
					next = append(next, append(slices.Clone(t), v))
				}
			}
			tuples = next
		}
		for _, t := range tuples {
			key := tupleKey(t)
			if byKey[key] == nil {
				byKey[key] = &bucket{values: t}
			}
			byKey[key].docs = append(byKey[key].docs, d)
		}
	}
	least := 1.0
	if n, ok := p["min_doc_count"].(float64); ok {
		least = n
	}
	total := 0
	var list []*bucket
	if least == 0 {
		for _, d := range o.docs {
			for _, v := range o.distinct(d, p["field"].(string), p["missing"]) {
				key := tupleKey([]value{v})
				if byKey[key] == nil {
					byKey[key] = &bucket{values: []value{v}}
				}
			}
		}
	}
	for _, b := range byKey {
		text := b.values[0].text
		if exclude, ok := p["exclude"].(string); ok && strings.HasPrefix(text, strings.TrimSuffix(exclude, ".*")) {
			continue
		}
		if include, ok := p["include"].([]any); ok && !slices.Contains(include, any(text)) {
			continue
		}
		total += len(b.docs)
		if float64(len(b.docs)) >= least {
			list = append(list, b)
		}
	}
	byKeys := func(a, b *bucket) int {
		for i, s := range sources {
			if c := o.compare(s["field"].(string), a.values[i], b.values[i]); c != 0 {
				return c
			}
		}
		return 0
	}
	o.sort(list, p["order"], within, object{"_count": "desc"}, byKeys)
	list = list[:min(len(list), int(p["size"].(float64)))]
	buckets := []any{}
	for _, b := range list {
		total -= len(b.docs)
		one := o.withCount(within, b.docs)
		if kind == "terms" {
			v := b.values[0]
			one["key"] = v.key
			if v.asText {
				one["key_as_string"] = v.text
			}
		} else {
			var keys []any
			var texts []string
			for _, v := range b.values {
				f, _ := o.m.Field(sources[len(texts)]["field"].(string))
				switch {
				case f.Type == mapping.Boolean:
					keys = append(keys, v.text == "true")
				case v.asText:
					keys = append(keys, v.text)
				default:
					keys = append(keys, v.key)
				}
				texts = append(texts, v.text)
				if !v.isTerm && !v.asText {
					raw := appendFloat(nil, v.number)
					if f.Type == mapping.Long {
						raw = fmt.Append(nil, int64(v.number))
					}
					texts[len(texts)-1] = string(raw)
				}
			}
			one["key"], one["key_as_string"] = keys, strings.Join(texts, "|")
		}
		buckets = append(buckets, one)
	}
	return object{"doc_count_error_upper_bound": 0.0, "sum_other_doc_count": float64(total), "buckets": buckets}
}

func tupleKey(t []value) (key string) {
	for _, v := range t {
		key += fmt.Sprintf("%q ", v.text)
	}
	return key
}

// sort sorts by one key of "order", then by keys.
func (o *oracle) sort(list []*bucket, by any, within, otherwise object, byKeys func(a, b *bucket) int) {
	order, ok := by.(object)
	if !ok {
		order = otherwise
	}
	for name, direction := range order {
		sign := 1
		if direction == "desc" {
			sign = -1
		}
		number := map[*bucket]any{}
		if name != "_count" && name != "_key" {
			for _, b := range list {
				at, part, _ := strings.Cut(name, ".")
				if part == "" {
					part = "value"
				}
				number[b] = o.answer(within, b.docs)[at].(object)[part]
			}
		}
		slices.SortFunc(list, func(a, b *bucket) int {
			c := 0
			switch name {
			case "_count":
				c = sign * cmp.Compare(len(a.docs), len(b.docs))
			case "_key":
				c = sign * byKeys(a, b)
			default:
				x, hasX := number[a].(float64)
				y, hasY := number[b].(float64)
				switch {
				case hasX && hasY:
					c = sign * cmp.Compare(x, y)
				case hasX:
					c = -1
				case hasY:
					c = 1
				}
			}
			return cmp.Or(c, byKeys(a, b))
		})
	}
}

func (o *oracle) histogram(p, within object, docs []*testDoc) object {
	interval, offset := p["interval"].(float64), 0.0
	if v, ok := p["offset"].(float64); ok {
		offset = v
	}
	byKey := map[float64]*bucket{}
	for _, d := range docs {
		seen := map[float64]bool{}
		for _, v := range o.values(d, p["field"].(string), p["missing"]) {
			n := math.Floor((v.number - offset) / interval)
			if seen[n] {
				continue
			}
			seen[n] = true
			if byKey[n] == nil {
				byKey[n] = &bucket{value: value{number: n*interval + offset}}
			}
			byKey[n].docs = append(byKey[n].docs, d)
		}
	}
	if p["min_doc_count"].(float64) == 0 && len(byKey) > 0 {
		keys := slices.Collect(maps.Keys(byKey))
		for n := slices.Min(keys); n < slices.Max(keys); n++ {
			if byKey[n] == nil {
				byKey[n] = &bucket{value: value{number: n*interval + offset}}
			}
		}
	}
	return o.intervals(byKey, p, within, func(b *bucket, one object) { one["key"] = b.number })
}

func (o *oracle) intervals(byKey map[float64]*bucket, p, within object, write func(b *bucket, one object)) object {
	var list []*bucket
	for _, b := range byKey {
		if float64(len(b.docs)) >= p["min_doc_count"].(float64) {
			list = append(list, b)
		}
	}
	o.sort(list, p["order"], within, object{"_key": "asc"}, func(a, b *bucket) int { return cmp.Compare(a.number, b.number) })
	buckets := []any{}
	for _, b := range list {
		one := o.withCount(within, b.docs)
		write(b, one)
		buckets = append(buckets, one)
	}
	return object{"buckets": buckets}
}

// dateHistogram steps through the calendar day by day.
func (o *oracle) dateHistogram(p, within object, docs []*testDoc) object {
	zone := time.UTC
	if name, ok := p["time_zone"].(string); ok {
		zone, _ = mapping.ParseZone(name)
	}
	var floor, next func(t time.Time) time.Time
	switch p["calendar_interval"] {
	case "year":
		floor = func(t time.Time) time.Time { return time.Date(t.Year(), 1, 1, 0, 0, 0, 0, zone) }
		next = func(t time.Time) time.Time { return t.AddDate(1, 0, 0) }
	case "month":
		floor = func(t time.Time) time.Time { return time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, zone) }
		next = func(t time.Time) time.Time { return t.AddDate(0, 1, 0) }
	case "day":
		floor = func(t time.Time) time.Time { return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, zone) }
		next = func(t time.Time) time.Time { return t.AddDate(0, 0, 1) }
	default:
		d, _ := time.ParseDuration(p["fixed_interval"].(string))
		floor = func(t time.Time) time.Time {
			return time.UnixMilli(t.UnixMilli() / d.Milliseconds() * d.Milliseconds()).In(zone)
		}
		next = func(t time.Time) time.Time { return t.Add(d) }
	}
	byKey := map[float64]*bucket{}
	add := func(t time.Time) *bucket {
		n := float64(t.UnixMilli())
		if byKey[n] == nil {
			byKey[n] = &bucket{value: value{number: n}}
		}
		return byKey[n]
	}
	for _, d := range docs {
		seen := map[*bucket]bool{}
		for _, v := range o.values(d, p["field"].(string), p["missing"]) {
			b := add(floor(time.UnixMilli(int64(v.number)).In(zone)))
			if !seen[b] {
				seen[b] = true
				b.docs = append(b.docs, d)
			}
		}
	}
	if p["min_doc_count"].(float64) == 0 && len(byKey) > 0 {
		keys := slices.Collect(maps.Keys(byKey))
		for t := time.UnixMilli(int64(slices.Min(keys))).In(zone); float64(t.UnixMilli()) < slices.Max(keys); t = next(t) {
			add(t)
		}
	}
	return o.intervals(byKey, p, within, func(b *bucket, one object) {
		f, _ := o.m.Field(p["field"].(string))
		one["key"], one["key_as_string"] = b.number, string(f.AppendDate(nil, int64(b.number), zone))
	})
}

func (o *oracle) ranges(p, within object, docs []*testDoc) object {
	buckets := []any{}
	for _, r := range p["ranges"].([]any) {
		from, hasFrom := r.(object)["from"].(float64)
		to, hasTo := r.(object)["to"].(float64)
		in := kept(docs, func(d *testDoc) bool {
			return slices.ContainsFunc(o.values(d, p["field"].(string), p["missing"]), func(v value) bool {
				return (!hasFrom || v.number >= from) && (!hasTo || v.number < to)
			})
		})
		one := o.withCount(within, in)
		texts := []string{"*", "*"}
		if hasFrom {
			one["from"] = from
			texts[0] = string(appendFloat(nil, from))
		}
		if hasTo {
			one["to"] = to
			texts[1] = string(appendFloat(nil, to))
		}
		one["key"] = strings.Join(texts, "-")
		buckets = append(buckets, one)
	}
	slices.SortStableFunc(buckets, func(a, b any) int {
		bound := func(x any, name string, otherwise float64) float64 {
			if v, ok := x.(object)[name].(float64); ok {
				return v
			}
			return otherwise
		}
		return cmp.Or(cmp.Compare(bound(a, "from", math.Inf(-1)), bound(b, "from", math.Inf(-1))), cmp.Compare(bound(a, "to", math.Inf(1)), bound(b, "to", math.Inf(1))))
	})
	return object{"buckets": buckets}
}
