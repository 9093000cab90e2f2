package rest

import (
	"bytes"
	"encoding/json"
	"slices"
	"unicode/utf8"
)

// decodeObject is json.Unmarshal into a map, without reflection and without copies: values are in the memory of raw, which must
// not change while they are in use. The map is nil for null.
func decodeObject(raw []byte) (map[string]json.RawMessage, error) {
	var room [8]rawMember
	if members, ok := splitObject(room[:0], raw); ok {
		object := make(map[string]json.RawMessage, len(members))
		for _, m := range members {
			object[m.key] = m.value
		}
		return object, nil
	}
	var object map[string]json.RawMessage
	err := json.Unmarshal(raw, &object)
	return object, err
}

// decodeList returns the values of a list; ok is false if raw is no list.
func decodeList(raw []byte) (list []json.RawMessage, ok bool) {
	v := validator{text: raw}
	if v.space(); !v.take('[') {
		return nil, false
	}
	list = []json.RawMessage{}
	for v.space(); !v.take(']'); v.space() {
		if len(list) > 0 {
			if !v.take(',') {
				return nil, false
			}
			v.space()
		}
		from := v.at
		if !v.value(1) {
			return nil, false
		}
		list = append(list, raw[from:v.at:v.at])
	}
	v.space()
	return list, v.at == len(raw)
}

const maxSplit = 64

// rawMember is a member of an object; the value is in the memory of its JSON.
type rawMember struct {
	key   string
	value json.RawMessage
}

// splitObject appends the members of an object, in their order. ok is false if raw is not an object, has a key that is
// not valid UTF-8, a duplicate key, or too many members to check for duplicates.
func splitObject(dst []rawMember, raw []byte) (_ []rawMember, ok bool) {
	v := validator{text: raw}
	if v.space(); !v.take('{') {
		return dst, false
	}
	for v.space(); !v.take('}'); v.space() {
		if len(dst) > 0 {
			if !v.take(',') {
				return dst, false
			}
			v.space()
		}
		from := v.at
		if len(dst) == maxSplit || !v.quoted() {
			return dst, false
		}
		key := keyOf(raw[from:v.at])
		if !utf8.ValidString(key) || slices.ContainsFunc(dst, func(m rawMember) bool { return m.key == key }) {
			return dst, false
		}
		if v.space(); !v.take(':') {
			return dst, false
		}
		v.space()
		from = v.at
		if !v.value(1) {
			return dst, false
		}
		dst = append(dst, rawMember{key, raw[from:v.at:v.at]})
	}
	v.space()
	return dst, v.at == len(raw)
}

// keyOf unquotes a key.
func keyOf(quoted []byte) string {
	if key, ok := usualKeys[string(quoted[1:len(quoted)-1])]; ok {
		return key
	}
	return unquote(string(quoted))
}

// usualKeys have memory already.
var usualKeys = func() map[string]string {
	keys := map[string]string{}
	for _, key := range []string{
		"query", "size", "from", "_source", "track_total_hits", "sort", "match", "operator", "boost", "term", "value", "bool", "must", "should", "filter", "must_not", "query_string", "default_operator", "*",
	} {
		keys[key] = key
	}
	return keys
}()

// plainString returns a JSON string without escapes, if raw is one.
func plainString(raw []byte) (string, bool) {
	if len(raw) < 2 || raw[0] != '"' || raw[len(raw)-1] != '"' {
		return "", false
	}
	inner := raw[1 : len(raw)-1]
	for _, c := range inner {
		if c < ' ' || c == '"' || c == '\\' {
			return "", false
		}
	}
	return string(inner), utf8.Valid(inner)
}

// plainBool returns true or false, if raw is one.
func plainBool(raw []byte) (value, ok bool) {
	switch string(raw) {
	case "true":
		return true, true
	case "false":
		return false, true
	}
	return false, false
}

// decodeBool is json.Unmarshal into a bool.
func decodeBool(raw []byte, to *bool) error {
	if value, ok := plainBool(raw); ok {
		*to = value
		return nil
	}
	return json.Unmarshal(raw, to)
}

// decodeInt is json.Unmarshal into an int.
func decodeInt(raw []byte, to *int) error {
	const short = 9 // digits of any int
	if len(raw) == 0 || len(raw) > short || raw[0] == '0' && len(raw) > 1 {
		return json.Unmarshal(raw, to)
	}
	n := 0
	for _, c := range raw {
		if c < '0' || c > '9' {
			return json.Unmarshal(raw, to)
		}
		n = 10*n + int(c-'0')
	}
	*to = n
	return nil
}

// decodeString is json.Unmarshal into a string.
func decodeString(raw []byte, to *string) error {
	if text, ok := plainString(raw); ok {
		*to = text
		return nil
	}
	return json.Unmarshal(raw, to)
}

// scalarText is the text of a string, a number or a boolean.
func scalarText(raw json.RawMessage) (string, bool) {
	raw = bytes.TrimSpace(raw)
	var text string
	if len(raw) > 0 && raw[0] == '"' && decodeString(raw, &text) == nil {
		return text, true
	}
	return string(raw), len(raw) > 0 && raw[0] != '{' && raw[0] != '[' && string(raw) != "null"
}
