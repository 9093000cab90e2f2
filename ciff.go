package griffin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/griffin-search/griffin/ciff"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/interchange"
	"github.com/griffin-search/griffin/internal/vfs"
)

// CIFFImportOptions configure ImportCIFF. The zero value has the defaults.
type CIFFImportOptions struct {
	// Reorder is as in FilesOptions.
	Reorder Reorder
	// Progress, if not nil, is called a few times a second and at the end.
	Progress func(Progress)
	// OnDuplicate, if not nil, is called for each id of several documents; the last one is
	// kept.
	OnDuplicate func(id string)
}

// CIFFReport is the result of ImportCIFF and ExportCIFF.
type CIFFReport struct {
	Docs  int64         `json:"docs"`
	Lists int64         `json:"posting_lists"`
	Took  time.Duration `json:"took_ns"`
}

// ImportCIFF adds the documents of a file in the Common Index File Format and commits them.
// open returns the file from its start, more than once. The index must have NoStored,
// NoPositions and no Fields, because CIFF has none of them; terms are kept unchanged, so choose
// an Analyzer whose terms match. The error wraps ErrBadInput if the file is not valid, and
// ErrLocked if another process writes to the index.
func (ix *Index) ImportCIFF(ctx context.Context, open func() (io.ReadCloser, error), o CIFFImportOptions) (CIFFReport, error) {
	began := time.Now()
	source, err := interchange.NewSource(open)
	if err != nil {
		return CIFFReport{}, ciffError(err)
	}
	options := index.ImportOptions{MemoryBytes: ix.options.IndexMemory, Threads: ix.options.IndexThreads, Reorder: string(o.Reorder)}
	if o.Progress != nil {
		options.Progress = func(p index.Progress) { o.Progress(progressOf(p, time.Since(began))) }
	}
	if o.OnDuplicate != nil {
		options.OnDuplicate = func(id string, _, _ corpus.Location) { o.OnDuplicate(id) }
	}
	if err := recoverLog(ctx, ix.ix); err != nil {
		return CIFFReport{}, err
	}
	r, err := ix.ix.Import(ctx, source, options)
	if err != nil {
		return CIFFReport{}, ciffError(err)
	}
	return CIFFReport{Docs: r.Docs, Lists: int64(source.Header().NumPostingsLists), Took: time.Since(began)}, nil
}

func ciffError(err error) error {
	if errors.Is(err, ciff.ErrInvalid) && !errors.Is(err, ErrBadInput) {
		return fmt.Errorf("%w: %w", err, ErrBadInput)
	}
	return err
}

// CIFFExportOptions configure ExportCIFF. The zero value has the defaults.
type CIFFExportOptions struct {
	// Description stands in the header; "" is the version and the analyzer.
	Description string
	// Progress, if not nil, is called a few times a second with posting lists.
	Progress func(done, total int64)
}

// ExportCIFF writes the terms, posting lists, lengths and IDs of the last commit in the Common
// Index File Format. Deleted documents are left out and the others renumbered. After an error
// the output is not valid.
func (ix *Index) ExportCIFF(ctx context.Context, w io.Writer, o CIFFExportOptions) (_ CIFFReport, err error) {
	defer vfs.RecoverFault(vfs.PanicOnFault(), &err)
	began := time.Now()
	snapshot, err := ix.ix.Snapshot()
	if err != nil {
		return CIFFReport{}, err
	}
	defer snapshot.Release()
	if o.Description == "" {
		o.Description = fmt.Sprintf("Griffin %s, analyzer %s", Version, snapshot.Options.Analyzer)
		if scale := snapshot.Options.WeightScale; scale != 0 {
			o.Description += fmt.Sprintf(", weights times %g", scale)
		}
	}
	parts := make([]interchange.Part, len(snapshot.Segments))
	for i, view := range snapshot.Segments {
		parts[i] = interchange.Part{Segment: view.Segment, Live: view.Live}
	}
	h, err := interchange.Export(ctx, w, parts, interchange.ExportOptions{Description: o.Description, Progress: o.Progress})
	if err != nil {
		return CIFFReport{}, err
	}
	return CIFFReport{Docs: int64(h.NumDocs), Lists: int64(h.NumPostingsLists), Took: time.Since(began)}, nil
}
