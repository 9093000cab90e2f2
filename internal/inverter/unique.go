package inverter

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/column"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/segment"
)

type uniqueSource struct {
	segment.Source
	dropped *segment.Bitmap
}

var (
	_ segment.Source   = (*uniqueSource)(nil)
	_ segment.Columned = (*uniqueSource)(nil)
)

func (s *uniqueSource) Dropped() *segment.Bitmap { return s.dropped }

// Columns implements segment.Columned.
func (s *uniqueSource) Columns() (*column.Set, error) {
	if c, ok := s.Source.(segment.Columned); ok {
		return c.Columns()
	}
	return nil, nil
}

// DropDuplicates returns src without documents that have a later one's id. The error wraps
// base.ErrBadInput for an id that cannot be indexed.
func DropDuplicates(src segment.Source, report func(id string, earlier, later corpus.Location)) (segment.Source, error) {
	u := &uniqueSource{Source: src, dropped: src.Dropped()}
	var hashes []keyed
	for doc := range src.NumDocs() {
		if src.Dropped().Has(doc) {
			continue
		}
		id := src.ID(doc)
		if len(id) == 0 || len(id) > MaxIDBytes {
			return nil, fmt.Errorf("document %d: id of %d bytes, want 1 to %d: %w", doc, len(id), MaxIDBytes, base.ErrBadInput)
		}
		hashes = append(hashes, keyed{Key: hashID(id), Number: uint32(doc)})
	}
	slices.SortFunc(hashes, keyed.Compare)
	for i := range hashes {
		for j := i + 1; j < len(hashes) && hashes[j].Key == hashes[i].Key; j++ {
			earlier, later := int(hashes[i].Number), int(hashes[j].Number)
			id := bytes.Clone(src.ID(earlier))
			if !bytes.Equal(id, src.ID(later)) {
				continue
			}
			if u.dropped == src.Dropped() {
				if u.dropped = src.Dropped().Clone(); u.dropped == nil {
					u.dropped = segment.NewBitmap(src.NumDocs())
				}
			}
			u.dropped.Set(earlier)
			if report != nil {
				report(string(id), corpus.Location{}, corpus.Location{})
			}
			break
		}
	}
	return u, nil
}
