package rest

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

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
query_string analyze_wildcard false true
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
simple_query_string analyze_wildcard false true
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
			o.refuse(key, "[%s] query has [%s] %s: only %s is supported", o.of, key, text, strings.Join(strings.Fields(line), ", "))
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

// anyCase is a regular expression for a text in any letter case of Unicode.
func anyCase(text string) string {
	var b strings.Builder
	for _, r := range text {
		if others := otherCases(string(r)); others != "" {
			b.WriteString("[" + string(r) + others + "]")
		} else {
			b.WriteString(literal(r))
		}
	}
	return b.String()
}

// literal is a regular expression for a character in its own case.
func literal(r rune) string {
	if unicode.IsLetter(r) || unicode.IsDigit(r) {
		return string(r)
	}
	return `\` + string(r)
}

// wildcardAnyCase is a regular expression for a wildcard in any letter case. As in OpenSearch, escaped characters match
// only themselves.
func wildcardAnyCase(pattern string) string {
	var b strings.Builder
	escaped := false
	for _, r := range pattern {
		switch {
		case escaped:
			escaped = false
			b.WriteString(literal(r))
		case r == '*':
			b.WriteString(".*")
		case r == '?':
			b.WriteByte('.')
		case r == '\\':
			escaped = true
		default:
			b.WriteString(anyCase(string(r)))
		}
	}
	if escaped {
		b.WriteString(literal('\\')) // a backslash at the end is itself
	}
	return b.String()
}

// regexpAnyCase makes the characters and quoted texts of a regular expression match in any letter case. Ranges such as
// a-z stay, as in Lucene's RegExp.
func regexpAnyCase(pattern string) string {
	var b strings.Builder
	for pattern != "" {
		text := firstCharacter(pattern)
		pattern = pattern[len(text):]
		switch {
		case text == "[":
			n := classAnyCase(&b, pattern)
			pattern = pattern[n:]
		case text == `"`:
			quoted, rest, closed := strings.Cut(pattern, `"`)
			if !closed {
				return b.String() + text + pattern // the parser reports it
			}
			b.WriteString("(" + anyCase(quoted) + ")")
			pattern = rest
		case len(otherCases(text)) > 0:
			b.WriteString("[" + text + otherCases(text) + "]")
		default:
			b.WriteString(text)
		}
	}
	return b.String()
}

// classAnyCase writes a class, which begins behind its bracket, and returns its length.
func classAnyCase(b *strings.Builder, pattern string) int {
	rest := pattern
	take := func(n int) {
		b.WriteString(rest[:n])
		rest = rest[n:]
	}
	b.WriteByte('[')
	if strings.HasPrefix(rest, "^") {
		take(1)
	}
	for first := true; rest != "" && (first || rest[0] != ']'); first = false {
		text := firstCharacter(rest)
		take(len(text))
		if others := otherCases(text); !isClass(text) && strings.HasPrefix(rest, "-") {
			take(1)
			take(len(firstCharacter(rest)))
		} else {
			b.WriteString(others)
		}
	}
	take(min(1, len(rest)))
	return len(pattern) - len(rest)
}

// firstCharacter returns the first character of a regular expression, with its backslash.
func firstCharacter(pattern string) string {
	if pattern == "" {
		return ""
	}
	begin := 0
	if pattern[0] == '\\' && len(pattern) > 1 {
		begin = 1
	}
	_, size := utf8.DecodeRuneInString(pattern[begin:])
	return pattern[:begin+size]
}

// isClass reports whether a character of a regular expression is a class, such as \d.
func isClass(text string) bool {
	return len(text) == 2 && text[0] == '\\' && strings.Contains("dDsSwW", text[1:])
}

// otherCases returns a character of a regular expression in other letter cases. Classes have none.
func otherCases(text string) string {
	if isClass(text) {
		return ""
	}
	r, _ := utf8.DecodeLastRuneInString(text)
	var others []rune
	for folded := unicode.SimpleFold(r); folded != r; folded = unicode.SimpleFold(folded) {
		others = append(others, folded)
	}
	return string(others)
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
