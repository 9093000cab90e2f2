package griffin

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/living"
)

// history is an index that documents were added to, replaced in and deleted from, whose fields
// grew, and its live documents in the order in which their last versions were written, with the
// fields that were declared then.
type history struct {
	rng      *rand.Rand
	settings Settings
	options  Options // of ix; new indexes have the default ones
	modes    []Mode
	vectors  bool // documents and queries are learned sparse vectors
	topics   bool // many documents have words of one of two topics, so that ReorderBP moves them
	counts   *rankCounts

	dir    string
	ix     *Index
	w      *Writer // open: it has the lock of ix; nil: none
	live   []written
	fields []string // declared
	numID  int

	impacts      *ImpactOptions // with which impact-ordered lists were made; nil: never
	impactsTried *ImpactOptions // of the last build, which may have been interrupted

	crashes *crashes // nil: no process of the history crashes
}

// written is a document as it would be in an index that has all fields from the start.
type written struct {
	Document
	stored  []Field // of all fields
	seqNo   uint64  // 0: of Index.Add
	version uint64  // 0: not known
}

// newHistory makes an empty index: one of eight on a disk of this machine, the others on a disk that crashes.
func newHistory(t *testing.T, seed uint64, settings Settings, options Options, modes []Mode, counts *rankCounts) *history {
	t.Helper()
	h := &history{
		rng: rand.New(rand.NewPCG(seed, 9)), settings: settings, options: options, modes: modes, vectors: settings.WeightScale != 0, counts: counts,
		dir: fmt.Sprint("history-", seed),
	}
	if h.rng.IntN(8) == 0 {
		h.dir = filepath.Join(t.TempDir(), "ix")
	} else {
		h.crashes = newCrashes(h.rng)
		h.crashes.start(t, h)
	}
	h.topics = h.rng.IntN(2) == 0
	var err error
	if h.ix, err = Create(h.dir, settings, h.options); err != nil {
		t.Fatal(err)
	}
	return h
}

// run changes the index in rounds. After a crash, it recovers the index.
func (h *history) run(t *testing.T) {
	for range 2 + h.rng.IntN(10) {
		h.crashes.plan()
		change := h.step
		if h.w != nil || h.rng.IntN(4) == 0 {
			change = h.write
		}
		if err := change(t); h.ended(t, err) {
			h.recover(t)
		} else if h.rng.IntN(3) == 0 && h.ended(t, h.check(t)) {
			h.recover(t)
		}
	}
	h.crashes.hold()
	if !h.crashes.over() {
		err := h.closeWriter(h.context(t))
		if h.crashes == nil && err != nil {
			t.Fatal(err)
		}
		if err == nil {
			err = errors.Join(h.check(t), h.ix.Verify(t.Context(), nil), h.ix.Close())
		}
		if !h.ended(t, err) {
			return
		}
	}
	h.recover(t)
	if err := h.ix.Verify(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	h.crashes.end(t, h)
}

func (h *history) context(t *testing.T) context.Context {
	if h.crashes != nil {
		return h.crashes.ctx
	}
	return t.Context()
}

// Few words and short documents, so that many documents have equal scores.
func (h *history) text(most int) string {
	words := make([]string, 1+h.rng.IntN(most))
	for i := range words {
		words[i] = fmt.Sprintf("w%d", int(h.rng.ExpFloat64()*6))
	}
	return strings.Join(words, " ")
}

func (h *history) document() Document {
	id := fmt.Sprint(h.numID)
	if len(h.live) > 0 && h.rng.IntN(4) == 0 {
		id = h.live[h.rng.IntN(len(h.live))].ID
	} else {
		h.numID++
	}
	if h.vectors {
		v := h.vector(12)
		for _, word := range h.topic() {
			v["t"+word] = float64(h.rng.IntN(8)) / 4
		}
		return Document{ID: id, Vector: v}
	}
	d := Document{ID: id, Text: h.text(4)}
	if h.rng.IntN(3) == 0 {
		d.Title = h.text(2)
	}
	if h.rng.IntN(5) == 0 {
		d.Text = h.text(40)
	}
	for _, word := range h.topic() {
		d.Text += " w" + word
	}
	if h.rng.IntN(3) == 0 {
		d.Fields = append(d.Fields, Field{Name: rankPath, Value: "folder/" + h.text(2) + ".txt"})
	}
	for h.rng.IntN(3) == 0 {
		d.Fields = append(d.Fields, Field{Name: fmt.Sprint("f", h.rng.IntN(maxRankFields)), Value: h.text(3)})
	}
	return d
}

// topic returns numbers of words of one topic, or none.
func (h *history) topic() (words []string) {
	if !h.topics || h.rng.IntN(4) == 0 {
		return nil
	}
	first := 10 * h.rng.IntN(2)
	for range 8 {
		words = append(words, fmt.Sprint(first+h.rng.IntN(4)))
	}
	return words
}

// vector has few terms, and few weights, so that many documents have equal scores.
func (h *history) vector(most int) map[string]float64 {
	v := map[string]float64{}
	for range 1 + h.rng.IntN(most) {
		v[fmt.Sprintf("t%d", int(h.rng.ExpFloat64()*6))] = float64(h.rng.IntN(8)) / 4
	}
	return v
}

const maxRankFields = 4

// rankPath is a field that is never declared.
const rankPath = "path"

// declare returns names for AddFields, in one of four calls some.
func (h *history) declare() []string {
	if h.vectors || h.rng.IntN(4) > 0 {
		return nil
	}
	var names []string
	for range 1 + h.rng.IntN(2) {
		name := fmt.Sprint("f", h.rng.IntN(maxRankFields))
		if names = append(names, name); !slices.Contains(h.fields, name) {
			h.fields = append(slices.Clip(h.fields), name)
		}
	}
	return names
}

// wrote notes a document, and returns what it notes.
func (h *history) wrote(d Document) written {
	w := written{Document: withFields(d, h.fields), stored: slices.Clone(d.Fields)}
	h.live = append(without(h.live, d.ID), w)
	return w
}

// versioned notes the version of a document that was written last. Of several writes of an id, the last call counts.
func (h *history) versioned(w written) {
	i := slices.IndexFunc(h.live, func(d written) bool { return d.ID == w.ID })
	if i >= 0 {
		h.live[i].seqNo, h.live[i].version = w.seqNo, w.version
	}
}

// withFields leaves out the values of fields that are not declared.
func withFields(d Document, declared []string) Document {
	d.Fields = slices.DeleteFunc(slices.Clone(d.Fields), func(f Field) bool { return f.Name != rankPath && !slices.Contains(declared, f.Name) })
	return d
}

func without(docs []written, id string) []written {
	return slices.DeleteFunc(slices.Clone(docs), func(d written) bool { return d.ID == id })
}

// step changes the index and commits, or merges any neighbours.
func (h *history) step(t *testing.T) error {
	ctx := h.context(t)
	if h.rng.IntN(10) == 0 && len(h.live) > 0 && slices.Contains(h.modes, ModeSaat) {
		return h.buildImpacts(ctx)
	}
	if h.rng.IntN(4) == 0 && len(h.live) > 0 || h.topics && len(h.live) > 20 && h.rng.IntN(3) == 0 {
		h.counts.merges.Add(1)
		o := MergeOptions{Segments: 1 + h.rng.IntN(3)}
		if h.rng.IntN(2) == 0 {
			o.join = h.rng.IntN
		}
		if h.topics || h.rng.IntN(2) == 0 {
			o.Reorder = ReorderBP
		}
		_, err := h.ix.Merge(ctx, o)
		return err
	}
	most := 30
	if h.topics {
		most = 80
	}
	for range 1 + h.rng.IntN(most) {
		if h.rng.IntN(4) == 0 && len(h.live) > 0 {
			id := h.live[h.rng.IntN(len(h.live))].ID
			if err := h.ix.Delete(ctx, id); err != nil {
				return err
			}
			h.live = without(h.live, id)
			continue
		}
		if h.rng.IntN(8) == 0 {
			if err := h.ix.AddFields(ctx, h.declare()...); err != nil {
				return err
			}
		}
		d := h.document()
		if err := h.ix.Add(ctx, d); err != nil {
			return err
		}
		w := h.wrote(d)
		w.version = 1
		h.versioned(w)
	}
	h.crashes.commit(t, h)
	if err := h.ix.Commit(ctx); err != nil {
		return err
	}
	h.crashes.committed(h)
	if h.rng.IntN(5) == 0 {
		if err := h.ix.Close(); err != nil {
			return err
		}
		ix, err := Open(h.dir, h.options)
		if err != nil {
			return err
		}
		h.ix = ix
	}
	return nil
}

// write changes the index through a Writer, with refreshes, flushes and merges of any neighbours between,
// and checks the visible documents.
func (h *history) write(t *testing.T) error {
	ctx := h.context(t)
	if h.w == nil {
		var err error
		if h.w, err = h.ix.Writer(ctx, h.writerOptions()); err != nil {
			return err
		}
	}
	for range 3 + h.rng.IntN(8) {
		if err := h.w.AddFields(ctx, h.declare()...); err != nil {
			return err
		}
		if err := h.apply(t, ctx); err != nil {
			return err
		}
		var err error
		switch h.rng.IntN(5) {
		case 0:
			err = h.w.Refresh(ctx)
		case 1:
			if err = h.w.Flush(ctx); err == nil {
				h.crashes.committed(h)
			}
		case 2:
			h.counts.merges.Add(1)
			err = h.w.Merge(ctx, 1+h.rng.IntN(3))
		case 3:
			if h.rng.IntN(3) > 0 || !slices.Contains(h.modes, ModeSaat) {
				continue
			}
			if err = h.buildImpacts(ctx); err == nil {
				h.crashes.committed(h)
			}
		default:
			continue
		}
		if err != nil {
			return err
		}
		if h.rng.IntN(3) == 0 && !h.crashes.over() {
			if err := h.check(t); err != nil {
				return err
			}
		}
	}
	return h.closeWriter(ctx)
}

func (h *history) apply(t *testing.T, ctx context.Context) error {
	var writes []Write
	var changes []rankChange
	former := h.live
	for range 1 + h.rng.IntN(12) {
		d := h.document()
		if h.rng.IntN(4) == 0 {
			h.live = without(h.live, d.ID)
			writes = append(writes, Write{Kind: WriteDelete, Document: Document{ID: d.ID}})
			changes = append(changes, rankChange{doc: written{Document: Document{ID: d.ID}}, deleted: true, numFields: len(h.fields)})
			continue
		}
		var added []string
		if h.rng.IntN(8) == 0 {
			added = h.declare()
		}
		writes = append(writes, Write{Document: d, AddFields: added})
		changes = append(changes, rankChange{doc: h.wrote(d), numFields: len(h.fields)})
	}
	h.crashes.planApply()
	results, err := h.w.Apply(ctx, writes...)
	if err != nil {
		h.crashes.interrupted(changes)
		return err
	}
	last := uint64(0)
	for i, r := range results {
		if r.Err != nil { // a lookup failed
			if err = errors.Join(err, r.Err); h.crashes == nil {
				t.Error(r.Err)
			}
			continue
		}
		changes[i].seq = r.SeqNo
		if r.SeqNo <= last {
			t.Fatalf("write %d of %q has the number %d, after %d", i, r.ID, r.SeqNo, last)
		}
		last = r.SeqNo
		if want := nextVersion(former, changes[:i], r.ID); want != 0 && r.Version != want {
			t.Fatalf("write %d of %q has the version %d, want %d", i, r.ID, r.Version, want)
		}
		if !changes[i].deleted {
			changes[i].doc.seqNo, changes[i].doc.version = r.SeqNo, r.Version
			h.versioned(changes[i].doc)
		}
		h.crashes.acknowledged(changes[i])
	}
	return err
}

// nextVersion returns the version that a write of an id has after others; 0: not known.
func nextVersion(docs []written, writes []rankChange, id string) uint64 {
	version := uint64(0)
	if i := slices.IndexFunc(docs, func(d written) bool { return d.ID == id }); i >= 0 {
		version = docs[i].version
	}
	if version == 0 {
		return 0
	}
	for _, w := range writes {
		if w.doc.ID == id {
			version++
		}
	}
	return version + 1
}

// writerOptions are of a Writer that merges any neighbours in the background, and, on a disk that crashes, syncs, flushes and
// saves checkpoints in random modes and intervals.
func (h *history) writerOptions() WriterOptions {
	o := WriterOptions{RefreshInterval: -1}
	merges := &anyNeighbours{rng: rand.New(rand.NewPCG(h.rng.Uint64(), 1)), left: h.rng.IntN(12), counts: h.counts}
	neighbours := h.rng.IntN(2) == 0
	checkpoints := h.crashes != nil && h.rng.IntN(2) == 0
	o.tune = func(l *living.Options) {
		if neighbours {
			l.Neighbours = merges.choose
		}
		if checkpoints {
			l.CheckpointBytes = 1
		}
	}
	h.crashes.writer(h.rng, &o)
	return o
}

// anyNeighbours chooses the merges of a Writer. One goroutine at a time uses it.
type anyNeighbours struct {
	rng    *rand.Rand
	left   int // merges
	counts *rankCounts
}

// choose returns a random range of up to limit segments, or, in half of the calls, an empty one.
func (n *anyNeighbours) choose(sizes []index.SegmentSize, limit int) (from, to int) {
	if len(sizes) == 0 || n.left == 0 || n.rng.IntN(2) == 0 {
		return 0, 0
	}
	from = n.rng.IntN(len(sizes))
	to = from + 1 + n.rng.IntN(min(limit, len(sizes)-from))
	for _, s := range sizes[from:to] {
		if s.Busy {
			return 0, 0
		}
	}
	n.left--
	n.counts.merges.Add(1)
	return from, to
}

func (h *history) closeWriter(ctx context.Context) error {
	w := h.w
	if w == nil {
		return nil
	}
	if err := w.Close(ctx); err != nil {
		return err
	}
	h.w = nil
	h.crashes.committed(h)
	return nil
}
