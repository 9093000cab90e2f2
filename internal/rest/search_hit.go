package rest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/griffin-search/griffin"
)

// hitWriter writes the hits of a search. The first error stays.
type hitWriter struct {
	ctx     context.Context
	x       *Index
	request *searchRequest
	query   griffin.Query
	err     error

	tops map[string]*searchRequest // of top_hits and inner_hits, by their options
}

// append appends a hit. Its text is read again if it is not part of the hit.
func (w *hitWriter) append(dst []byte, hit *griffin.Hit) []byte {
	var source []byte
	if w.query.Load == griffin.LoadFields && w.err == nil {
		var err error
		if source, err = w.x.sourceOfHit(w.ctx, hit); err != nil {
			w.err = err
		}
	}
	return w.appendWith(dst, hit, source)
}

// appendTop appends a hit of a top_hits or of inner_hits, with its own options.
func (w *hitWriter) appendTop(dst []byte, hit *griffin.Hit, options json.RawMessage) []byte {
	own := w.tops[string(options)]
	if own == nil {
		var err *Error
		if own, err = w.x.parseHits(options); err != nil {
			if w.err == nil {
				w.err = err
			}
			return dst
		}
		if w.tops == nil {
			w.tops = map[string]*searchRequest{}
		}
		w.tops[string(options)] = own
	}
	top := hitWriter{ctx: w.ctx, x: w.x, request: own, query: w.query}
	top.query.Load = griffin.LoadFields
	dst = top.append(dst, hit)
	if w.err == nil {
		w.err = top.err
	}
	return dst
}

// appendWith appends a hit with the JSON of its document, nil if it was not loaded.
func (w *hitWriter) appendWith(dst []byte, hit *griffin.Hit, source []byte) []byte {
	s := w.request
	dst = appendString(append(dst, `{"_index":`...), w.x.name)
	dst = appendString(append(dst, `,"_id":`...), hit.ID)
	if s.parts.version || s.parts.seqNo {
		dst = w.x.appendVersion(dst, s, hit)
	}
	dst = append(dst, `,"_score":`...)
	if hit.NoScore {
		dst = append(dst, "null"...)
	} else {
		dst = appendScore(dst, hit.Score)
	}
	if source != nil && !s.source.none {
		dst = append(append(dst, `,"_source":`...), s.source.apply(source)...)
	}
	if len(s.fields) > 0 || hit.Group != nil {
		dst = append(dst, `,"fields":`...)
		dst = w.appendFields(dst, hit, source)
	}
	if len(hit.Highlights) > 0 && s.highlight != nil {
		dst = append(dst, `,"highlight":`...)
		dst = s.highlight.append(dst, hit.Highlights)
	}
	if hit.InnerHits != nil {
		dst = hit.AppendInnerHits(append(dst, `,"inner_hits":`...), w.appendTop)
	}
	if hit.Sort != nil {
		dst = append(append(dst, `,"sort":`...), hit.Sort...)
	}
	if s.parts.explain {
		dst = w.appendExplanation(dst, hit)
	}
	return append(dst, '}')
}

// appendVersion appends the version and the number of the write that made the document.
func (x *Index) appendVersion(dst []byte, s *searchRequest, hit *griffin.Hit) []byte {
	if s.parts.version {
		dst = strconv.AppendUint(append(dst, `,"_version":`...), hit.Version, 10)
	}
	if s.parts.seqNo {
		dst = x.appendNumbers(dst, hit.SeqNo)
	}
	return dst
}

// sourceOfHit reads the document again if its text is not part of the hit.
func (x *Index) sourceOfHit(ctx context.Context, hit *griffin.Hit) ([]byte, error) {
	for _, f := range hit.Fields {
		if f.Name == sourceField {
			return []byte(f.Value), nil
		}
	}
	doc, err := x.ix.Document(ctx, hit.ID)
	if errors.Is(err, griffin.ErrNotFound) { // deleted since
		return sourceOf(hit.Title, "", hit.Fields), nil
	}
	return sourceOf(doc.Title, doc.Text, doc.Fields), err
}

func (w *hitWriter) appendExplanation(dst []byte, hit *griffin.Hit) []byte {
	e, err := w.x.ix.Explain(w.ctx, griffin.Query{Node: w.query.Node, Mode: w.query.Mode, K: w.query.K}, hit.ID)
	if err != nil {
		if !errors.Is(err, griffin.ErrNotFound) && w.err == nil { // deleted since
			w.err = err
		}
		return dst
	}
	dst = append(dst, `,"_explanation":{"value":`...)
	dst = append(appendScore(dst, e.Score), `,"description":"sum of:","details":[`...)
	first := true
	for i := range e.Parts {
		p := &e.Parts[i]
		if p.Excluded {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(dst, `{"value":`...)
		dst = append(appendScore(dst, p.Contribution), `,"description":`...)
		dst = append(appendString(dst, describe(p)), `,"details":[`...)
		dst = append(appendFunctions(dst, p.Functions), "]}"...)
	}
	return append(dst, "]}"...)
}

// appendFunctions appends the functions that apply to the document.
func appendFunctions(dst []byte, functions []griffin.FunctionValue) []byte {
	first := true
	for _, f := range functions {
		if !f.Applies {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(appendScore(append(dst, `{"value":`...), min(f.Value, math.MaxFloat64)), `,"description":`...)
		dst = append(appendString(dst, f.Function), `,"details":[]}`...)
	}
	return dst
}

// describe is the formula of a part with its numbers.
func describe(p *griffin.ExplanationPart) string {
	if p.Query != "" {
		return p.Query
	}
	name := ""
	for i, t := range p.Terms {
		if i > 0 {
			name += " "
		}
		name += t
	}
	if p.Field != "" {
		name = p.Field + ":" + name
	}
	length := strconv.FormatUint(uint64(p.Length), 10)
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }
	freq := float64(p.Freq)
	if p.SloppyFreq > 0 {
		freq = p.SloppyFreq
	}
	if len(p.Combined) > 0 {
		var fields []string
		for _, f := range p.Combined {
			fields = append(fields, cmp.Or(f.Field, "*")+"^"+number(f.Weight))
		}
		name, length = strings.Join(fields, " ")+":"+name, number(p.CombinedLength)
	}
	if p.Scale != 0 {
		return "weight(" + name + "), boost " + number(p.Boost) + " * weight " + number(freq/p.Scale)
	}
	return "weight(" + name + "), computed as idf " + number(p.IDF) + " * boost " + number(p.Boost) + " * freq / (freq + k1 * (1 - b + b * length / average)), freq " +
		number(freq) + ", length " + length + ", average " + number(p.AvgLength) +
		", k1 " + number(float64(p.K1)) + ", b " + number(float64(p.B))
}
