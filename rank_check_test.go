package griffin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/topk"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

// check compares the index with a new one of its live documents. The error is of a Writer that is down, or of a failed sync: after a
// sync in the background failed, searches see the last commit until it is open again.
func (h *history) check(t *testing.T) error {
	t.Helper()
	if h.crashes.over() {
		return nil
	}
	resume := h.crashes.hold()
	defer resume()
	if h.crashes.over() {
		return nil
	}
	if h.w != nil {
		if err := h.w.Refresh(h.context(t)); err != nil {
			return err
		}
	}
	h.counts.checks.Add(1)
	fresh := h.fresh(t)
	defer fresh.Close()
	h.sameDocuments(t)
	if h.isReordered(t) {
		h.counts.reordered.Add(1)
	}
	if h.allKinds(ModeOr) {
		h.compare(t, fresh, Query{Text: "*:*", K: len(h.live) + 1, Count: true}) // in the order of writing
	}
	modes := h.modes
	if slices.Contains(modes, ModeSaat) {
		modes = slices.DeleteFunc(slices.Clone(modes), func(m Mode) bool { return m == ModeSaat })
		saat, err := h.canSaat(t, fresh)
		if err != nil {
			return err
		}
		if saat {
			modes = append(modes, ModeSaat)
		}
	}
	for range 4 {
		for _, mode := range modes {
			h.compare(t, fresh, h.query(mode))
		}
	}
	return nil
}

// fresh returns a new index of the live documents.
func (h *history) fresh(t *testing.T) *Index {
	t.Helper()
	settings := h.settings
	if !h.vectors {
		settings.Fields = append([]string{"title"}, h.fields...)
	}
	fresh, err := Create("fresh", settings, Options{files: vfstest.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	for i := range h.live {
		if err := fresh.Add(t.Context(), h.live[i].Document); err != nil {
			t.Fatal(err)
		}
	}
	if err := fresh.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	return fresh
}

// canSaat builds impact-ordered lists of the new index and, unless it has some of any time, of the history's; for that it
// returns false in some calls. The error is of BuildImpacts.
func (h *history) canSaat(t *testing.T, fresh *Index) (bool, error) {
	t.Helper()
	if len(h.live) == 0 {
		return false, nil
	}
	if h.impacts == nil {
		if only := slices.Equal(h.modes, []Mode{ModeSaat}); !only && h.rng.IntN(4) > 0 {
			return false, nil
		}
		if err := h.buildImpacts(t.Context()); err != nil {
			return false, err
		}
	}
	if s := h.impactStats(t); !madeAs(s, h.impacts) {
		t.Fatalf("impact-ordered lists %+v, want those of %+v", s, h.impacts)
	} else if s.Computed {
		h.counts.computed.Add(1)
	}
	if _, err := fresh.BuildImpacts(t.Context(), *h.impacts); err != nil {
		t.Fatal(err)
	}
	return true, nil
}

func (h *history) impactStats(t *testing.T) *ImpactStats {
	t.Helper()
	stats, err := h.ix.Stats()
	if err != nil {
		t.Fatal(err)
	}
	return stats.Impacts
}

// madeAs reports whether lists, or nil, were made with options, or nil.
func madeAs(s *ImpactStats, o *ImpactOptions) bool {
	if s == nil || o == nil {
		return s == nil && o == nil
	}
	return s.Codec == o.Codec && (s.Ranking == "weights" || s.Ranking == o.Ranking && BM25{K1: s.K1, B: s.B} == *o.BM25)
}

// buildImpacts makes impact-ordered lists, or makes them again, with random options. In a Writer, merges can change the index
// meanwhile.
func (h *history) buildImpacts(ctx context.Context) (err error) {
	o := ImpactOptions{Codec: []string{DefaultImpactCodec, "raw", "simdbp"}[h.rng.IntN(3)]}
	if !h.vectors {
		o.Ranking, o.BM25 = []string{"bm25", "atire"}[h.rng.IntN(2)], &BM25{K1: []float32{0.9, 2}[h.rng.IntN(2)], B: 0.4}
	}
	h.impactsTried = &o
	if h.w == nil {
		_, err = h.ix.BuildImpacts(ctx, o)
	} else if _, err = h.w.BuildImpacts(ctx, o); errors.Is(err, ErrImpactsChanged) {
		err = nil
	}
	if err == nil {
		h.impacts = &o
	}
	return err
}

// recoveredImpacts finds whether the last build was interrupted before or after its commit.
func (h *history) recoveredImpacts(t *testing.T) {
	t.Helper()
	if s := h.impactStats(t); madeAs(s, h.impactsTried) {
		h.impacts = h.impactsTried
	} else if !madeAs(s, h.impacts) {
		t.Fatalf("impact-ordered lists %+v after recovery, want those of %+v, or of the last build, %+v", s, h.impacts, h.impactsTried)
	}
	h.impactsTried = h.impacts
}

func (h *history) compare(t *testing.T, fresh *Index, q Query) {
	t.Helper()
	h.counts.queries.Add(1)
	got, want := rankedBy(t, h.ix, q), rankedBy(t, fresh, q)
	if got != want {
		t.Fatalf("%q in mode %v, k %d, %d documents, a writer %t:\ngot  %s\nwant %s", q.Text, q.Mode, q.K, len(h.live), h.w != nil, got, want)
	}
}

// isReordered reports whether documents of a segment are not in the order of writing.
func (h *history) isReordered(t *testing.T) bool {
	t.Helper()
	s, err := h.ix.ix.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Release()
	ties, err := s.Ties()
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(ties, func(r topk.TieRange) bool { return !slices.IsSorted(r.Ranks) })
}

// sameDocuments compares the ids, stored texts and versions.
func (h *history) sameDocuments(t *testing.T) {
	t.Helper()
	for i := range h.live {
		want := h.live[i].Document
		want.Vector, want.Fields = nil, h.live[i].stored
		if h.settings.NoStored {
			want = Document{ID: want.ID}
		}
		got, err := h.ix.Versioned(t.Context(), want.ID)
		if err != nil {
			t.Fatalf("document %q: %v", want.ID, err)
		}
		if !reflect.DeepEqual(got.Document, want) {
			t.Fatalf("stored %+v, want %+v", got.Document, want)
		}
		h.counts.documents.Add(1)
		seqNo, version := h.live[i].seqNo, h.live[i].version
		if version != 0 {
			h.counts.versions.Add(1)
		}
		if got.SeqNo != seqNo || version != 0 && got.Version != version {
			t.Fatalf("document %q has the number %d and the version %d, want %d and %d", want.ID, got.SeqNo, got.Version, seqNo, version)
		}
	}
	s, err := h.ix.ix.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Release()
	if s.NumLive != len(h.live) {
		t.Fatalf("%d documents, want %d", s.NumLive, len(h.live))
	}
}

// allKinds reports whether queries are not only words.
func (h *history) allKinds(mode Mode) bool {
	return !h.vectors && len(h.modes) == len(allModes) && mode != ModeSaat
}

func (h *history) query(mode Mode) Query {
	q := Query{Text: h.queryText(), Mode: mode, K: []int{1, 3, 10, 100}[h.rng.IntN(4)], Count: true}
	if !h.allKinds(mode) {
		return q
	}
	positions := !h.settings.NoPositions
	if positions && h.rng.IntN(4) == 0 {
		q.Text = fmt.Sprintf("%q -w5 title:%s", h.text(2), h.text(1))
	}
	if h.rng.IntN(3) == 0 {
		q.Text += " " + h.pattern(positions)
	}
	if len(h.fields) > 0 && h.rng.IntN(2) == 0 {
		q.Text += fmt.Sprintf(" %s:%s", h.fields[h.rng.IntN(len(h.fields))], h.text(1))
	}
	return q
}

func (h *history) queryText() string {
	if !h.vectors {
		return h.text(4)
	}
	text, err := json.Marshal(h.vector(6))
	if err != nil {
		panic(err)
	}
	return string(text)
}

// pattern returns a part of a query that is not only words.
func (h *history) pattern(positions bool) string {
	if positions && h.rng.IntN(4) == 0 {
		return fmt.Sprintf("%q~%d", h.text(3), h.rng.IntN(5))
	}
	parts := []string{
		"w1*", "+w?", "-w2*", "/w[0-4]/", "+w1~1", "w10~", "w12~2", "[w1 TO w3}", "+[w0 TO w2]^=0", "-title:[* TO w2]", "_exists_:title", "*:*",
		"_id:3", "-_id:7", "+(w0 w1 w2 w3)~2", "w1^=2", "+w2^=0", "(w1 OR +w3*)^2", fmt.Sprintf("+title:%s^=0", h.text(1)),
	}
	return parts[h.rng.IntN(len(parts))]
}

func rankedBy(t *testing.T, ix *Index, q Query) string {
	t.Helper()
	r, err := ix.Search(t.Context(), q)
	if err != nil {
		t.Fatalf("%q: %v", q.Text, err)
	}
	answer := fmt.Sprintf("%d matches:", r.Matches)
	for _, h := range r.Hits {
		answer += fmt.Sprintf(" %s %v", h.ID, h.Score)
	}
	return answer
}
