package exec

// Explanation tells how the score of one document came about.
type Explanation struct {
	// Matches says whether the document is an answer of the query in the mode
	// asked. Where it is not, Score is 0 and Parts are what it has of the query.
	Matches bool `json:"matches"`
	// Score in BM25 units is exactly the sum of the Contributions.
	Score float64 `json:"score"`
	Mode  Mode    `json:"mode"`
	// Parts are the terms and phrases of the query, in its order, duplicates
	// summed into one.
	Parts []Part `json:"parts"`
	// Notes say what the planner left out, and why.
	Notes []string `json:"notes,omitempty"`
}

// Part is a term's or a phrase's share of a score:
//
//	Contribution = IDF * Boost * Freq / (Freq + K1*(1 - B + B*Length/AvgLength))
//
// or, in an index of weights,
//
//	Contribution = Boost * Freq / Scale
//
// rounded to a multiple of 2^-16. (IDF * Boost counts as at most 60000, which
// only a phrase of many rare terms with nearly the largest boost can reach.)
type Part struct {
	Field string `json:"field,omitempty"`
	// Terms are the index terms: one, or those of a phrase in their order.
	Terms []string `json:"terms"`
	// Excluded says that the part stands under a minus: it has no Contribution.
	Excluded bool `json:"excluded,omitempty"`
	// Freq is how often the part occurs in the document's field, 0 if not at all.
	Freq uint32 `json:"freq"`
	// Length of the document's field in tokens, and the mean over all documents
	// (those that are deleted but not yet merged away included).
	Length    uint32  `json:"length"`
	AvgLength float64 `json:"avg_length"`
	// DocFreq of each term, in a collection of NumDocs documents.
	DocFreq []uint64 `json:"doc_freq"`
	NumDocs uint64   `json:"num_docs"`
	// IDF, for a phrase the sum over its terms.
	IDF   float64 `json:"idf"`
	Boost float64 `json:"boost"`
	K1    float32 `json:"k1"`
	B     float32 `json:"b"`
	// Scale of an index of weights, whose Freq are scaled weights and where IDF, K1
	// and B play no part; else 0.
	Scale float64 `json:"scale,omitempty"`
	// Contribution to the score, 0 if Freq is 0 or the part is Excluded.
	Contribution float64 `json:"contribution"`
}
