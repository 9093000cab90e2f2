package ciff

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// ErrInvalid means input that is not CIFF, damaged or truncated, or output that is invalid.
var ErrInvalid = errors.New("invalid CIFF data")

// Version is the format's version.
const Version = 1

// Header starts a file.
type Header struct {
	Version int32
	// NumPostingsLists and NumDocs count this file's records.
	NumPostingsLists, NumDocs int32
	// TotalPostingsLists and TotalDocs count the exported index's, of which the file may hold a
	// part.
	TotalPostingsLists, TotalDocs int32
	// TotalTermsInCollection counts that index's tokens.
	TotalTermsInCollection int64
	AverageDocLength       float64
	Description            string
}

// Posting is a term's occurrence in a document, TF times.
type Posting struct {
	DocID int32 // >= 0, < Header.NumDocs
	TF    int32 // >= 1; in indexes of learned weights, the weight
}

// PostingsList is a term's list in increasing order of documents; its length is the document
// frequency.
type PostingsList struct {
	Term     string // UTF-8
	Postings []Posting
}

// CollFreq is the sum of the term frequencies.
func (l *PostingsList) CollFreq() int64 {
	sum := int64(0)
	for _, p := range l.Postings {
		sum += int64(p.TF)
	}
	return sum
}

// DocRecord describes a document. Records are in order of DocID, from 0 without gaps.
type DocRecord struct {
	DocID           int32
	CollectionDocID string // id in the collection
	DocLength       int32  // number of tokens
}

func (h *Header) check() error {
	switch {
	case h.Version != Version:
		return fmt.Errorf("version %d, only %d is known", h.Version, Version)
	case h.NumPostingsLists < 0 || h.NumDocs < 0 || h.TotalPostingsLists < 0 || h.TotalDocs < 0 || h.TotalTermsInCollection < 0:
		return errors.New("a count is negative")
	case h.NumPostingsLists > h.TotalPostingsLists:
		return fmt.Errorf("%d posting lists of %d in total", h.NumPostingsLists, h.TotalPostingsLists)
	case h.NumDocs > h.TotalDocs:
		return fmt.Errorf("%d documents of %d in total", h.NumDocs, h.TotalDocs)
	case !(h.AverageDocLength >= 0): // also rejects NaN
		return fmt.Errorf("average document length %v", h.AverageDocLength)
	case !utf8.ValidString(h.Description) || len(h.Description) > maxStringBytes:
		return fmt.Errorf("the description is not UTF-8, or longer than %d bytes", maxStringBytes)
	}
	return nil
}

func (d *DocRecord) check(want int32) error {
	switch {
	case d.DocID != want:
		return fmt.Errorf("docid %d, want %d", d.DocID, want)
	case d.DocLength < 0:
		return fmt.Errorf("document length %d", d.DocLength)
	case d.CollectionDocID == "":
		return errors.New("the id in the collection is empty")
	}
	return nil
}
