package query

import "strings"

// Lucene writes the operators &&, || and ! of Lucene's query language as AND, OR and NOT. Quoted and escaped texts and regular
// expressions stay as they are.
func Lucene(text string, fields []string) string {
	out, _ := lucene(text, fields, 0)
	return out
}

// LuceneOffset returns the byte of text that a byte of Lucene(text, fields) is from.
func LuceneOffset(text string, fields []string, offset int) int {
	_, from := lucene(text, fields, offset)
	return from
}

func lucene(text string, fields []string, offset int) (_ string, from int) {
	if len(text) > MaxBytes || !strings.ContainsAny(text, "&|!") {
		return text, min(offset, len(text))
	}
	h := hinter{fields: fields}
	var out strings.Builder
	from = len(text)
	for rest := text; rest != ""; {
		end := spaceAt(rest)
		operator := ""
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
			if o, size := luceneOperator(rest[:end]); size > 0 {
				operator, end = o, size
			}
		}
		before := out.Len()
		if operator != "" {
			out.WriteString(operator)
		} else {
			out.WriteString(rest[:end])
		}
		if before <= offset && offset < out.Len() {
			from = len(text) - len(rest)
			if operator == "" {
				from += offset - before
			}
		}
		rest = rest[end:]
	}
	return out.String(), from
}

// luceneOperator returns Griffin's form of an operator at the start of a word, and the operator's length; 0 for none.
func luceneOperator(word string) (operator string, size int) {
	after := strings.TrimPrefix(strings.TrimPrefix(word, "&&"), "||")
	switch {
	case word[0] == '!' && !strings.HasPrefix(word, "!!"):
		return "NOT ", 1
	case len(word)-len(after) != 2 || after != "" && (after[0] != '!' || strings.HasPrefix(after, "!!")):
		return "", 0
	case word[0] == '&':
		operator = "AND"
	default:
		operator = "OR"
	}
	if after != "" {
		operator += " "
	}
	return operator, 2
}
