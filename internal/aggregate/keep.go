package aggregate

import (
	"encoding/json"
	"regexp"

	"github.com/griffin-search/griffin/internal/base"
)

// keep selects the keys that have buckets.
type keep struct {
	include, exclude           []string // exact keys; nil: all, none
	includeMatch, excludeMatch *regexp.Regexp
}

// keep reads include and exclude: a regular expression or a list of keys.
func (p *params) keep() (k keep) {
	k.include, k.includeMatch = p.pattern("include")
	k.exclude, k.excludeMatch = p.pattern("exclude")
	return k
}

func (p *params) pattern(key string) ([]string, *regexp.Regexp) {
	raw := p.raw(key)
	if raw == nil {
		return nil, nil
	}
	var text string
	if string(raw) != "null" && json.Unmarshal(raw, &text) == nil {
		if len(text) > maxRegexpLength {
			p.fail(key, "the regular expression is longer than %d bytes", maxRegexpLength)
			return nil, nil
		}
		re, err := regexp.Compile("^(?s:" + text + ")$")
		if err != nil {
			p.fail(key, "%v", err)
		}
		return nil, re
	}
	list, err := base.Elements(raw)
	if err != nil {
		p.fail(key, "want a regular expression or a list of keys, have %s (partitions are not supported: use composite)", shortened(raw))
		return nil, nil
	}
	out := []string{}
	for _, raw := range list {
		text, ok := scalarText(raw)
		if !ok {
			p.fail(key, "want a list of keys, have %s", shortened(raw))
		}
		out = append(out, text)
	}
	return out, nil
}

// filter decides about keys of a field, once for each.
type filter struct {
	keep             keep
	keys             *keys
	include, exclude map[int64]bool
	known            map[int64]bool
}

// filter returns nil if all keys have buckets.
func (k *keep) filter(keys *keys) (*filter, error) {
	if k.include == nil && k.exclude == nil && k.includeMatch == nil && k.excludeMatch == nil {
		return nil, nil
	}
	if keys.lexicon == nil && (k.includeMatch != nil || k.excludeMatch != nil) {
		return nil, keys.r.errorf("[include] and [exclude] of field [%s], which has numbers, must be lists", keys.field.Name)
	}
	f := &filter{keep: *k, keys: keys, known: map[int64]bool{}}
	set := func(texts []string) (map[int64]bool, error) {
		if texts == nil {
			return nil, nil
		}
		out := map[int64]bool{}
		for _, text := range texts {
			key, err := keys.parse(text)
			if err != nil {
				return nil, keys.r.errorf("[include] or [exclude]: %s", base.Message(err))
			}
			out[key] = true
		}
		return out, nil
	}
	var err error
	if f.include, err = set(k.include); err != nil {
		return nil, err
	}
	f.exclude, err = set(k.exclude)
	return f, err
}

func (f *filter) keeps(key int64) (bool, error) {
	if f == nil {
		return true, nil
	}
	if f.include != nil && !f.include[key] || f.exclude[key] {
		return false, nil
	}
	if f.keep.includeMatch == nil && f.keep.excludeMatch == nil {
		return true, nil
	}
	kept, ok := f.known[key]
	if ok {
		return kept, nil
	}
	term, err := f.keys.lexicon.term(key)
	if err != nil {
		return false, err
	}
	text := string(f.keys.field.AppendBytes(nil, term))
	kept = (f.keep.includeMatch == nil || f.keep.includeMatch.MatchString(text)) &&
		(f.keep.excludeMatch == nil || !f.keep.excludeMatch.MatchString(text))
	f.known[key] = kept
	return kept, nil
}
