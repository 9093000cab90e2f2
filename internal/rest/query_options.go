package rest

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"github.com/griffin-search/griffin/internal/mapping"
	"github.com/griffin-search/griffin/query"
)

// standing are options that clients of OpenSearch send with their defaults: a line has a query, an option, and the
// values that change nothing. Other values are errors.
const standing = `
bool adjust_pure_negative true
match auto_generate_synonyms_phrase_query true
match zero_terms_query none
match_bool_prefix lenient false
match_phrase zero_terms_query none
match_phrase_prefix zero_terms_query none
multi_match auto_generate_synonyms_phrase_query true
multi_match zero_terms_query none
combined_fields auto_generate_synonyms_phrase_query true
combined_fields zero_terms_query none
query_string analyze_wildcard false
query_string allow_leading_wildcard true
query_string auto_generate_synonyms_phrase_query true
query_string enable_position_increments true
query_string escape false
query_string fuzziness auto
query_string fuzzy_prefix_length 0
query_string fuzzy_max_expansions 50
query_string fuzzy_transpositions true
query_string max_determinized_states 10000
query_string phrase_slop 0
simple_query_string flags all -1
simple_query_string lenient false
simple_query_string analyze_wildcard false
simple_query_string auto_generate_synonyms_phrase_query true
simple_query_string fuzzy_prefix_length 0
simple_query_string fuzzy_max_expansions 50
simple_query_string fuzzy_transpositions true
prefix rewrite constant_score constant_score_blended constant_score_boolean
wildcard rewrite constant_score constant_score_blended constant_score_boolean
regexp rewrite constant_score constant_score_blended constant_score_boolean
regexp flags all
regexp flags_value 255 65535
range relation intersects
`

// stand removes the options of standing. A value that is not among them is a fault.
func (o *object) stand() {
	for key := range o.values {
		_, line, ok := strings.Cut(standing, "\n"+o.of+" "+key+" ")
		if !ok || strings.Contains(key, " ") {
			continue
		}
		line, _, _ = strings.Cut(line, "\n")
		if text, ok := o.text(key); ok && !slices.Contains(strings.Fields(line), strings.ToLower(text)) {
			o.fail("[%s] query has [%s] %s: only %s is supported", o.of, key, text, strings.Join(strings.Fields(line), ", "))
		}
		delete(o.values, key)
	}
}

// lenient reports whether a field cannot hold a value, where a query wants that to be no match.
func (o *object) lenient(fields *mapping.Mapping, field, text string) bool {
	if !o.boolean("lenient", false) {
		return false
	}
	f, ok := fields.Field(field)
	if !ok {
		return false
	}
	var err error
	switch {
	case f.Type == mapping.Date:
		_, err = f.Date(text, mapping.Clock{})
	case f.Type == mapping.IP && strings.Contains(text, "/"):
		_, _, err = mapping.AddressRange(text)
	case f.Type.Whole() && f.Type != mapping.Boolean: // fractions are between values
		err = (&mapping.Field{Type: mapping.Double}).Check(text)
	case f.Type != mapping.Text && f.Type != mapping.Keyword:
		err = f.Check(text)
	}
	return err != nil
}

// anyCase is a regular expression for a text in any letter case.
func anyCase(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch folded := unicode.SimpleFold(r); {
		case folded != r:
			b.WriteByte('[')
			b.WriteRune(r)
			for ; folded != r; folded = unicode.SimpleFold(folded) {
				b.WriteRune(folded)
			}
			b.WriteByte(']')
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			b.WriteRune(r)
		default:
			b.WriteByte('\\')
			b.WriteRune(r)
		}
	}
	return b.String()
}

// wildcardAnyCase is a regular expression for a wildcard in any letter case.
func wildcardAnyCase(pattern string) string {
	var b strings.Builder
	literal := ""
	end := func(as string) {
		b.WriteString(anyCase(literal) + as)
		literal = ""
	}
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '*':
			end(".*")
		case c == '?':
			end(".")
		case c == '\\' && i+1 < len(pattern):
			i++
			literal += pattern[i : i+1]
		default:
			literal += pattern[i : i+1]
		}
	}
	end("")
	return b.String()
}

// regexpAnyCase makes the letters of a regular expression outside of classes and quotes match in any letter case, as in OpenSearch.
func regexpAnyCase(pattern string) string {
	var b strings.Builder
	closing := rune(0)
	escaped := false
	for _, r := range pattern {
		switch {
		case escaped:
			escaped = false
		case closing != 0:
			escaped = r == '\\'
			if r == closing {
				closing = 0
			}
		case r == '\\':
			escaped = true
		case r == '[':
			closing = ']'
		case r == '"':
			closing = '"'
		case unicode.SimpleFold(r) != r:
			b.WriteString(anyCase(string(r)))
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// inAnyCase is a query of all terms that are the text, or match the pattern, in any letter case.
func (o *object) inAnyCase(field, pattern string) query.Node {
	return &query.Regexp{Field: field, Pattern: pattern, Boost: o.boost(), Exact: true}
}

// scalars returns the only value of a text in place of an array.
func scalars(raw json.RawMessage) json.RawMessage {
	if _, ok := scalarText(raw); ok {
		return slices.Concat(json.RawMessage("["), raw, json.RawMessage("]"))
	}
	return raw
}
