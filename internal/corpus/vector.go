package corpus

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/griffin-search/griffin/internal/base"
)

// vectorField holds a JSON record's terms and weights:
//
//	{"id": "7", "contents": "…", "vector": {"search": 3.41, "##ing": 0.27}}
const vectorField = "vector"

// The largest vocabulary in use, of XLM-RoBERTa, has 250,002 terms.
const maxVectorTerms = 1 << 18

// ParseVector returns a JSON object's terms and weights, in order. An error wraps
// base.ErrBadInput and names the term.
func ParseVector(text []byte) ([]TermWeight, error) {
	var scanner jsonScanner
	vector, rec := parseVector(&scanner, text)
	if rec != nil && rec.Field != "" {
		return nil, fmt.Errorf("term %q: %w", rec.Field, rec.Err)
	} else if rec != nil {
		return nil, rec.Err
	}
	return vector, nil
}

// parseVector uses scanner's memory; the terms share one string. The error has no location yet;
// its field is the term.
func parseVector(scanner *jsonScanner, text []byte) ([]TermWeight, *RecordError) {
	fields, rec := scanner.object(text, maxVectorTerms)
	if rec != nil {
		return nil, rec
	}
	size := 0
	for _, f := range fields {
		size += len(f.name)
	}
	var terms strings.Builder
	terms.Grow(size)
	vector := make([]TermWeight, len(fields))
	for i, f := range fields {
		if f.kind != '0' {
			return nil, &RecordError{Field: string(f.name), Err: fmt.Errorf("the weight is no number but %s: %w", kindName(f.kind), base.ErrBadInput)}
		}
		w, err := strconv.ParseFloat(string(f.value), 64)
		if err != nil || !(w >= 0) {
			return nil, &RecordError{Field: string(f.name), Err: fmt.Errorf("the weight %.40s is not 0 or more: %w", f.value, base.ErrBadInput)}
		}
		if len(f.name) == 0 {
			return nil, &RecordError{Err: fmt.Errorf("an empty term: %w", base.ErrBadInput)}
		}
		terms.Write(f.name)
		vector[i].Weight = w
	}
	shared := terms.String()
	for i, f := range fields {
		vector[i].Term, shared = shared[:len(f.name)], shared[len(f.name):]
	}
	return vector, nil
}

func (p *jsonParser) vector(fields []field) ([]TermWeight, *RecordError) {
	i := slices.IndexFunc(fields, func(f field) bool { return string(f.name) == vectorField })
	if i < 0 {
		return nil, &RecordError{Field: vectorField, Err: errMissing}
	}
	if fields[i].kind != '{' {
		return nil, &RecordError{Field: vectorField, Err: fmt.Errorf("not an object of terms and weights but %s: %w", kindName(fields[i].kind), base.ErrBadInput)}
	}
	vector, rec := parseVector(&p.vectors, fields[i].value)
	if rec != nil {
		if rec.Field != "" {
			rec.Err = fmt.Errorf("term %q: %w", rec.Field, rec.Err)
		}
		rec.Field = vectorField
	}
	return vector, rec
}
