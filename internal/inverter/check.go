package inverter

import (
	"fmt"
	"math"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
)

// Check returns an error that wraps base.ErrBadInput if a document cannot be indexed.
func (s *Schema) Check(d *corpus.Document) error {
	if err := checkDocument(d); err != nil {
		return err
	}
	if s.Stored && len(d.Extra) > corpus.MaxFields {
		return fmt.Errorf("document with %d fields, at most %d: %w", len(d.Extra), corpus.MaxFields, base.ErrBadInput)
	}
	if s.Mapping != nil {
		if err := s.checkMapped(d); err != nil {
			return err
		}
	}
	return s.checkVector(d)
}

func checkDocument(d *corpus.Document) error {
	if d.ID == "" {
		return fmt.Errorf("empty document id: %w", base.ErrBadInput)
	}
	if len(d.ID) > MaxIDBytes {
		return fmt.Errorf("document id of %d bytes, at most %d: %w", len(d.ID), MaxIDBytes, base.ErrBadInput)
	}
	size := len(d.Title) + len(d.Text)
	for i := range d.Extra {
		size += len(d.Extra[i].Value)
	}
	for i := range d.Vector {
		size += len(d.Vector[i].Term)
	}
	if size > maxDocBytes {
		return fmt.Errorf("document of %d bytes, at most %d: %w", size, maxDocBytes, base.ErrBadInput)
	}
	return nil
}

const (
	// MaxIDBytes bounds an id.
	MaxIDBytes = math.MaxUint16
	// A dictionary's longest term.
	maxTermBytes = 1 << 15
	// A document's tokens stay within the 1 GiB between two times maxSlabBytes and 2^32.
	maxDocBytes = 128 << 20
)
