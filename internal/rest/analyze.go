package rest

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/analysis"
)

// maxAnalyzed bounds the tokens of an answer, as index.analyze.max_token_count of OpenSearch.
const maxAnalyzed = 10_000

// analyzeRequest is the body of _analyze.
type analyzeRequest struct {
	text    []string
	options griffin.AnalyzeOptions
	field   string
}

// analyzedToken is a token of the answer. Offsets count UTF-16 units, as in OpenSearch.
type analyzedToken struct {
	Token    string `json:"token"`
	Start    int    `json:"start_offset"`
	End      int    `json:"end_offset"`
	Type     string `json:"type"`
	Position int    `json:"position"`
	Length   int    `json:"positionLength,omitempty"` // 1 is left out
}

func analyze(r *request) (answer, *Error) {
	body, err := r.body()
	if err != nil {
		return answer{}, err
	}
	q, err := parseAnalyze(body)
	if err != nil {
		return answer{}, err
	}
	if name := r.PathValue("index"); name != "" {
		x, err := r.h.dir.find(name)
		if err != nil {
			return answer{}, err
		}
		q.options.Index = x.ix
	} else if q.field != "" {
		return answer{}, illegal("[field] needs an index: send the request to /NAME/_analyze")
	}
	tokens, err := q.run()
	if err != nil {
		return answer{}, err
	}
	return ok(map[string]any{"tokens": tokens})
}

func parseAnalyze(body []byte) (q analyzeRequest, err *Error) {
	o, bad := decodeObject(body)
	if bad != nil {
		return q, badRequest(typeParsing, "the body: %s", jsonReason(bad))
	}
	custom, normalizer := griffin.CustomAnalyzer{}, ""
	for _, key := range slices.Sorted(maps.Keys(o)) {
		raw, ok := o[key], string(o[key]) != "null"
		if !ok {
			return q, badRequest(typeParsing, "[%s] of [_analyze] is null: leave it out", key).at(raw).in(body)
		}
		switch key {
		case "text":
			q.text, ok = textOrTexts(raw)
		case "analyzer":
			ok = json.Unmarshal(raw, &q.options.Analyzer) == nil
		case "normalizer":
			if ok = json.Unmarshal(raw, &normalizer) == nil; ok {
				normalizer = analysis.NormalizerPrefix + normalizer
			}
		case "field":
			ok = json.Unmarshal(raw, &q.field) == nil
		case "query":
			ok = decodeBool(raw, &q.options.Query) == nil
		case "tokenizer":
			custom.Tokenizer = raw
		case "filter":
			custom.Filters, ok = oneOrList(raw)
		case "char_filter":
			custom.CharFilters, ok = oneOrList(raw)
		default:
			return q, badRequest(typeParsing, "[_analyze] has the key [%s], which is not supported: there are analyzer, char_filter, field, filter, normalizer, query, text, tokenizer", key).at(raw).in(body)
		}
		if !ok {
			return q, badRequest(typeParsing, "[%s] of [_analyze] is %.60s: that is no such value", key, raw).at(raw).in(body)
		}
	}
	switch {
	case q.text == nil:
		return q, badRequest(typeValidation, "Validation Failed: 1: text is missing;")
	case normalizer != "" && (q.options.Analyzer != "" || q.field != "" || custom.Tokenizer != nil || custom.Filters != nil || custom.CharFilters != nil):
		return q, illegal("[_analyze] has a [normalizer] beside other parts")
	case normalizer != "":
		q.options.Analyzer = normalizer
	case q.options.Analyzer != "" && custom.Tokenizer != nil:
		return q, illegal("[_analyze] has both [analyzer] and [tokenizer]")
	case custom.Tokenizer == nil && custom.Filters == nil && custom.CharFilters == nil:
	case q.options.Analyzer != "" || q.field != "":
		return q, illegal("[_analyze] has filters beside [analyzer] or [field], which have their own")
	default:
		if custom.Tokenizer == nil {
			custom.Tokenizer = json.RawMessage(`"keyword"`)
		}
		q.options.Custom = &custom
	}
	return q, nil
}

func textOrTexts(raw json.RawMessage) ([]string, bool) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return []string{text}, true
	}
	var texts []string
	return texts, json.Unmarshal(raw, &texts) == nil && texts != nil
}

func oneOrList(raw json.RawMessage) ([]json.RawMessage, bool) {
	if len(raw) > 0 && raw[0] != '[' {
		return []json.RawMessage{raw}, true
	}
	var list []json.RawMessage
	return list, json.Unmarshal(raw, &list) == nil
}

// run analyses the texts as values of one field, whose offsets and positions go on.
func (q *analyzeRequest) run() ([]analyzedToken, *Error) {
	const positionGap = 100
	out := []analyzedToken{}
	units, position := 0, 0
	for _, text := range q.text {
		q.options.Field = q.field
		tokens, err := griffin.Analyze(text, q.options)
		switch {
		case errors.Is(err, griffin.ErrBadInput):
			return nil, illegal("%v", err)
		case err != nil:
			return nil, illegal("failed to analyze: %v", err)
		case len(out)+len(tokens) > maxAnalyzed:
			return nil, illegal("The number of tokens produced by calling _analyze has exceeded the allowed maximum of [%d].", maxAnalyzed)
		}
		offsets := unitOffsets{text: text}
		last := 0
		for _, t := range tokens {
			token := analyzedToken{Token: t.Term, Type: tokenType(t.Term), Position: position + t.Position}
			token.Start, token.End = units+offsets.at(t.Start), units+offsets.at(t.End)
			if t.Length > 1 {
				token.Length = t.Length
			}
			out = append(out, token)
			last = t.Position
		}
		units += offsets.at(len(text)) + 1
		position += last + positionGap
	}
	return out, nil
}

// unitOffsets counts UTF-16 units before byte offsets, which are mostly rising.
type unitOffsets struct {
	text         string
	bytes, units int
}

func (u *unitOffsets) at(offset int) int {
	if offset < u.bytes {
		u.bytes, u.units = 0, 0
	}
	for u.bytes < offset {
		r, size := utf8.DecodeRuneInString(u.text[u.bytes:])
		u.bytes += size
		u.units += max(utf16.RuneLen(r), 1)
	}
	return u.units
}

// tokenType is the name that Lucene's StandardTokenizer gives to such a term.
func tokenType(term string) string {
	first, _ := utf8.DecodeRuneInString(term)
	switch {
	case unicode.Is(unicode.Hiragana, first):
		return "<HIRAGANA>"
	case unicode.Is(unicode.Katakana, first):
		return "<KATAKANA>"
	case unicode.Is(unicode.Hangul, first):
		return "<HANGUL>"
	case unicode.Is(unicode.Ideographic, first):
		return "<IDEOGRAPHIC>"
	}
	for _, r := range term {
		if !unicode.IsDigit(r) && r != '.' && r != ',' {
			return "<ALPHANUM>"
		}
	}
	return "<NUM>"
}
