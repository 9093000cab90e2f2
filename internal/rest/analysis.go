package rest

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/griffin-search/griffin/internal/analysis"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/mapping"
)

// takeAnalysis removes the analysis settings from the settings of a new index.
func (m *meta) takeAnalysis(settings map[string]any) *Error {
	for _, within := range []map[string]any{settings, inner(settings["index"])} {
		found, ok := within["analysis"]
		if !ok || onlyDefault(inner(found)) {
			continue
		}
		delete(within, "analysis")
		text, err := json.Marshal(found)
		if err == nil {
			m.analysis, err = analysis.ParseSettings(text, nil)
		}
		if err != nil {
			return illegal("%s", base.Message(err))
		}
		m.Analysis = text
	}
	return nil
}

func inner(v any) map[string]any {
	o, _ := v.(map[string]any)
	return o
}

// onlyDefault reports whether analysis settings only name the analyzer of the index.
func onlyDefault(settings map[string]any) bool {
	analyzers := inner(settings["analyzer"])
	chosen := inner(analyzers["default"])
	_, text := chosen["type"].(string)
	return len(settings) == 1 && len(analyzers) == 1 && len(chosen) == 1 && text
}

// checkAnalyzer returns an error unless there is an analyzer of that name.
func (m *meta) checkAnalyzer(field, name string) *Error {
	if name == "" || m.analysis.Has(name) {
		return nil
	}
	return badRequest(typeMapperParsing, "analyzer [%s] has not been configured in mappings of field [%s]: there are %s", name, field, strings.Join(m.analysis.Names(), ", "))
}

// chooseAnalyzer sets the analyzer of the index: the one of the settings, or the one that all texts name (common). Fields keep another one.
func (m *meta) chooseAnalyzer(setting string) *Error {
	if setting == "" && m.analysis.Defines("default") {
		setting = "default"
	}
	if setting == "" {
		setting = m.common()
	}
	if setting != "" {
		m.Analyzer = setting
	}
	fields := slices.Clone(m.fields.Fields())
	for i := range fields {
		if fields[i].Analyzer == m.Analyzer {
			fields[i].Analyzer = ""
		}
	}
	var err *Error
	m.fields, err = declare(fields)
	return err
}

// common is the analyzer that all texts name, if it is not one of the settings; else "". An analyzer of the settings can be
// for one field only, such as one of n-grams.
func (m *meta) common() (name string) {
	for _, f := range m.fields.Fields() {
		if f.Type != mapping.Text {
			continue
		}
		if f.Analyzer == "" || name != "" && f.Analyzer != name {
			return ""
		}
		name = f.Analyzer
	}
	if m.analysis.Defines(name) {
		return ""
	}
	return name
}

// mergeAnalyzers gives a field of a change the analyzers that it has, if it names none or the same.
func (m *meta) mergeAnalyzers(f *mapping.Field) *Error {
	was, declared := m.fields.Field(f.Name)
	if declared && f.Type == was.Type && f.Analyzer == "" && f.SearchAnalyzer == "" {
		f.SearchAnalyzer = was.SearchAnalyzer
	}
	if f.Analyzer == m.Analyzer && (!declared || was.Analyzer == "") {
		f.Analyzer = ""
		return nil
	}
	if !declared || f.Type != was.Type {
		return nil
	}
	if f.Analyzer == "" || f.Analyzer == m.Analyzers[f.Name] && was.Analyzer == "" {
		f.Analyzer = was.Analyzer
	}
	if f.Analyzer == was.Analyzer {
		return nil
	}
	name := m.Analyzers[f.Name]
	if name == "" {
		name = "default"
	}
	return illegal("Mapper for [%s] conflicts with existing mapper:\n\tCannot update parameter [analyzer] from [%s] to [%s]", f.Name, name, f.Analyzer)
}
