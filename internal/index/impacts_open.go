package index

import (
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"sync/atomic"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/impact"
	"github.com/griffin-search/griffin/internal/vfs"
)

// openImpacts are a snapshot's impact-ordered lists, opened for the first query.
type openImpacts struct {
	settings  *ImpactSettings // as in the manifest
	opening   sync.Mutex      // of the file, for a moment
	computing baton           // for seconds
	begun     *scoreRange     // of a query that had no time for the rest; whoever has computing may take it
	stored    atomic.Pointer[impact.Index]
	computed  atomic.Pointer[impact.Index]
}

func (o *openImpacts) close() {
	for _, x := range []*impact.Index{o.stored.Load(), o.computed.Load()} {
		if x != nil {
			_ = x.Close() // a read-only mapping loses no data
		}
	}
}

// Impacts returns the impact-ordered lists, valid until the snapshot is released: those of the
// file, or if there is none and the index once had some, lists that are computed from the posting
// lists for the queries that need them. Either way they are those of a new index of the live
// documents. The first call opens the file, or reads all terms and some posting lists; others cost a
// load. The error wraps ErrNoImpacts, or base.ErrCorrupt if they are damaged or of another index.
func (s *Snapshot) Impacts() (*impact.Index, error) { return s.ImpactsUntil(nil) }

// Interrupt is as in package traverse.
type Interrupt interface{ Err() error }

// ImpactsUntil is Impacts that ends with the error of stop, if it is not nil, once that has one.
func (s *Snapshot) ImpactsUntil(stop Interrupt) (x *impact.Index, err error) {
	if x := s.impacts.computed.Load(); x != nil { // it stays, also if a file is made
		return x, nil
	}
	if x, err = s.StoredImpacts(); !errors.Is(err, ErrNoImpacts) || s.impacts.settings == nil {
		return x, err
	}
	defer vfs.RecoverFault(vfs.PanicOnFault(), &err)
	o := &s.impacts
	for {
		select {
		case o.computing <- struct{}{}:
			defer o.computing.giveBack()
			if x := o.computed.Load(); x != nil {
				return x, nil
			}
			if x, err = s.computedImpacts(stop); err == nil {
				o.computed.Store(x)
			}
			return x, err
		case <-time.After(time.Millisecond):
			if err := interrupted(stop); err != nil {
				return nil, err
			}
		}
	}
}

func interrupted(stop Interrupt) error {
	if stop == nil {
		return nil
	}
	return stop.Err()
}

// ImpactSettings is how the lists of Impacts are made; nil: nobody made any, or an earlier version of
// Griffin did. It must not be changed.
func (s *Snapshot) ImpactSettings() *ImpactSettings { return s.impacts.settings }

// StoredImpacts are the lists of the file. The error is as of Impacts.
func (s *Snapshot) StoredImpacts() (x *impact.Index, err error) {
	if x := s.impacts.stored.Load(); x != nil {
		return x, nil
	}
	defer vfs.RecoverFault(vfs.PanicOnFault(), &err)
	s.impacts.opening.Lock()
	defer s.impacts.opening.Unlock()
	if x := s.impacts.stored.Load(); x != nil {
		return x, nil
	}
	if x, err = s.storedImpacts(); err != nil {
		return nil, err
	}
	s.impacts.stored.Store(x)
	return x, nil
}

// lacksImpacts reports whether lists are computed, or damaged and can be made again.
func (s *Snapshot) lacksImpacts() bool {
	if s.impacts.settings == nil || s.NumLive == 0 {
		return false
	}
	_, err := s.StoredImpacts()
	return errors.Is(err, ErrNoImpacts) || errors.Is(err, base.ErrCorrupt)
}

// keptImpacts returns the settings for the next commit: those of the manifest, or of the file, because former versions of
// Griffin kept them only there. nil: there are no lists, or they cannot be read, which must not prevent a commit, or are of
// another program.
func (s *Snapshot) keptImpacts() *ImpactSettings {
	if s.impacts.settings != nil || s.Generation == 0 {
		return s.impacts.settings
	}
	x, err := s.StoredImpacts()
	if err != nil || x.Meta().Ranking == impact.RankingExternal {
		return nil
	}
	m := x.Meta()
	o := impact.Options{Codec: m.Codec}.WithDefaults()
	return &ImpactSettings{Ranking: m.Ranking, K1: m.K1, B: m.B, Codec: o.Codec, BitmapBits: o.BitmapBits, RawBelow: o.RawBelow}
}

// showKeptImpacts shows the current commit m with the settings of the next ones.
func (ix *Index) showKeptImpacts(m *manifest) error {
	snapshot, err := ix.Snapshot()
	if err != nil {
		return err
	}
	defer snapshot.Release()
	next := m.clone()
	if next.Impacts = snapshot.keptImpacts(); next.Impacts == m.Impacts {
		return nil
	}
	ix.showing.Lock()
	defer ix.showing.Unlock()
	return ix.show(next)
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
	if of, m := s.impacts.settings, x.Meta(); of != nil && (m.RankingOf() != of.ranking()) {
		return nil, errors.Join(fmt.Errorf("%s: %s with k1=%g and b=%g, but the manifest has %s with k1=%g and b=%g: %w",
			impactsName(s.Generation), m.Ranking, m.K1, m.B, of.Ranking, of.K1, of.B, base.ErrCorrupt), x.Close())
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
