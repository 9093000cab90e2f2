package rest

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"
	"unicode/utf16"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/query"
)

// suggestRequests is the value of "suggest".
type suggestRequests struct {
	requests []suggestRequest
	only     bool // there is nothing to search
}

// suggestRequest is one of term, phrase and complete.
type suggestRequest struct {
	name, kind string
	term       *griffin.TermSuggest
	phrase     *griffin.PhraseSuggest
	complete   *griffin.Complete
	source     sourceFilter // of complete
}

// suggesters by name.
var suggesters = map[string]func(s *suggestRequest, x *Index, text string, raw json.RawMessage) *Error{
	"term": (*suggestRequest).parseTerm, "phrase": (*suggestRequest).parsePhrase, "completion": (*suggestRequest).parseCompletion,
}

func (s *searchRequest) parseSuggest(x *Index, _ string, raw json.RawMessage) *Error {
	o, bad := decodeObject(raw)
	if bad != nil || o == nil {
		return badRequest(typeParsing, "[suggest] is %.60s: want an object", raw)
	}
	text, err := suggestText(o, "")
	if err != nil {
		return err
	}
	delete(o, "text")
	s.suggest = &suggestRequests{}
	for _, name := range slices.Sorted(maps.Keys(o)) {
		one := suggestRequest{name: name}
		if err := one.parse(x, text, o[name]); err != nil {
			return err.at(o[name])
		}
		s.suggest.requests = append(s.suggest.requests, one)
	}
	return nil
}

// suggestText returns the text of an object.
func suggestText(o map[string]json.RawMessage, otherwise string) (string, *Error) {
	text := otherwise
	for _, key := range []string{"text", "prefix"} {
		if raw := o[key]; raw != nil {
			var ok bool
			if text, ok = scalarText(raw); !ok {
				return "", badRequest(typeParsing, "[suggest] has [%s] %.60s: want a text", key, raw).at(raw)
			}
		}
	}
	return text, nil
}

func (s *suggestRequest) parse(x *Index, text string, raw json.RawMessage) *Error {
	o, bad := decodeObject(raw)
	if bad != nil || o == nil {
		return badRequest(typeParsing, "[suggest] has [%s] %.60s: want an object", s.name, raw)
	}
	text, err := suggestText(o, text)
	if err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(o)) {
		parse := suggesters[key]
		switch {
		case key == "text", key == "prefix":
			continue
		case parse == nil:
			return badRequest(typeParsing, "suggester [%s] not supported: there are completion, phrase and term, with a text or prefix", key).at(o[key])
		case s.kind != "":
			return badRequest(typeParsing, "[suggest] has [%s] with [%s] and [%s]: want one suggester", s.name, s.kind, key).at(o[key])
		}
		s.kind = key
		if err := parse(s, x, text, o[key]); err != nil {
			return err.at(o[key])
		}
	}
	switch {
	case s.kind == "":
		return badRequest(typeParsing, "[suggest] has [%s] without a suggester: there are completion, phrase and term", s.name)
	case o["prefix"] != nil && s.kind != "completion":
		return badRequest(typeParsing, "[suggest] has [%s] with a [prefix], which is for completion: want [text]", s.name)
	case text == "" && s.kind != "completion":
		return illegal("The required text option is missing")
	}
	return nil
}

var termSuggestKeys = []string{"field", "suggest_mode", "size", "sort", "max_edits", "prefix_length", "min_word_length", "min_doc_freq", "max_term_freq", "string_distance"}

func termSuggest(x *Index, o *object) (t griffin.TermSuggest, err *Error) {
	if t.Field, err = x.field(o.needed("field")); err != nil && o.err == nil {
		return t, err
	}
	switch mode, _ := o.text("suggest_mode"); mode {
	case "", "missing":
	case "popular":
		t.Mode = griffin.SuggestPopular
	case "always":
		t.Mode = griffin.SuggestAlways
	default:
		o.refuse("suggest_mode", "[%s] query has [suggest_mode] %s: want missing, popular or always", o.of, mode)
	}
	switch order, _ := o.text("sort"); order {
	case "", "score":
	case "frequency":
		t.ByFrequency = true
	default:
		o.refuse("sort", "[%s] query has [sort] %s: want score or frequency", o.of, order)
	}
	switch distance, _ := o.text("string_distance"); distance {
	case "", "internal", "damerau_levenshtein":
	default:
		o.refuse("string_distance", "[%s] query has [string_distance] %s: only internal and damerau_levenshtein are supported", o.of, distance)
	}
	t.Size, t.MaxEdits, t.MinWordLength = o.suggestSize(), o.whole("max_edits", 2), o.whole("min_word_length", maxSuggestSize)
	t.MinDocFreq, t.MaxTermFreq = o.number("min_doc_freq", 0, 0, 1e18), o.number("max_term_freq", 0, 0, 1e18)
	t.PrefixLength = o.prefixLength()
	return t, o.err
}

const maxSuggestSize = 1000

// prefixLength returns -1 for 0, and 0 for the default.
func (o *object) prefixLength() int {
	n := o.whole("prefix_length", maxSuggestSize)
	if n == 0 && o.values["prefix_length"] != nil {
		return -1
	}
	return n
}

func (s *suggestRequest) parseTerm(x *Index, text string, raw json.RawMessage) *Error {
	o, err := options("term suggester", raw, termSuggestKeys...)
	if err != nil {
		return err
	}
	t, err := termSuggest(x, &o)
	t.Text = text
	s.term = &t
	return err
}

func (s *suggestRequest) parsePhrase(x *Index, text string, raw json.RawMessage) *Error {
	o, err := options("phrase suggester", raw, "field", "size", "max_errors", "confidence", "real_word_error_likelihood", "direct_generator", "highlight")
	if err != nil {
		return err
	}
	p := &griffin.PhraseSuggest{
		Size: o.suggestSize(), MaxErrors: o.number("max_errors", 0, 0, maxSuggestSize), Confidence: o.number("confidence", 0, 0, 1e9),
		Likelihood: o.number("real_word_error_likelihood", 0, 0, 1),
	}
	if p.Confidence == 0 && o.values["confidence"] != nil {
		p.Confidence = -1
	}
	field := o.needed("field")
	if raw := o.values["highlight"]; raw != nil {
		marks, err := options("highlight", raw, "pre_tag", "post_tag")
		if err != nil {
			return err
		}
		p.Before, p.After = marks.needed("pre_tag"), marks.needed("post_tag")
		if marks.err != nil {
			return marks.err
		}
	}
	if o.err != nil {
		return o.err
	}
	generator := o.values["direct_generator"]
	if generator == nil {
		generator = json.RawMessage(`[{"field":` + string(appendString(nil, field)) + `}]`)
	}
	list, ok := decodeList(generator)
	if !ok || len(list) != 1 {
		return badRequest(typeParsing, "[phrase suggester] query has [direct_generator] %.60s: want a list of one, of the same field", generator).at(generator)
	}
	g, err := options("direct_generator", list[0], termSuggestKeys...)
	if err != nil {
		return err
	}
	if p.Candidates, err = termSuggest(x, &g); err != nil {
		return err
	}
	if name, err := x.field(field); err != nil || name != p.Candidates.Field {
		return badRequest(typeParsing, "[phrase suggester] query has the field [%s] and a [direct_generator] of another one: want the same", field)
	}
	p.Candidates.Text = text
	s.phrase = p
	return nil
}

func (s *suggestRequest) parseCompletion(x *Index, text string, raw json.RawMessage) *Error {
	o, err := options("completion suggester", raw, "field", "size", "skip_duplicates", "weight", "fuzzy", "_source")
	if err != nil {
		return err
	}
	o.only("skip_duplicates", "true")
	c := &griffin.Complete{Text: text, Size: o.suggestSize()}
	field := o.needed("field")
	if o.err != nil {
		return o.err
	}
	if c.Field, err = x.field(field); err != nil {
		return err
	}
	if weight, ok := o.text("weight"); ok {
		if c.Weight, err = x.field(weight); err != nil {
			return err
		}
	}
	if raw := o.values["fuzzy"]; raw != nil && string(raw) != "false" {
		if string(raw) == "true" {
			raw = json.RawMessage("{}")
		}
		f, err := options("fuzzy", raw, "fuzziness", "transpositions", "min_length", "prefix_length", "unicode_aware")
		if err != nil {
			return err
		}
		f.only("unicode_aware", "true")
		edits, given := f.text("fuzziness")
		if !given {
			edits = "AUTO"
		}
		if _, bad := (&query.Similarity{Edits: edits}).Max(""); bad != nil {
			f.refuse("fuzziness", "[fuzzy] query has [fuzziness] %s: want 0, 1, 2, AUTO or AUTO:low,high", edits)
		}
		c.Fuzzy = &griffin.Fuzzy{Edits: edits, MinLength: f.whole("min_length", maxSuggestSize), PrefixLength: f.prefixLength(), NoSwaps: !f.boolean("transpositions", true)}
		if f.err != nil {
			return f.err
		}
	}
	s.complete = c
	s.source.none = true
	if raw := o.values["_source"]; raw != nil {
		s.source = sourceFilter{}
		if err := s.source.parse(raw); err != nil {
			return err
		}
	}
	return o.err
}

// suggestOnly answers a request without a query: no hits.
func (s *searchRequest) suggestOnly(ctx context.Context, x *Index, out *answer) error {
	began := time.Now()
	suggestions, err := s.appendSuggestions(ctx, x, nil)
	if err != nil {
		return err
	}
	body := append(s.begin(nil, time.Since(began), griffin.Total{Relation: griffin.TotalExact}, nil, 0), "]}"...)
	*out = answer{status: http.StatusOK, body: rawJSON(append(append(body, suggestions...), "}\n"...))}
	return nil
}

// appendSuggestions appends the key "suggest", if it was asked for.
func (s *searchRequest) appendSuggestions(ctx context.Context, x *Index, dst []byte) ([]byte, error) {
	if s.suggest == nil {
		return dst, nil
	}
	dst = append(dst, `,"suggest":{`...)
	for i := range s.suggest.requests {
		r := &s.suggest.requests[i]
		if i > 0 {
			dst = append(dst, ',')
		}
		name := r.name
		if s.typed {
			name = r.kind + "#" + name
		}
		var err error
		if dst, err = r.append(ctx, x, append(appendString(dst, name), ':')); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

func (s *suggestRequest) append(ctx context.Context, x *Index, dst []byte) ([]byte, error) {
	switch {
	case s.term != nil:
		entries, err := griffin.NewSuggester(x.ix).Terms(ctx, *s.term)
		dst = append(dst, '[')
		for i, e := range entries {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendEntry(dst, s.term.Text, e.Offset, e.Offset+e.Length, len(e.Options), func(dst []byte, k int) []byte {
				o := &e.Options[k]
				dst = appendScore(append(appendString(append(dst, `{"text":`...), o.Text), `,"score":`...), o.Score)
				return append(strconv.AppendUint(append(dst, `,"freq":`...), o.Freq, 10), '}')
			})
		}
		return append(dst, ']'), err
	case s.phrase != nil:
		found, err := griffin.NewSuggester(x.ix).Phrases(ctx, *s.phrase)
		text := s.phrase.Candidates.Text
		dst = appendEntry(append(dst, '['), text, 0, len(text), len(found), func(dst []byte, k int) []byte {
			dst = appendString(append(dst, `{"text":`...), found[k].Text)
			if s.phrase.Before+s.phrase.After != "" {
				dst = appendString(append(dst, `,"highlighted":`...), found[k].Highlighted)
			}
			return append(appendScore(append(dst, `,"score":`...), found[k].Score), '}')
		})
		return append(dst, ']'), err
	}
	return s.appendCompletion(ctx, x, dst)
}

// appendEntry appends an entry of text[start:end]; lengths count UTF-16, as OpenSearch does.
func appendEntry(dst []byte, text string, start, end, options int, option func(dst []byte, k int) []byte) []byte {
	dst = appendString(append(dst, `{"text":`...), text[start:end])
	dst = strconv.AppendInt(append(dst, `,"offset":`...), int64(utf16Len(text[:start])), 10)
	dst = strconv.AppendInt(append(dst, `,"length":`...), int64(utf16Len(text[start:end])), 10)
	dst = append(dst, `,"options":[`...)
	for k := range options {
		if k > 0 {
			dst = append(dst, ',')
		}
		dst = option(dst, k)
	}
	return append(dst, "]}"...)
}

func utf16Len(text string) (n int) {
	for _, r := range text {
		n += utf16.RuneLen(r)
	}
	return n
}

func (s *suggestRequest) appendCompletion(ctx context.Context, x *Index, dst []byte) ([]byte, error) {
	values, err := griffin.NewSuggester(x.ix).Complete(ctx, *s.complete)
	if err != nil {
		return nil, err
	}
	sources := make([][]byte, len(values))
	for i := range values {
		if s.source.none {
			continue
		}
		doc, err := x.ix.Document(ctx, values[i].ID)
		if err != nil && !errors.Is(err, griffin.ErrNotFound) { // deleted since
			return nil, err
		}
		sources[i] = s.source.apply(sourceOf(doc.Title, doc.Text, doc.Fields))
	}
	dst = appendEntry(append(dst, '['), s.complete.Text, 0, len(s.complete.Text), len(values), func(dst []byte, k int) []byte {
		v := &values[k]
		dst = appendString(append(dst, `{"text":`...), v.Text)
		dst = appendString(append(dst, `,"_index":`...), x.name)
		dst = appendString(append(dst, `,"_id":`...), v.ID)
		dst = appendScore(append(dst, `,"_score":`...), v.Score)
		if sources[k] != nil {
			dst = append(append(dst, `,"_source":`...), sources[k]...)
		}
		return append(dst, '}')
	})
	return append(dst, ']'), nil
}

// suggestSize is the number of suggestions; 0 if it is not given.
func (o *object) suggestSize() int {
	n := o.whole("size", maxSuggestSize)
	if n == 0 && o.values["size"] != nil {
		o.refuse("size", "[%s] query has [size] 0: want a positive number", o.of)
	}
	return n
}
