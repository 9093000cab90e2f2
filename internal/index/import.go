package index

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/segment"
)

// ImportOptions say how posting lists from outside are taken over. The fields
// mean what those of BuildOptions mean.
type ImportOptions struct {
	MemoryBytes int64
	Threads     int
	Reorder     string
	Progress    func(Progress)
	OnDuplicate func(id string, earlier, later corpus.Location)
}

// Import commits the documents of a source, posting lists that were made
// elsewhere (a CIFF file), as one more segment. Of documents with one id the
// last wins. The index must not ask for what the source lacks: NoStored if it
// has no stored documents, no Positions if it has none; fields that the source
// does not have are empty. Locks, errors and cancellation are those of Build.
func (ix *Index) Import(ctx context.Context, src segment.Source, opts ImportOptions) (report Report, err error) {
	o, err := BuildOptions{MemoryBytes: opts.MemoryBytes, Threads: opts.Threads, Reorder: opts.Reorder}.withDefaults()
	if err != nil {
		return Report{}, err
	}
	s, err := ix.begin()
	if err != nil {
		return Report{}, err
	}
	defer func() { err = errors.Join(err, s.end()) }()
	m := startMeter(nil, opts.Progress)
	defer m.end()

	unique, err := dropSourceDuplicates(src, opts.OnDuplicate)
	if err != nil {
		return Report{}, err
	}
	result, err := s.apply(ctx, change{
		sources:     []segment.Source{unique},
		failed:      func() error { return nil },
		reorder:     o.Reorder == ReorderBP,
		memoryBytes: o.MemoryBytes,
		threads:     o.Threads,
		progress:    m.enter,
	})
	if err != nil {
		return Report{}, err
	}
	return Report{
		Docs:       int64(src.NumDocs() - unique.Dropped().Count()),
		Duplicates: int64(unique.Dropped().Count() - src.Dropped().Count()),
		Replaced:   int64(result.deleted),
		Segment:    result.segment,
	}, nil
}

// uniqueSource is a source with some more documents dropped.
type uniqueSource struct {
	segment.Source
	dropped *segment.Bitmap
}

var _ segment.Source = (*uniqueSource)(nil)

// Dropped implements segment.Source.
func (s *uniqueSource) Dropped() *segment.Bitmap { return s.dropped }

// dropSourceDuplicates drops each document that a later one has the id of.
func dropSourceDuplicates(src segment.Source, report func(id string, earlier, later corpus.Location)) (*uniqueSource, error) {
	u := &uniqueSource{Source: src, dropped: src.Dropped()}
	var hashes []idHash
	for doc := range src.NumDocs() {
		if src.Dropped().Has(doc) {
			continue
		}
		id := src.ID(doc)
		if len(id) == 0 || len(id) > maxIDBytes {
			return nil, fmt.Errorf("document %d: id of %d bytes, want 1 to %d: %w", doc, len(id), maxIDBytes, base.ErrBadInput)
		}
		hashes = append(hashes, idHash{hashID(id), uint32(doc)})
	}
	slices.SortFunc(hashes, compareHash)
	for i := range hashes {
		for j := i + 1; j < len(hashes) && hashes[j].hash == hashes[i].hash; j++ {
			earlier, later := int(hashes[i].doc), int(hashes[j].doc)
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
