package griffin

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/griffin-search/griffin/internal/analysis"
)

// Token is a term that an analyzer makes of a text.
type Token struct {
	Term string `json:"term"`
	// Start and End are byte offsets of the text.
	Start int `json:"start"`
	End   int `json:"end"`
	// Position counts words. Tokens at one position are alternatives. Length is the number of positions
	// to the word after the token.
	Position int `json:"position"`
	Length   int `json:"length"`
}

// AnalyzeOptions choose an analyzer.
type AnalyzeOptions struct {
	// Analyzer is one of Analyzers or of the settings; "": the index's, or "standard" without an index.
	Analyzer string
	// Field names a field of the index, in the place of Analyzer.
	Field string
	// Custom, if not nil, is a chain of its own.
	Custom *CustomAnalyzer
	// Index has the analyzers; nil: registered ones and Settings.
	Index *Index
	// Query analyses a query: with synonyms, and without stop words that only documents keep.
	Query bool
	// Settings are Settings.Analysis, without an Index.
	Settings json.RawMessage
}

func (o *AnalyzeOptions) use() analysis.Use {
	if o.Query {
		return analysis.Queries
	}
	return analysis.Documents
}

// CustomAnalyzer is a chain of parts, each the name of a part as a JSON string, or the JSON object of its
// definition.
type CustomAnalyzer struct {
	Tokenizer   json.RawMessage
	CharFilters []json.RawMessage
	Filters     []json.RawMessage
}

// Analyze returns the tokens of a text. The error wraps ErrBadInput.
func Analyze(text string, o AnalyzeOptions) ([]Token, error) {
	if o.Index != nil {
		return analyzeIn(o.Index, text, &o)
	}
	if o.Field != "" {
		return nil, fmt.Errorf("field %q without an index: %w", o.Field, ErrBadInput)
	}
	var settings *analysis.Settings
	if o.Settings != nil {
		var err error
		if settings, err = analysis.ParseSettings(o.Settings, nil); err != nil {
			return nil, err
		}
	}
	return analyzeWith(settings, "standard", text, &o)
}

func analyzeIn(ix *Index, text string, o *AnalyzeOptions) ([]Token, error) {
	options := ix.ix.Options()
	missing := options.Analyzer
	if o.Field != "" {
		missing = options.Scheme().Name(o.Field, o.use())
		if !slices.Contains(options.Fields, o.Field) {
			return nil, fmt.Errorf("the index has no field %q with texts: %w", o.Field, ErrBadInput)
		}
	}
	return analyzeWith(options.Analysis, missing, text, o)
}

func analyzeWith(settings *analysis.Settings, missing, text string, o *AnalyzeOptions) ([]Token, error) {
	if len(text) > analysis.MaxTextBytes {
		return nil, fmt.Errorf("text of %d bytes, at most %d: %w", len(text), analysis.MaxTextBytes, ErrBadInput)
	}
	name, use := o.Analyzer, o.use()
	if name == "" {
		name = missing
	}
	var a analysis.Analyzer
	var err error
	if o.Custom != nil {
		a, err = settings.NewCustom(analysis.Custom(*o.Custom), use)
	} else {
		a, err = settings.New(name, use)
	}
	if err != nil {
		return nil, err
	}
	tokens := a.Tokens(nil, []byte(text))
	arcs := analysis.Arcs(a)
	out := make([]Token, len(tokens))
	for i, t := range tokens {
		out[i] = Token{Term: string(t.Term), Start: int(t.Start), End: int(t.End), Position: int(t.Position), Length: 1}
		if arcs != nil {
			out[i].Length = int(arcs[i].Length)
		}
	}
	return out, nil
}

// ReadAnalysis reads Settings.Analysis from a file. Files that it names, such as synonyms_path, are relative to its
// folder, and become parts of the result.
func ReadAnalysis(path string) (json.RawMessage, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	files := func(name string) ([]byte, error) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(filepath.Dir(path), name)
		}
		return os.ReadFile(name)
	}
	s, err := analysis.ParseSettings(unwrapAnalysis(data), files)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s.MarshalJSON()
}

// unwrapAnalysis accepts {"analysis": {…}}, and {"settings": {"analysis": {…}}} as in the body that creates an
// index.
func unwrapAnalysis(data []byte) []byte {
	for _, key := range []string{"settings", "index", "analysis"} {
		var outer map[string]json.RawMessage
		if json.Unmarshal(data, &outer) == nil && outer[key] != nil {
			data = outer[key]
		}
	}
	return data
}
