package index

import (
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"sync/atomic"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/impact"
	"github.com/griffin-search/griffin/internal/vfs"
)

// openImpacts are a snapshot's impact-ordered lists, opened for the first query.
type openImpacts struct {
	settings *ImpactSettings // as in the manifest
	opening  sync.Mutex
	opened   atomic.Pointer[impact.Index] // nil: not yet
}

func (o *openImpacts) close() {
	if x := o.opened.Load(); x != nil {
		_ = x.Close() // a read-only mapping loses no data
	}
}

// Impacts returns the impact-ordered lists, valid until the snapshot is released: those of the
// file, or if there is none and the index once had some, lists that are computed from the posting
// lists for the queries that need them. Either way they are those of a new index of the live
// documents. The first call opens the file, or reads all terms and some posting lists; others cost a
// load. The error wraps ErrNoImpacts, or base.ErrCorrupt if they are damaged or of another index.
func (s *Snapshot) Impacts() (*impact.Index, error) {
	if x := s.impacts.opened.Load(); x != nil {
		return x, nil
	}
	return s.openImpacts(true)
}

// ImpactSettings is how the lists of Impacts are made; nil: nobody made any, or an earlier version of
// Griffin did. It must not be changed.
func (s *Snapshot) ImpactSettings() *ImpactSettings { return s.impacts.settings }

func (s *Snapshot) openImpacts(compute bool) (x *impact.Index, err error) {
	defer vfs.RecoverFault(vfs.PanicOnFault(), &err)
	s.impacts.opening.Lock()
	defer s.impacts.opening.Unlock()
	if x := s.impacts.opened.Load(); x != nil {
		return x, nil
	}
	if x, err = s.storedImpacts(); compute && errors.Is(err, ErrNoImpacts) && s.impacts.settings != nil {
		x, err = s.computedImpacts()
	}
	if err != nil {
		return nil, err
	}
	s.impacts.opened.Store(x)
	return x, nil
}

// StoredImpacts are the lists of the file. The error is as of Impacts.
func (s *Snapshot) StoredImpacts() (*impact.Index, error) {
	x, err := s.openImpacts(false)
	if err == nil && x.IsComputed() {
		return nil, s.noImpacts()
	}
	return x, err
}

func (s *Snapshot) noImpacts() error {
	return fmt.Errorf("index %s, generation %d: %w", s.index.dir, s.Generation, ErrNoImpacts)
}

func (s *Snapshot) storedImpacts() (*impact.Index, error) {
	x, err := impact.Open(s.index.fs, s.index.path(impactsName(s.Generation)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, s.noImpacts()
	}
	if err != nil {
		return nil, err
	}
	if m := x.Meta(); m.IndexID != s.indexID || m.Generation != s.Generation || m.NumDocs != s.NumDocs {
		return nil, errors.Join(fmt.Errorf("%s: of another index, or an older one: %w", impactsName(s.Generation), base.ErrCorrupt), x.Close())
	}
	return x, nil
}

func (s *Snapshot) impactOptions(settings *ImpactSettings, q impact.Quantizer) impact.Options {
	o := settings.options()
	o.IndexID, o.Generation, o.NumDocs, o.Quantizer = s.indexID, s.Generation, s.NumDocs, q
	return o
}

// impactScorer returns the score of a posting of a term of docFreq live documents.
func (s *Snapshot) impactScorer(settings *ImpactSettings, docFreq uint64) func(freq, length uint32) base.Score {
	if settings.Ranking == impact.RankingWeights {
		return func(freq, _ uint32) base.Score { return base.Score(freq) }
	}
	f := &s.Fields[0]
	return settings.ranking().Term(f.NumDocs, docFreq, f.AvgLen()).Score
}
