package plan

// Explanation shows how the score of one document is computed.
type Explanation struct {
	// Matches reports whether the document matches in Mode. If not, Score is 0 and Parts show
	// the terms that the document has.
	Matches bool `json:"matches"`
	// Score, in BM25 units, is exactly the sum of the Contributions.
	Score float64 `json:"score"`
	Mode  Mode    `json:"mode"`
	// Parts are the query's terms and phrases in order, duplicates combined.
	Parts []Part `json:"parts"`
	// Notes are the omitted parts of the query, with reasons.
	Notes []string `json:"notes,omitempty"`
}

// Part is the contribution of a term or phrase to a score:
//
//	Contribution = IDF * Boost * Freq / (Freq + K1*(1 - B + B*Length/AvgLength))
//
// or, in an index of weights,
//
//	Contribution = Boost * Freq / Scale
//
// rounded to a multiple of 2^-16. IDF * Boost is at most 60000; only a phrase of many rare terms
// with nearly the largest boost reaches this limit.
type Part struct {
	Field string `json:"field,omitempty"`
	// Terms are the index terms: one, or a phrase's in order.
	Terms []string `json:"terms"`
	// Excluded parts, under a minus, have no Contribution.
	Excluded bool `json:"excluded,omitempty"`
	// Freq is the number of occurrences in the document's field.
	Freq uint32 `json:"freq"`
	// Length of the document's field in tokens, and the mean over all documents, unmerged
	// deleted ones included.
	Length    uint32  `json:"length"`
	AvgLength float64 `json:"avg_length"`
	// DocFreq of each term, in a collection of NumDocs documents.
	DocFreq []uint64 `json:"doc_freq"`
	NumDocs uint64   `json:"num_docs"`
	// IDF; of a phrase the sum over its terms.
	IDF   float64 `json:"idf"`
	Boost float64 `json:"boost"`
	K1    float32 `json:"k1"`
	B     float32 `json:"b"`
	// Scale of an index of weights, whose Freq are scaled weights, without IDF, K1 and B;
	// otherwise 0.
	Scale float64 `json:"scale,omitempty"`
	// 0 if Freq is 0 or the part is Excluded.
	Contribution float64 `json:"contribution"`
}
