package aggregate

import (
	"cmp"
	"strconv"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/column"
	"github.com/griffin-search/griffin/internal/jsonout"
	"github.com/griffin-search/griffin/internal/mapping"
)

// keys reads the values of a field as keys of buckets: numbers as they are, terms as their number in a
// lexicon.
type keys struct {
	r       *Request
	e       *env
	field   *mapping.Field
	column  *column.Column // of the segment; nil: no document has a value
	cursor  *column.Cursor
	lexicon *lexicon       // nil for numbers
	layout  *mapping.Field // writes key_as_string; nil: there is none
	missing []int64        // the key of documents without a value; empty: none
	buffer  []int64
	segment int
}

// missing is the text of the parameter "missing", hasMissing whether there is one.
func (e *env) keysOf(r *Request, name, format, missing string, hasMissing bool) (*keys, error) {
	f, err := e.fieldOf(r, name)
	if err != nil {
		return nil, err
	}
	if f.Type == mapping.GeoPoint {
		return nil, r.errorf("field [%s] is a geo_point, which has no keys", name)
	}
	k := &keys{r: r, e: e, field: f}
	if k.layout, err = layoutOf(r, f, format); err != nil {
		return nil, err
	}
	if f.HasOrdinals() {
		k.lexicon = &lexicon{r: r, e: e, field: name, single: e.onlySegment(name)}
	}
	if hasMissing {
		v, err := k.parse(missing)
		if err != nil {
			return nil, r.errorf("parameter [missing]: %s", base.Message(err))
		}
		k.missing = []int64{v}
	}
	return k, nil
}

// onlySegment returns the only segment in which the field has values, or -1.
func (e *env) onlySegment(field string) int {
	only := -1
	for i := range e.index.Segments {
		c, err := e.index.Segments[i].Column(field)
		if err != nil {
			return -1 // begin reports it
		}
		if c == nil {
			continue
		}
		if only >= 0 {
			return -1
		}
		only = i
	}
	return only
}

// typeName is the first letter of the type of keys: strings, longs, doubles.
func (k *keys) typeName() string {
	switch {
	case k.lexicon != nil:
		return "s"
	case k.field.Type.Real():
		return "d"
	}
	return "l"
}

// parse reads a key from a text of a request.
func (k *keys) parse(text string) (int64, error) {
	if k.lexicon == nil {
		return k.e.number(k.field, text, nil)
	}
	term, ok, err := k.field.Bytes(text)
	if err != nil {
		return 0, err
	}
	if !ok { // longer than ignore_above: no document has it
		term = []byte(text)
	}
	return k.lexicon.add(term)
}

func (k *keys) begin(segment int) (err error) {
	k.segment = segment
	if k.column, err = k.e.index.Segments[segment].Column(k.field.Name); err != nil {
		return k.r.wrap(err)
	}
	k.cursor = nil
	if k.lexicon != nil {
		return k.lexicon.begin(segment, k.column)
	}
	return nil
}

// of returns the different keys of a document, valid until the next call.
func (k *keys) of(doc base.DocID) ([]int64, error) {
	if k.column == nil {
		return k.missing, nil
	}
	if k.cursor == nil { // counts of a whole segment need none
		k.cursor = k.column.Cursor()
	}
	values, err := k.cursor.Values(doc)
	if err != nil {
		return nil, k.r.wrap(err)
	}
	switch {
	case len(values) == 0:
		return k.missing, nil
	case len(values) == 1 && k.lexicon == nil:
		return values, nil
	}
	k.buffer = k.buffer[:0]
	for i, v := range values {
		if i > 0 && v == values[i-1] {
			continue
		}
		if k.lexicon != nil {
			if v, err = k.lexicon.number(v); err != nil {
				return nil, err
			}
		}
		k.buffer = append(k.buffer, v)
	}
	return k.buffer, nil
}

// compare orders keys as their values.
func (k *keys) compare(a, b int64) int {
	if k.lexicon == nil {
		return cmp.Compare(a, b)
	}
	return k.lexicon.compare(a, b)
}

// write sets the key of a bucket.
func (k *keys) write(b *Bucket, key int64) error {
	if k.lexicon != nil {
		term, err := k.lexicon.term(key)
		if err != nil {
			return err
		}
		b.Text = string(k.field.AppendBytes(nil, term))
		b.key = appendString(nil, b.Text)
		return nil
	}
	b.key = appendNumber(nil, k.field.Type, key)
	b.Text = string(b.key)
	if k.layout != nil {
		b.Text = string(k.layout.AppendNumber(nil, key))
		b.hasText = true
	}
	return nil
}

// appendNumber appends a number of a column as JSON.
func appendNumber(dst []byte, t mapping.Type, v int64) []byte {
	if t.Real() {
		return appendFloat(dst, t.Float64(v))
	}
	return strconv.AppendInt(dst, v, 10)
}

func appendString(dst []byte, s string) []byte { return jsonout.AppendString(dst, s) }
