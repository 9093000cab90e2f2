package plan

// Explanation shows how the score of one document is computed. griffin.Explanation documents
// the fields.
type Explanation struct {
	Matches bool     `json:"matches"`
	Score   float64  `json:"score"`
	Mode    Mode     `json:"mode"`
	Parts   []Part   `json:"parts"`
	Notes   []string `json:"notes,omitempty"`
}

// Part is the contribution of a term or phrase to a score. griffin.ExplanationPart has the
// formula and documents the fields.
type Part struct {
	Query        string   `json:"query,omitempty"`
	Field        string   `json:"field,omitempty"`
	Terms        []string `json:"terms"`
	Excluded     bool     `json:"excluded,omitempty"`
	Freq         uint32   `json:"freq"`
	SloppyFreq   float64  `json:"sloppy_freq,omitempty"`
	Length       uint32   `json:"length"`
	AvgLength    float64  `json:"avg_length"`
	DocFreq      []uint64 `json:"doc_freq"`
	NumDocs      uint64   `json:"num_docs"`
	IDF          float64  `json:"idf"`
	Boost        float64  `json:"boost"`
	K1           float32  `json:"k1"`
	B            float32  `json:"b"`
	Scale        float64  `json:"scale,omitempty"`
	Contribution float64  `json:"contribution"`

	Combined       []CombinedField `json:"combined,omitempty"`
	CombinedLength float64         `json:"combined_length,omitempty"`

	Functions []FunctionValue `json:"functions,omitempty"`
}

// FunctionValue is the value of a function for a document, with its weight.
type FunctionValue struct {
	Function string  `json:"function"`
	Applies  bool    `json:"applies"`
	Value    float64 `json:"value"`
}

// CombinedField is a field that is scored as one with others.
type CombinedField struct {
	Field  string  `json:"field"`
	Weight float64 `json:"weight"`
}
