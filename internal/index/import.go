package index

import (
	"context"
	"errors"

	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/inverter"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/vfs"
)

// ImportOptions are the options of Import. The fields are described at BuildOptions.
type ImportOptions struct {
	MemoryBytes int64
	Threads     int
	Reorder     string
	Progress    func(Progress)
	OnDuplicate func(id string, earlier, later corpus.Location)
}

// Import commits the documents of a source, posting lists that were made elsewhere (a CIFF
// file), as one more segment. Of documents with one id the last wins. The options of the
// index must fit the source: NoStored if it has no stored documents, no Positions if it
// has none. Fields that the source lacks are empty. Locks, errors and cancellation are as
// in Build.
func (ix *Index) Import(ctx context.Context, src segment.Source, opts ImportOptions) (report Report, err error) {
	defer vfs.RecoverFault(vfs.PanicOnFault(), &err)
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

	unique, err := inverter.DropDuplicates(src, opts.OnDuplicate)
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
