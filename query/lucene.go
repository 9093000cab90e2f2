package query

import "strings"

// Lucene writes the operators &&, || and ! of Lucene's query language as AND, OR and NOT. Quoted and escaped texts and regular
// expressions stay as they are.
func Lucene(text string, fields []string) string {
	if len(text) > MaxBytes || !strings.ContainsAny(text, "&|!") {
		return text
	}
	h := hinter{fields: fields}
	var out strings.Builder
	for rest := text; rest != ""; {
		end := spaceAt(rest)
		switch {
		case end > 0:
		case rest[0] == '"':
			_, size := unquote(rest)
			end = max(size, 1)
		case rest[0] == '(' || rest[0] == ')':
			end = 1
		default:
			if end = h.regexp(rest); end > 0 {
				break
			}
			end = wordEnd(rest)
			word := rest[:end]
			switch {
			case word == "&&":
				out.WriteString("AND")
				rest = rest[end:]
				continue
			case word == "||":
				out.WriteString("OR")
				rest = rest[end:]
				continue
			case word[0] == '!' && !strings.HasPrefix(word, "!!"):
				out.WriteString("NOT ")
				rest = rest[1:]
				continue
			}
		}
		out.WriteString(rest[:end])
		rest = rest[end:]
	}
	return out.String()
}
