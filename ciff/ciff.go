package ciff

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// ErrInvalid means that the input is not a CIFF file, is damaged or truncated, or that the
// output would be invalid.
var ErrInvalid = errors.New("invalid CIFF data")

// Version is the version of the format.
const Version = 1

// Header starts a file.
type Header struct {
	Version int32
	// NumPostingsLists and NumDocs count the records of this file.
	NumPostingsLists, NumDocs int32
	// TotalPostingsLists and TotalDocs count the records of the exported index, of which
	// the file may hold a part.
	TotalPostingsLists, TotalDocs int32
	// TotalTermsInCollection is the number of tokens in that index.
	TotalTermsInCollection int64
	AverageDocLength       float64
	Description            string
}

// Posting is an occurrence of a term, TF times, in a document.
type Posting struct {
	DocID int32 // >= 0, < Header.NumDocs
	TF    int32 // >= 1; in indexes of learned weights, the weight
}

// PostingsList is the list of one term, in increasing order of documents. Its length is the
// document frequency of the term.
type PostingsList struct {
	Term     string // UTF-8
	Postings []Posting
}

// CollFreq returns the collection frequency, the sum of the term frequencies.
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

// check returns an error if d is not a valid record of the document want.
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
