package index

import (
	"context"
	"errors"

	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/inverter"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/vfs"
)

// ImportOptions are as in BuildOptions.
type ImportOptions struct {
	MemoryBytes int64
	Threads     int
	Reorder     string
	Progress    func(Progress)
	OnDuplicate func(id string, earlier, later corpus.Location)
}

// Import commits a source's documents, posting lists made elsewhere (a CIFF file), as one more
// segment. Of equal ids the last wins. The index's options must fit: NoStored and no Positions
// if the source has none. Missing fields are empty. Locks, errors and cancellation are as in
// Build.
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
