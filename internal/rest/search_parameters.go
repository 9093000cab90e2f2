package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// searchOptions are options of a search that are not in its body: parameters of the address, or members of a header
// of a multi-search.
type searchOptions struct {
	// A missing index is searched as one without documents if both are true.
	ignoreUnavailable, allowNoIndices bool
}

// searchOptionKinds check the options by name, and set those of searchOptions. The others change nothing on one node,
// where an index has one shard.
var searchOptionKinds = map[string]func(o *searchOptions, name, text string) *Error{
	"allow_no_indices":             optionFlag(func(o *searchOptions) *bool { return &o.allowNoIndices }),
	"allow_partial_search_results": optionFlag(nil),
	"cancel_after_time_interval":   optionTime,
	"ccs_minimize_roundtrips":      optionFlag(nil),
	"expand_wildcards":             optionWildcards,
	"ignore_throttled":             optionFlag(nil),
	"ignore_unavailable":           optionFlag(func(o *searchOptions) *bool { return &o.ignoreUnavailable }),
	"preference":                   optionText,
	"request_cache":                optionFlag(nil),
	"routing":                      optionText,
	"search_type":                  optionSearchType,
}

// searchNumbers are further parameters that change nothing.
var searchNumbers = []string{"batched_reduce_size", "max_concurrent_shard_requests", "pre_filter_shard_size"}

// searchParameters are those of _search and _msearch.
var searchParameters = []string{
	"search_type", "routing", "ignore_throttled", "ccs_minimize_roundtrips", "cancel_after_time_interval", "max_concurrent_shard_requests", "pre_filter_shard_size",
}

// optionFlag checks a boolean; to may be nil.
func optionFlag(to func(o *searchOptions) *bool) func(*searchOptions, string, string) *Error {
	return func(o *searchOptions, name, text string) *Error {
		value, ok := plainBool([]byte(text))
		if !ok {
			return notBoolean(name, text)
		}
		if to != nil {
			*to(o) = value
		}
		return nil
	}
}

func optionText(*searchOptions, string, string) *Error { return nil }

func optionTime(_ *searchOptions, name, text string) *Error {
	if _, err := parseTime(strings.NewReplacer("nanos", "ns", "micros", "us").Replace(text)); err != nil {
		return illegal("failed to parse [%s] with value [%s] as a time value: want a time such as 500ms, 30s or 1m, or -1", name, text)
	}
	return nil
}

func optionSearchType(_ *searchOptions, _, text string) *Error {
	if text != "query_then_fetch" && text != "dfs_query_then_fetch" {
		return illegal("No search type for [%s]: want query_then_fetch or dfs_query_then_fetch", text)
	}
	return nil
}

func optionWildcards(_ *searchOptions, _, text string) *Error {
	for value := range strings.SplitSeq(text, ",") {
		switch value {
		case "open", "closed", "hidden", "none", "all":
		default:
			return illegal("No valid expand wildcard value [%s]: want open, closed, hidden, none or all", value)
		}
	}
	return nil
}

// searchOptions reads the parameters of a search that are options.
func (r *request) searchOptions() (searchOptions, *Error) {
	o := searchOptions{allowNoIndices: true}
	for _, name := range slices.Sorted(maps.Keys(r.values)) { // the first error is always the same
		text := r.values.Get(name)
		if slices.Contains(searchNumbers, name) {
			if _, _, err := r.number(name); err != nil {
				return o, err
			}
		}
		set := searchOptionKinds[name]
		if set == nil {
			continue
		}
		if text == "" && set(new(searchOptions), name, "true") == nil {
			text = "true" // ?ignore_unavailable
		}
		if err := set(&o, name, text); err != nil {
			return o, err
		}
	}
	return o, nil
}

// headerOption is a member of a header of a multi-search.
type headerOption struct {
	to   *searchOptions
	name string
}

// UnmarshalJSON implements json.Unmarshaler. null changes nothing, as in OpenSearch.
func (h headerOption) UnmarshalJSON(raw []byte) error {
	if string(raw) == "null" {
		return nil
	}
	text, ok := scalarText(raw)
	if !ok {
		var list []string
		if h.name != "expand_wildcards" || !bytes.HasPrefix(raw, []byte("[")) || json.Unmarshal(raw, &list) != nil {
			return fmt.Errorf("[%s] is %.60s: want a single value", h.name, raw)
		}
		if len(list) == 0 {
			return nil
		}
		text = strings.Join(list, ",")
	}
	if err := searchOptionKinds[h.name](h.to, h.name, text); err != nil {
		return errors.New(err.Reason)
	}
	return nil
}

// findFor returns the index of a search: in place of a missing one that may be ignored, an absent one.
func (d *Directory) findFor(name string, o searchOptions) (*Index, *Error) {
	x, err := d.find(name)
	several := strings.ContainsAny(name, "*,<") || strings.HasPrefix(name, "_") // which can exist
	if err != nil && err.Status == http.StatusNotFound && o.ignoreUnavailable && o.allowNoIndices && !several {
		return &Index{name: name, absent: true}, nil
	}
	return x, err
}

// ofIndexKeys are keys of a search that are read with the fields of the index.
var ofIndexKeys = []string{"query", "post_filter", "suggest", "fields", "docvalue_fields"}

// nothing is the answer of an absent index.
func (s *searchRequest) nothing() answer {
	text := `{"took":0,"timed_out":false,"_shards":{"total":0,"successful":0,"skipped":0,"failed":0},"hits":{`
	switch {
	case s.totals == noTotals:
	case s.flat:
		text += `"total":0,`
	default:
		text += `"total":{"value":0,"relation":"eq"},`
	}
	return answer{status: http.StatusOK, body: rawJSON(text + `"max_score":0.0,"hits":[]}}` + "\n")}
}
