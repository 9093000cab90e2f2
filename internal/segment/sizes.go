package segment

import "path/filepath"

// Sizes are a segment's bytes by part; their sum is the files' size.
type Sizes struct {
	Dictionary int64 `json:"dictionary"` // terms and records
	Postings   int64 `json:"postings"`   // DocIDs, frequencies, directories
	Positions  int64 `json:"positions"`
	Frontiers  int64 `json:"frontiers"` // bounds for any BM25 parameters
	Lengths    int64 `json:"lengths"`
	IDs        int64 `json:"ids"`
	Stored     int64 `json:"stored"` // with its order
	Columns    int64 `json:"columns"`
}

// Total is the size in bytes.
func (z Sizes) Total() int64 {
	return z.Dictionary + z.Postings + z.Positions + z.Frontiers + z.Lengths + z.IDs + z.Stored + z.Columns
}

// Add returns the sums.
func (z Sizes) Add(o Sizes) Sizes {
	z.Dictionary += o.Dictionary
	z.Postings += o.Postings
	z.Positions += o.Positions
	z.Frontiers += o.Frontiers
	z.Lengths += o.Lengths
	z.IDs += o.IDs
	z.Stored += o.Stored
	z.Columns += o.Columns
	return z
}

// Sizes returns the files' bytes.
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
		case fileIDs, fileVersions:
			z.IDs += f.SizeBytes
		case fileStored, fileOrder, fileInverse:
			z.Stored += f.SizeBytes
		case fileColumns:
			z.Columns += f.SizeBytes
		}
	}
	return z
}

// IsRarelyRead reports whether searches read little of the file of a segment with that name. It is the one with stored
// documents: a search reads those of its hits, but all lists of its terms.
func IsRarelyRead(name string) bool { return filepath.Base(name) == fileStored }
