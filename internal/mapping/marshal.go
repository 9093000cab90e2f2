package mapping

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// AppendJSON appends the mapping in OpenSearch's JSON. Parse returns an equal mapping if multi-fields and
// the members of objects were declared one after another, and one with another order otherwise.
func (m *Mapping) AppendJSON(dst []byte) []byte {
	dst = append(dst, '{')
	if m.dynamic != "" {
		dst = appendMember(dst, "dynamic", appendText(nil, string(m.dynamic)))
	}
	root := m.tree()
	if len(root.children) > 0 {
		dst = appendKey(dst, "properties")
		dst = root.appendChildren(dst)
	}
	return append(dst, '}')
}

// AppendField appends the JSON of one field, with its multi-fields.
func (m *Mapping) AppendField(dst []byte, f *Field) []byte {
	n := node{field: f}
	for _, i := range m.subs[f.Name] {
		n.subs = append(n.subs, &m.fields[i])
	}
	return n.append(dst)
}

// node is a field or an object.
type node struct {
	name     string
	field    *Field // nil: an object
	subs     []*Field
	children []*node
}

func (n *node) child(name string) *node {
	for _, c := range n.children {
		if c.name == name {
			return c
		}
	}
	c := &node{name: name}
	n.children = append(n.children, c)
	return c
}

// tree returns the objects and fields, each in the order in which the first of it was declared.
func (m *Mapping) tree() *node {
	root := &node{}
	for i := range m.fields {
		f := &m.fields[i]
		if f.Of != "" {
			continue
		}
		at := root
		rest := f.Name
		for {
			first, below, nested := strings.Cut(rest, ".")
			if around, ok := m.Field(f.Name[:len(f.Name)-len(rest)+len(first)]); !nested || ok && around.Type != Object {
				break // of texts within texts, the inner one has a dotted name
			}
			at, rest = at.child(first), below
		}
		leaf := at.child(rest)
		leaf.field = f
		for _, s := range m.subs[f.Name] {
			leaf.subs = append(leaf.subs, &m.fields[s])
		}
	}
	return root
}

func (n *node) appendChildren(dst []byte) []byte {
	dst = append(dst, '{')
	for _, c := range n.children {
		dst = appendKey(dst, c.name)
		dst = c.append(dst)
	}
	return append(dst, '}')
}

func (n *node) append(dst []byte) []byte {
	dst = append(dst, '{')
	if f := n.field; f != nil {
		dst = appendMember(dst, "type", appendText(nil, f.Type.String()))
		dst = f.appendParameters(dst)
	}
	if len(n.subs) > 0 {
		dst = append(appendKey(dst, "fields"), '{')
		for _, s := range n.subs {
			dst = appendKey(dst, s.Name[len(s.Of)+1:])
			dst = (&node{field: s}).append(dst)
		}
		dst = append(dst, '}')
	}
	if len(n.children) > 0 {
		dst = appendKey(dst, "properties")
		dst = n.appendChildren(dst)
	}
	return append(dst, '}')
}

func (f *Field) appendParameters(dst []byte) []byte {
	for _, p := range []struct{ name, value string }{
		{"analyzer", f.Analyzer}, {"search_analyzer", f.SearchAnalyzer}, {"normalizer", f.Normalizer}, {"format", f.Format},
	} {
		if p.value != "" {
			dst = appendMember(dst, p.name, appendText(nil, p.value))
		}
	}
	if f.NoIndex {
		dst = appendMember(dst, "index", []byte("false"))
	}
	if f.NoDocValues {
		dst = appendMember(dst, "doc_values", []byte("false"))
	}
	if f.IgnoreAbove != 0 {
		dst = appendMember(dst, "ignore_above", strconv.AppendInt(nil, int64(f.IgnoreAbove), 10))
	}
	if f.NullValue != nil {
		dst = appendMember(dst, "null_value", f.nullJSON())
	}
	if f.Boost != 0 {
		dst = appendMember(dst, "boost", strconv.AppendFloat(nil, f.Boost, 'g', -1, 64))
	}
	if f.WeightScale != 0 {
		dst = appendMember(dst, "weight_scale", strconv.AppendFloat(nil, f.WeightScale, 'g', -1, 64))
	}
	if len(f.CopyTo) > 0 {
		list := []byte{'['}
		for i, name := range f.CopyTo {
			if i > 0 {
				list = append(list, ',')
			}
			list = appendText(list, name)
		}
		dst = appendMember(dst, "copy_to", append(list, ']'))
	}
	return dst
}

// nullJSON is a number or a boolean where the type has these.
func (f *Field) nullJSON() []byte {
	if text := jsontext.Value(*f.NullValue); (f.Type.Whole() || f.Type.Real() || f.Type == Boolean) && text.IsValid() {
		return text
	}
	return appendText(nil, *f.NullValue)
}

func appendMember(dst []byte, key string, value []byte) []byte {
	return append(appendKey(dst, key), value...)
}

// appendKey separates the member from the one before.
func appendKey(dst []byte, key string) []byte {
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	return append(appendText(dst, key), ':')
}

func appendText(dst []byte, text string) []byte {
	dst, _ = jsontext.AppendQuote(dst, text) // an error only replaces invalid UTF-8
	return dst
}
