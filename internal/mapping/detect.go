package mapping

import (
	"strings"
	"time"
)

// slashFormat is the second form of dates that is detected.
const slashFormat = "yyyy/MM/dd HH:mm:ss||yyyy/MM/dd||epoch_millis"

var slashFormats = must(parseFormats(slashFormat))

// KeywordName is the last part of the name of the multi-field of a text that is not declared.
const KeywordName = "keyword"

// keywordIgnoreAbove is its ignore_above.
const keywordIgnoreAbove = 256

// Detect returns the fields of a name that is not declared, by the first value: kind is the first byte of
// a JSON value, with '0' for numbers, and text the text of the scalar. Null has none. A text is a date if it
// looks like one, else a text with the multi-field "keyword".
func Detect(name string, kind byte, text string) []Field {
	f := Field{Name: name}
	switch kind {
	case '"':
		if format, ok := detectDate(text); ok {
			f.Type, f.Format = Date, format
			break
		}
		return []Field{f, {Name: name + "." + KeywordName, Type: Keyword, Of: name, IgnoreAbove: keywordIgnoreAbove}}
	case '0':
		f.Type = Long
		if strings.ContainsAny(text, ".eE") {
			f.Type = Float
		}
	case 't', 'f':
		f.Type = Boolean
	default:
		return nil
	}
	return []Field{f}
}

// detectDate does not take numbers for years.
func detectDate(text string) (format string, ok bool) {
	if len(text) < len("2006-01") || text[0] < '0' || text[0] > '9' {
		return "", false
	}
	if _, number := parseDecimal(text); number {
		return "", false
	}
	t := newMoment()
	if t.readISO(text, true /* strict */) {
		_, valid, err := t.millis(time.UTC, false /* round up */)
		return "", valid && err == nil
	}
	if strings.IndexByte(text, '/') == 4 {
		for i := range slashFormats {
			if _, valid, err := slashFormats[i].parse(text, time.UTC, false /* round up */); valid && err == nil {
				return slashFormat, true
			}
		}
	}
	return "", false
}
