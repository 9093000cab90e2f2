package ding09

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/bits"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/segment"
)

// maxGlobal is the greatest global score, so that one fits in 32 bits as a base.Score.
const maxGlobal = 1<<(32-base.ScoreFractionBits) - 1

// globals are the documents' global scores, from a file: "a precomputed global document score such as
// Pagerank (provided in a separate array)" (§8.4). Documents that the file does not name have 0. Safe for
// concurrent use.
type globals struct {
	file    string
	scores  []globalScore // by id
	unknown atomic.Int64  // documents of the file that the last searched snapshot lacks

	mu       sync.Mutex
	segments map[weak.Pointer[segment.Segment]]*globalsOfSegment // of open segments
}

type globalScore struct {
	id    string
	score uint32 // a base.Score
	line  int32
}

// globalsOfSegment is made at the first query.
type globalsOfSegment struct {
	making chan struct{} // has an element while one goroutine makes it
	made   atomic.Pointer[documentScores]
}

// documentScores has the array of a segment.
type documentScores struct {
	scores []uint32 // by DocID
	most   uint32   // the maximum
	named  *segment.Bitmap
	live   atomic.Pointer[liveCount] // of the last snapshot
}

// liveCount is the number of named documents that are not deleted.
type liveCount struct {
	live *segment.Bitmap
	n    int
}

// readGlobals reads a file with a line for each document: its external id, a tab, and a score from 0 to
// maxGlobal. The error wraps base.ErrBadInput and names the line.
func readGlobals(file string) (*globals, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("global scores: %w: %w", err, base.ErrBadInput)
	}
	g := &globals{file: file, segments: map[weak.Pointer[segment.Segment]]*globalsOfSegment{}}
	if g.scores, err = parseGlobals(file, string(text)); err != nil {
		return nil, err
	}
	return g, nil
}

func parseGlobals(file, text string) ([]globalScore, error) {
	bad := func(line int, format string, args ...any) error {
		return fmt.Errorf("%s:%d: %s: %w", file, line, fmt.Sprintf(format, args...), base.ErrBadInput)
	}
	var scores []globalScore
	for line := 1; text != ""; line++ {
		var row string
		row, text, _ = strings.Cut(text, "\n")
		id, value, ok := strings.Cut(strings.TrimSuffix(row, "\r"), "\t")
		if !ok || id == "" {
			return nil, bad(line, "want the id of a document, a tab, and its score")
		}
		score, err := strconv.ParseFloat(value, 64)
		if err != nil || !(score >= 0 && score <= maxGlobal) {
			return nil, bad(line, "score %q: want a number from 0 to %d", value, maxGlobal)
		}
		if line > math.MaxInt32 {
			return nil, bad(line, "too many lines")
		}
		scores = append(scores, globalScore{id, uint32(math.Round(math.Ldexp(score, base.ScoreFractionBits))), int32(line)})
	}
	if len(scores) == 0 {
		return nil, fmt.Errorf("%s: no scores: %w", file, base.ErrBadInput)
	}
	slices.SortFunc(scores, func(a, b globalScore) int { return cmp.Or(strings.Compare(a.id, b.id), cmp.Compare(a.line, b.line)) })
	for i := 1; i < len(scores); i++ {
		if a, b := &scores[i-1], &scores[i]; a.id == b.id {
			return nil, bad(int(b.line), "document %q has a score in line %d already", b.id, a.line)
		}
	}
	return scores, nil
}

// of returns the scores of the segments of a snapshot, and the number of documents that it lacks. The error is
// the context's, or wraps base.ErrCorrupt.
func (g *globals) of(ctx context.Context, snapshot *index.Snapshot) (all []*documentScores, unknown int, err error) {
	all = make([]*documentScores, len(snapshot.Segments))
	unknown = len(g.scores)
	for i := range all {
		view := &snapshot.Segments[i]
		if all[i], err = g.segment(ctx, view.Segment); err != nil {
			return nil, 0, err
		}
		unknown -= all[i].numLive(view.Live)
	}
	g.unknown.Store(int64(unknown))
	return all, unknown, nil
}

func (g *globals) segment(ctx context.Context, s *segment.Segment) (*documentScores, error) {
	e := g.entry(s)
	if d := e.made.Load(); d != nil {
		return d, nil
	}
	select {
	case e.making <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-e.making }()
	if d := e.made.Load(); d != nil {
		return d, nil
	}
	d, err := g.find(ctx, s)
	if err == nil {
		e.made.Store(d)
	}
	return d, err
}

func (g *globals) entry(s *segment.Segment) *globalsOfSegment {
	g.mu.Lock()
	defer g.mu.Unlock()
	key := weak.Make(s)
	e := g.segments[key]
	if e == nil {
		e = &globalsOfSegment{making: make(chan struct{}, 1)}
		g.segments[key] = e
		runtime.AddCleanup(s, globalsKey.forget, globalsKey{weak.Make(g), key})
	}
	return e
}

// globalsKey does not keep the scores of a closed engine in memory.
type globalsKey struct {
	globals weak.Pointer[globals]
	segment weak.Pointer[segment.Segment]
}

// forget drops the scores of a segment that is no longer in use.
func (k globalsKey) forget() {
	if g := k.globals.Value(); g != nil {
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.segments, k.segment)
	}
}

// find looks up each document of the file, about half a microsecond each.
func (g *globals) find(ctx context.Context, s *segment.Segment) (*documentScores, error) {
	d := &documentScores{scores: make([]uint32, s.NumDocs()), named: segment.NewBitmap(s.NumDocs())}
	var id []byte
	for i := range g.scores {
		if i%pollEvery == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		id = append(id[:0], g.scores[i].id...)
		docID, found, err := s.Lookup(id)
		if err != nil {
			return nil, err
		}
		if found {
			d.scores[docID] = g.scores[i].score
			d.most = max(d.most, g.scores[i].score)
			d.named.Set(int(docID))
		}
	}
	return d, nil
}

// numLive returns the number of named documents that are not deleted. A document of an index is live in
// at most one segment.
func (d *documentScores) numLive(live *segment.Bitmap) int {
	if live == nil {
		return d.named.Count()
	}
	if c := d.live.Load(); c != nil && c.live == live {
		return c.n
	}
	n := 0
	for i, w := range d.named.Words() {
		n += bits.OnesCount64(w & live.Words()[i])
	}
	d.live.Store(&liveCount{live, n})
	return n
}
