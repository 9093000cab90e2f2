package segment

// Sizes are the bytes of a segment by part. Their sum is the size of the files.
type Sizes struct {
	Dictionary int64 `json:"dictionary"` // terms and records
	Postings   int64 `json:"postings"`   // DocIDs, frequencies, directories
	Positions  int64 `json:"positions"`
	Frontiers  int64 `json:"frontiers"` // bounds for any BM25 parameters
	Lengths    int64 `json:"lengths"`
	IDs        int64 `json:"ids"`
	Stored     int64 `json:"stored"` // with its order
}

// Total returns the size of all parts in bytes.
func (z Sizes) Total() int64 {
	return z.Dictionary + z.Postings + z.Positions + z.Frontiers + z.Lengths + z.IDs + z.Stored
}

// Add returns the sums of the parts.
func (z Sizes) Add(o Sizes) Sizes {
	z.Dictionary += o.Dictionary
	z.Postings += o.Postings
	z.Positions += o.Positions
	z.Frontiers += o.Frontiers
	z.Lengths += o.Lengths
	z.IDs += o.IDs
	z.Stored += o.Stored
	return z
}

// Sizes returns the sizes of the files by purpose, in bytes.
func (s *Segment) Sizes() Sizes {
	var z Sizes
	for _, f := range s.meta.Files {
		switch f.Name {
		case fileTerms, fileRecords:
			z.Dictionary += f.SizeBytes
		case filePostings:
			z.Postings += f.SizeBytes
		case filePositions:
			z.Positions += f.SizeBytes
		case fileFrontiers:
			z.Frontiers += f.SizeBytes
		case fileLengths:
			z.Lengths += f.SizeBytes
		case fileIDs:
			z.IDs += f.SizeBytes
		case fileStored, fileOrder:
			z.Stored += f.SizeBytes
		}
	}
	return z
}
