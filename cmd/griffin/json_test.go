//go:build !nolab

package main

import (
	"encoding"
	"encoding/json"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/backup"
)

// keysOf joins nested keys with dots; elements of slices and maps have no name of their own.
func keysOf(t reflect.Type, prefix string, keys map[string]bool) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map || t.Kind() == reflect.Array {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || t.Implements(reflect.TypeFor[json.Marshaler]()) || t.Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
		return
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported() && !f.Anonymous:
		case f.Anonymous && name == "":
			keysOf(f.Type, prefix, keys)
		default:
			if name == "" {
				name = f.Name
			}
			keys[prefix+name] = true
			keysOf(f.Type, prefix+name+".", keys)
		}
	}
}

// The guide, docs/guides/json.md, has exactly the keys that commands write.
func TestJSONGuide(t *testing.T) {
	text, err := os.ReadFile("../../docs/guides/json.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]string{}
	for section := range strings.SplitSeq(string(text), "\n## ") {
		name, body, _ := strings.Cut(section, "\n")
		sections[name] = body
	}
	for part := range strings.SplitSeq(sections["Parts of several"], "\n### ") {
		name, body, _ := strings.Cut(part, "\n")
		sections[name] = body
	}
	for name, v := range map[string]any{
		"search": griffin.Results{}, "index": griffin.FilesReport{}, "suggest": suggested{}, "complete": completed{}, "delete": deleted{}, "watch": watchEvent{}, "snapshot": struct {
			backup.Report
			uncommitted
			snapshotList
		}{}, "load": loadResult{}, "policies": policiesResult{}, "train": trainResult{}, "lab simulate": simulateResult{}, "bench": benchResult{},
		"dispatch": griffin.DispatchStats{}, "gpu": gpuResult{},
	} {
		t.Run(name, func(t *testing.T) {
			keys := map[string]bool{}
			keysOf(reflect.TypeOf(v), "", keys)
			checkSection(t, name, sections[name], keys)
		})
	}
}

var quoted = regexp.MustCompile("`([^`]+)`")

func checkSection(t *testing.T, name, text string, keys map[string]bool) {
	named := map[string]bool{}
	for _, m := range quoted.FindAllStringSubmatch(text, -1) {
		named[lastOf(m[1])] = true
	}
	leaves := map[string]bool{}
	for key := range keys {
		within := strings.Split(key, ".")
		if slices.ContainsFunc(within[:len(within)-1], func(part string) bool {
			return part == "dispatch" || part == "gpu" || part == "error" || part == "trace"
		}) {
			continue // it has a section of its own
		}
		leaves[lastOf(key)] = true
		if !named[lastOf(key)] {
			t.Errorf("%s: key %s is not described", name, key)
		}
	}
	for line := range strings.Lines(text) {
		if cells := strings.Split(line, "|"); len(cells) > 2 {
			for _, m := range quoted.FindAllStringSubmatch(cells[1], -1) {
				if !leaves[lastOf(m[1])] {
					t.Errorf("%s: there is no key %s", name, m[1])
				}
			}
		}
	}
}

func lastOf(key string) string { return key[strings.LastIndexByte(key, '.')+1:] }
