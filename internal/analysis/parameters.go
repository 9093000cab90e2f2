package analysis

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/griffin-search/griffin/internal/base"
)

// parameters reads the JSON of one part. The first error stays in err; unknown parameters are an
// error of finish. Numbers and booleans can be written as texts, as in OpenSearch.
type parameters struct {
	kind   string // "filter", "tokenizer", …
	name   string
	user   string // the analyzer whose part it is, of a part that is not defined
	values map[string]json.RawMessage
	known  []string
	files  ReadFile // nil: parameters cannot name files
	err    error
}

// ReadFile returns the content of a file that a setting names, such as synonyms_path.
type ReadFile func(name string) ([]byte, error)

func (p *parameters) where() string {
	if p.user != "" {
		return fmt.Sprintf("analyzer [%s]: %s [%s]", p.user, p.kind, p.name)
	}
	return fmt.Sprintf("%s [%s]", p.kind, p.name)
}

func (p *parameters) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf("%s: %s: %w", p.where(), fmt.Sprintf(format, args...), base.ErrBadInput)
	}
}

func (p *parameters) raw(key string) (json.RawMessage, bool) {
	p.known = append(p.known, key)
	v, ok := p.values[key]
	return v, ok && string(v) != "null"
}

// finish returns the first error.
func (p *parameters) finish() error {
	for _, key := range slices.Sorted(maps.Keys(p.values)) {
		if slices.Contains(p.known, key) || key == "version" {
			continue
		}
		known := slices.Clone(p.known)
		slices.Sort(known)
		p.fail("unknown parameter [%s], there are [%s]", key, strings.Join(slices.Compact(known), ", "))
	}
	return p.err
}

// scalar is the text of a text, number or boolean.
func scalar(raw json.RawMessage) (string, bool) {
	if len(raw) == 0 {
		return "", false
	}
	switch raw[0] {
	case '"':
		var s string
		return s, json.Unmarshal(raw, &s) == nil
	case '{', '[', 'n':
		return "", false
	}
	return string(raw), true
}

func (p *parameters) text(key, missing string) string {
	raw, ok := p.raw(key)
	if !ok {
		return missing
	}
	s, ok := scalar(raw)
	if !ok {
		p.fail("parameter [%s] is %.40s, want a text", key, raw)
	}
	return s
}

// choice is a text that is one of several.
func (p *parameters) choice(key string, choices ...string) string {
	s := p.text(key, choices[0])
	if !slices.Contains(choices, s) {
		p.fail("parameter [%s] is [%s], want one of [%s]", key, s, strings.Join(choices, ", "))
	}
	return s
}

func (p *parameters) number(key string, missing, least, most int) int {
	raw, ok := p.raw(key)
	if !ok {
		return missing
	}
	s, _ := scalar(raw)
	n, err := strconv.Atoi(s)
	if err != nil || n < least || n > most {
		limit := strconv.Itoa(most)
		if most == math.MaxInt {
			limit = "any number"
		}
		p.fail("parameter [%s] is %.40s, want a whole number from %d to %s", key, raw, least, limit)
		return missing
	}
	return n
}

func (p *parameters) boolean(key string, missing bool) bool {
	raw, ok := p.raw(key)
	if !ok {
		return missing
	}
	switch s, _ := scalar(raw); s {
	case "true":
		return true
	case "false":
		return false
	}
	p.fail("parameter [%s] is %.40s, want true or false", key, raw)
	return missing
}

// character is a text of one character.
func (p *parameters) character(key, missing string) string {
	s := p.text(key, missing)
	if p.err == nil && len([]rune(s)) != 1 {
		p.fail("parameter [%s] is [%s], want one character", key, s)
	}
	return s
}

// list is a list of texts, or one text, of which commas separate the parts.
func (p *parameters) list(key string) (list []string, given bool) {
	raw, ok := p.raw(key)
	if !ok {
		return nil, false
	}
	return p.asList(key, raw), true
}

func (p *parameters) asList(key string, raw json.RawMessage) []string {
	if s, ok := scalar(raw); ok {
		var list []string
		for part := range strings.SplitSeq(s, ",") {
			if part = strings.TrimSpace(part); part != "" {
				list = append(list, part)
			}
		}
		return list
	}
	return p.asTexts(key, raw)
}

func (p *parameters) asTexts(key string, raw json.RawMessage) []string {
	var parts []json.RawMessage
	if json.Unmarshal(raw, &parts) != nil {
		p.fail("parameter [%s] is %.40s, want a list of texts", key, raw)
		return nil
	}
	list := make([]string, 0, len(parts))
	for _, part := range parts {
		s, ok := scalar(part)
		if !ok {
			p.fail("parameter [%s] has %.40s, want texts", key, part)
		}
		list = append(list, s)
	}
	return list
}

// maxFileBytes bounds the lists of words and rules of one part.
const maxFileBytes = 4 << 20

// lines is a list of texts that keep their commas, in key or in the file that key_path names: one a
// line, without comments (#).
func (p *parameters) lines(key string) (list []string, given bool) {
	if raw, ok := p.raw(key); ok {
		if len(raw) > maxFileBytes {
			p.fail("parameter [%s] has %d bytes, at most %d", key, len(raw), maxFileBytes)
			return nil, true
		}
		if s, ok := scalar(raw); ok {
			return []string{s}, true
		}
		return p.asTexts(key, raw), true
	}
	return nil, false
}

// embed replaces parameters that name files by the lines of these files.
func (p *parameters) embed(keys ...string) {
	for _, key := range keys {
		raw, ok := p.raw(key + "_path")
		if !ok {
			continue
		}
		var name string
		switch _, both := p.values[key]; {
		case json.Unmarshal(raw, &name) != nil:
			p.fail("parameter [%s_path] is %.40s, want a text", key, raw)
		case both:
			p.fail("there are both [%s] and [%s_path]", key, key)
		case p.files == nil:
			p.fail("parameter [%s_path] names a file, which cannot be read here: give its lines as [%s]", key, key)
		default:
			p.embedFile(key, name)
		}
	}
}

func (p *parameters) embedFile(key, name string) {
	data, err := p.files(name)
	if err == nil && len(data) > maxFileBytes {
		err = fmt.Errorf("%d bytes, at most %d", len(data), maxFileBytes)
	}
	if err != nil {
		p.fail("parameter [%s_path]: %s: %v", key, name, err)
		return
	}
	list := []string{}
	for line := range bytes.Lines(bytes.TrimPrefix(data, []byte("\ufeff"))) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			list = append(list, string(line))
		}
	}
	raw, err := json.Marshal(list)
	if err != nil {
		p.fail("parameter [%s_path]: %v", key, err)
		return
	}
	delete(p.values, key+"_path")
	p.values[key] = raw
}
