package inverter

import (
	"errors"

	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/segment"
)

// Partials are consecutive documents' partial indexes, in order, for one goroutine.
type Partials struct {
	list  []*partial
	store partialStore
}

// Len counts partial indexes.
func (p *Partials) Len() int { return len(p.list) }

// Spilled counts partial indexes in temporary files.
func (p *Partials) Spilled() (n int) {
	for _, r := range p.list {
		if r.spilled() {
			n++
		}
	}
	return n
}

// NumDocs excludes dropped documents.
func (p *Partials) NumDocs() (n int64) {
	for _, r := range p.list {
		n += int64(r.numDocs - r.dropped.Count())
	}
	return n
}

// numBefore is NumDocs of the documents before one.
func (p *Partials) numBefore(ref docRef) (n int) {
	for i, r := range p.list {
		if makeRef(i, uint32(r.numDocs)) <= ref {
			n += r.numDocs - r.dropped.Count()
			continue
		}
		for doc := range r.numDocs {
			if makeRef(i, uint32(doc)) < ref && !r.dropped.Has(doc) {
				n++
			}
		}
		break
	}
	return n
}

// Sources returns segment.Write's inputs; Err has errors of methods without an error result.
func (p *Partials) Sources() []segment.Source {
	sources := make([]segment.Source, len(p.list))
	for i, r := range p.list {
		sources[i] = r
	}
	return sources
}

// Err returns the first such error.
func (p *Partials) Err() error {
	for _, r := range p.list {
		if r.err != nil {
			return r.err
		}
	}
	return nil
}

// DropDuplicates drops documents with a later one's id and returns their number. report, if not
// nil, is called for each, in order.
func (p *Partials) DropDuplicates(report func(id string, earlier, later corpus.Location)) (n int, err error) {
	found, err := dropDuplicates(p.list)
	if err == nil && report != nil {
		err = reportDuplicates(p.list, found, report)
	}
	return len(found), err
}

// Close closes temporary files, without removing them, and frees memory; the partial indexes must not be used
// afterwards.
func (p *Partials) Close() error {
	err := p.store.close()
	for _, r := range p.list {
		if r != nil {
			r.free()
			err = errors.Join(err, r.columns.close())
		}
	}
	return err
}

// For reading all partial indexes concurrently within a budget.
func (p *Partials) setWindows(budget int64) {
	n := 0
	for _, r := range p.list {
		n += len(r.fields)
	}
	window := p.store.windowBytes(budget, n)
	for _, r := range p.list {
		r.streamBuf = window
	}
}
