package griffin

import "github.com/griffin-search/griffin/internal/index"

// ColumnStats describes the values of a field that has a column, over all segments and with the documents
// that are not yet merged away.
type ColumnStats struct {
	Name      string `json:"name"`
	Type      string `json:"type"`     // as in MappedField
	NumDocs   uint64 `json:"num_docs"` // that have a value
	NumValues uint64 `json:"num_values"`
	// NumTerms is the number of distinct values, summed over segments; 0 for numbers.
	NumTerms uint64 `json:"num_terms,omitempty"`
	// Min and Max are the least and the greatest number or date; "" for other types, and without values.
	Min string `json:"min,omitempty"`
	Max string `json:"max,omitempty"`
	// Sortable: the field can be sorted and counted ("doc_values" is not false).
	Sortable  bool  `json:"sortable"`
	SizeBytes int64 `json:"size_bytes"`
}

// columnStats describes the fields with columns, in the order of declaration.
func columnStats(snapshot *index.Snapshot) ([]ColumnStats, error) {
	var all []ColumnStats
	fields := snapshot.Options.FieldMapping().Fields()
	for i := range fields {
		f := &fields[i]
		if !f.HasNumbers() && !f.HasOrdinals() {
			continue
		}
		s := ColumnStats{Name: f.Name, Type: f.Type.String(), Sortable: !f.NoDocValues}
		var lo, hi int64
		for j := range snapshot.Segments {
			c, ok, err := snapshot.Segments[j].Column(f.Name)
			if err != nil {
				return nil, err
			}
			if !ok || c.NumValues() == 0 {
				continue
			}
			from, to := c.Bounds()
			if s.NumValues == 0 {
				lo, hi = from, to
			}
			lo, hi = min(lo, from), max(hi, to)
			s.NumDocs += uint64(c.NumWith())
			s.NumValues += uint64(c.NumValues())
			s.SizeBytes += c.SizeBytes()
			if f.HasOrdinals() {
				s.NumTerms += uint64(c.NumTerms())
			}
		}
		if s.NumValues > 0 && f.HasNumbers() && f.Type.String() != "geo_point" {
			s.Min, s.Max = string(f.AppendNumber(nil, lo)), string(f.AppendNumber(nil, hi))
		}
		all = append(all, s)
	}
	return all, nil
}
