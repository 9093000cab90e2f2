package aggregate

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// Result is the answer to an aggregation.
type Result struct {
	Name, Type string
	Meta       json.RawMessage
	// DocCount is the number of documents of an aggregation with one bucket (filter, missing, global)
	// and of the foreground of significant_terms; -1: it has none.
	DocCount int64
	// Background is the number of documents that significant_terms compares with.
	Background int64
	// SumOther is the number of documents in buckets of terms that the answer leaves out; a document
	// counts once for each. -1: it has none.
	SumOther int64
	// Interval is the chosen one of auto_date_histogram.
	Interval string
	// After is the JSON of the last key of composite.
	After []byte
	// Buckets are in order; nil: the aggregation has no list of buckets.
	Buckets []Bucket
	// Keyed writes the buckets as an object.
	Keyed bool
	// Values are the numbers of a metric.
	Values []Value
	// Hits is set for top_hits.
	Hits *Hits
	// Aggs are within the one bucket.
	Aggs []*Result

	keyType string // of terms and significant_terms: that of their keys
	list    bool   // Values are a list "values" of keys and values
	values  bool   // Values are an object "values"
}

// typeName is the type of an answer, as OpenSearch names it.
func (r *Result) typeName() string {
	switch r.Type {
	case "terms":
		return r.keyType + "terms"
	case "significant_terms":
		return "sig" + r.keyType + "terms"
	case "percentiles", "percentile_ranks":
		return "tdigest_" + r.Type
	}
	return r.Type
}

// Bucket is one of several of a Result.
type Bucket struct {
	// Text is the key for people: the term, the date, "10.0-20.0".
	Text     string
	DocCount int64
	// Values are its bounds or score.
	Values []Value
	Aggs   []*Result

	key     []byte // JSON; nil: it has none
	hasText bool   // Text is written as key_as_string
	bound   bool   // it has a key_as_string and doc_count_error_upper_bound
}

// KeyJSON returns the key as JSON; nil if there is none (of anonymous filters).
func (b *Bucket) KeyJSON() []byte { return b.key }

// Value is a number of a Result or a Bucket.
type Value struct {
	Name string
	// Value is meaningless if None is set.
	Value float64
	// None: there is no such number, as the minimum of nothing.
	None bool
	// Text is the number for people; "" if it has no such form.
	Text string
	// Whole is written as an integer.
	Whole bool
}

func newResult(r *Request) *Result {
	return &Result{Name: r.Name, Type: r.Type, Meta: r.Meta, DocCount: -1, SumOther: -1}
}

// HitsWriter appends the value of "hits" of a top_hits.
type HitsWriter func(dst []byte, h *Hits) []byte

// AppendJSON appends an object of answers, as OpenSearch writes them.
//
// typed puts the type of each answer before its name, with "#", as for the parameter typed_keys.
func AppendJSON(dst []byte, results []*Result, typed bool, hits HitsWriter) []byte {
	w := writer{dst: dst, typed: typed, hits: hits}
	w.dst = append(w.dst, '{')
	w.results(results)
	return append(w.dst, '}')
}

type writer struct {
	dst   []byte
	typed bool
	hits  HitsWriter
}

// name begins a member of an object.
func (w *writer) name(name string) {
	if last := w.dst[len(w.dst)-1]; last != '{' {
		w.dst = append(w.dst, ',')
	}
	w.dst = append(appendString(w.dst, name), ':')
}

func (w *writer) integer(name string, v int64) {
	w.name(name)
	w.dst = strconv.AppendInt(w.dst, v, 10)
}

func (w *writer) text(name, v string) {
	w.name(name)
	w.dst = appendString(w.dst, v)
}

func (w *writer) raw(name string, v []byte) {
	w.name(name)
	w.dst = append(w.dst, v...)
}

func (w *writer) results(list []*Result) {
	for _, r := range list {
		name := r.Name
		if w.typed {
			name = r.typeName() + "#" + name
		}
		w.name(name)
		w.dst = append(w.dst, '{')
		w.result(r)
		w.dst = append(w.dst, '}')
	}
}

func (w *writer) result(r *Result) {
	if r.Meta != nil {
		w.raw("meta", r.Meta)
	}
	if r.DocCount >= 0 {
		w.integer("doc_count", r.DocCount)
	}
	if r.Type == "significant_terms" {
		w.integer("bg_count", r.Background)
	}
	if r.SumOther >= 0 {
		w.integer("doc_count_error_upper_bound", 0)
		w.integer("sum_other_doc_count", r.SumOther)
	}
	if r.After != nil {
		w.raw("after_key", r.After)
	}
	if r.Buckets != nil {
		w.buckets(r)
	}
	if r.Interval != "" {
		w.text("interval", r.Interval)
	}
	w.metric(r)
	if r.Hits != nil {
		w.name("hits")
		w.dst = w.hits(w.dst, r.Hits)
	}
	w.results(r.Aggs)
}

func (w *writer) buckets(r *Result) {
	w.name("buckets")
	if r.Keyed {
		w.dst = append(w.dst, '{')
	} else {
		w.dst = append(w.dst, '[')
	}
	for i := range r.Buckets {
		b := &r.Buckets[i]
		if r.Keyed {
			w.name(b.Text)
		} else if i > 0 {
			w.dst = append(w.dst, ',')
		}
		w.dst = append(w.dst, '{')
		w.bucket(r, b)
		w.dst = append(w.dst, '}')
	}
	if r.Keyed {
		w.dst = append(w.dst, '}')
	} else {
		w.dst = append(w.dst, ']')
	}
}

func (w *writer) bucket(r *Result, b *Bucket) {
	if b.hasText {
		w.text("key_as_string", b.Text)
	}
	isRange := r.Type == "range" || r.Type == "date_range"
	if b.key != nil && (!r.Keyed || !isRange) {
		w.raw("key", b.key)
	}
	for _, v := range b.Values {
		if v.None {
			continue
		}
		w.value(v)
	}
	if b.bound {
		w.integer("doc_count_error_upper_bound", 0)
	}
	w.integer("doc_count", b.DocCount)
	w.results(b.Aggs)
}

func (w *writer) metric(r *Result) {
	switch {
	case r.list:
		w.name("values")
		w.dst = append(w.dst, '[')
		for i, v := range r.Values {
			if i > 0 {
				w.dst = append(w.dst, ',')
			}
			w.dst = append(w.dst, '{')
			w.name("key")
			w.dst = append(w.dst, v.Name...)
			w.value(Value{Name: "value", Value: v.Value, None: v.None, Text: v.Text})
			w.dst = append(w.dst, '}')
		}
		w.dst = append(w.dst, ']')
	case r.values:
		w.name("values")
		w.dst = append(w.dst, '{')
		w.members(r.Values)
		w.dst = append(w.dst, '}')
	default:
		w.members(r.Values)
	}
}

// members writes values; names with a dot, which follow each other, are members of an object.
func (w *writer) members(values []Value) {
	object := ""
	for _, v := range values {
		outer, inner, nested := strings.Cut(v.Name, "/")
		if object != "" && outer != object {
			w.dst = append(w.dst, '}')
			object = ""
		}
		if nested {
			if object == "" {
				w.name(outer)
				w.dst = append(w.dst, '{')
				object = outer
			}
			v.Name = inner
		}
		w.value(v)
	}
	if object != "" {
		w.dst = append(w.dst, '}')
	}
}

func (w *writer) value(v Value) {
	w.name(v.Name)
	switch {
	case v.None:
		w.dst = append(w.dst, "null"...)
	case v.Whole:
		w.dst = strconv.AppendInt(w.dst, int64(v.Value), 10)
	default:
		w.dst = appendFloat(w.dst, v.Value)
	}
	if v.Text != "" && !v.None {
		w.text(v.Name+"_as_string", v.Text)
	}
}

// appendFloat appends a number with a point, null for what JSON cannot write.
func appendFloat(dst []byte, v float64) []byte {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return append(dst, "null"...)
	}
	format := byte('f')
	if a := math.Abs(v); a != 0 && (a < 1e-6 || a >= 1e21) {
		format = 'e'
	}
	from := len(dst)
	dst = strconv.AppendFloat(dst, v, format, -1, 64)
	if !strings.ContainsAny(string(dst[from:]), ".e") {
		dst = append(dst, ".0"...)
	}
	return dst
}
