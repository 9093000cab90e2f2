package griffin

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	_ "github.com/griffin-search/griffin/engines"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/sampletest"
)

// history is an index that documents were added to, replaced in and deleted from, whose fields
// grew, and its live documents in the order in which their last versions were written, with the
// fields that were declared then.
type history struct {
	rng     *rand.Rand
	dir     string
	ix      *Index
	live    []Document
	fields  []string // declared
	numID   int
	writer  *Writer // if it has the lock
	vectors bool    // documents and queries are learned sparse vectors
	options Options // of ix; new indexes have the default ones
	modes   []Mode
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
		return Document{ID: id, Vector: h.vector(12)}
	}
	d := Document{ID: id, Text: h.text(4)}
	if h.rng.IntN(3) == 0 {
		d.Title = h.text(2)
	}
	if h.rng.IntN(5) == 0 {
		d.Text = h.text(40)
	}
	if h.rng.IntN(3) == 0 {
		d.Fields = append(d.Fields, Field{Name: rankPath, Value: "folder/" + h.text(2) + ".txt"})
	}
	for h.rng.IntN(3) == 0 {
		d.Fields = append(d.Fields, Field{Name: fmt.Sprint("f", h.rng.IntN(maxRankFields)), Value: h.text(3)})
	}
	return d
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

// wrote notes a document as it would be in an index that has all fields from the start.
func (h *history) wrote(d Document) {
	h.remove(d.ID)
	d.Fields = slices.DeleteFunc(slices.Clone(d.Fields), func(f Field) bool { return f.Name != rankPath && !slices.Contains(h.fields, f.Name) })
	h.live = append(h.live, d)
}

func (h *history) remove(id string) {
	h.live = slices.DeleteFunc(h.live, func(d Document) bool { return d.ID == id })
}

// step changes the index and commits, or merges neighbours.
func (h *history) step(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	if h.rng.IntN(4) == 0 && len(h.live) > 0 {
		o := MergeOptions{Segments: 1 + h.rng.IntN(3)}
		if h.rng.IntN(2) == 0 {
			o.Reorder = ReorderBP
		}
		if _, err := h.ix.Merge(ctx, o); err != nil {
			t.Fatal(err)
		}
		return
	}
	for range 1 + h.rng.IntN(30) {
		if h.rng.IntN(4) == 0 && len(h.live) > 0 {
			id := h.live[h.rng.IntN(len(h.live))].ID
			if err := h.ix.Delete(ctx, id); err != nil {
				t.Fatal(err)
			}
			h.remove(id)
			continue
		}
		if h.rng.IntN(8) == 0 {
			if err := h.ix.AddFields(ctx, h.declare()...); err != nil {
				t.Fatal(err)
			}
		}
		d := h.document()
		if err := h.ix.Add(ctx, d); err != nil {
			t.Fatal(err)
		}
		h.wrote(d)
	}
	if err := h.ix.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if h.rng.IntN(5) == 0 {
		if err := h.ix.Close(); err != nil {
			t.Fatal(err)
		}
		var err error
		if h.ix, err = Open(h.dir, h.options); err != nil {
			t.Fatal(err)
		}
	}
}

// write changes the index through a Writer, with refreshes, flushes and merges between, and checks
// the visible documents.
func (h *history) write(t *testing.T, settings Settings) {
	t.Helper()
	ctx := t.Context()
	w, err := h.ix.Writer(ctx, WriterOptions{RefreshInterval: -1})
	if err != nil {
		t.Fatal(err)
	}
	h.writer = w
	defer func() { h.writer = nil }()
	for range 3 + h.rng.IntN(8) {
		if err := w.AddFields(ctx, h.declare()...); err != nil {
			t.Fatal(err)
		}
		var writes []Write
		for range 1 + h.rng.IntN(12) {
			d, kind := h.document(), WriteIndex
			var added []string
			if h.rng.IntN(4) == 0 {
				d, kind = Document{ID: d.ID}, WriteDelete
				h.remove(d.ID)
			} else {
				if h.rng.IntN(8) == 0 {
					added = h.declare()
				}
				h.wrote(d)
			}
			writes = append(writes, Write{Kind: kind, Document: d, AddFields: added})
		}
		if _, err := w.Apply(ctx, writes...); err != nil {
			t.Fatal(err)
		}
		switch h.rng.IntN(4) {
		case 0:
			err = w.Refresh(ctx)
		case 1:
			err = w.Flush(ctx)
		case 2:
			err = w.Merge(ctx, 1+h.rng.IntN(3))
		default:
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.rng.IntN(3) == 0 {
			h.check(t, settings)
		}
	}
	if err := w.Close(ctx); err != nil {
		t.Fatal(err)
	}
}

// check compares the index with a new one of its live documents.
func (h *history) check(t *testing.T, settings Settings) {
	t.Helper()
	if !h.vectors {
		settings.Fields = append([]string{"title"}, h.fields...)
	}
	fresh, err := Create(filepath.Join(t.TempDir(), "fresh"), settings, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer fresh.Close()
	if err := fresh.Add(t.Context(), h.live...); err != nil {
		t.Fatal(err)
	}
	if err := fresh.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	modes := h.comparable(t, fresh)
	for range 4 {
		for _, mode := range modes {
			q := Query{Text: h.queryText(), Mode: mode, K: []int{1, 3, 10, 100}[h.rng.IntN(4)], Count: true}
			if !h.vectors && len(h.modes) == len(allModes) && mode != ModeSaat && !settings.NoPositions && h.rng.IntN(4) == 0 {
				q.Text = fmt.Sprintf("%q -w5 title:%s", h.text(2), h.text(1))
			}
			if !h.vectors && len(h.modes) == len(allModes) && mode != ModeSaat && h.rng.IntN(3) == 0 {
				q.Text += " " + h.pattern(!settings.NoPositions)
			}
			if len(h.modes) == len(allModes) && mode != ModeSaat && len(h.fields) > 0 && h.rng.IntN(2) == 0 {
				q.Text += fmt.Sprintf(" %s:%s", h.fields[h.rng.IntN(len(h.fields))], h.text(1))
			}
			got, want := rankedBy(t, h.ix, q), rankedBy(t, fresh, q)
			if got != want {
				t.Fatalf("%q in mode %v, k %d, %d documents:\ngot  %s\nwant %s", q.Text, mode, q.K, len(h.live), got, want)
			}
		}
	}
}

// comparable returns the modes in which an index that somebody made impact-ordered lists of, some time, can be compared
// with a new one.
func (h *history) comparable(t *testing.T, fresh *Index) []Mode {
	t.Helper()
	stats, err := h.ix.Stats()
	if err != nil {
		t.Fatal(err)
	}
	modes := slices.Clone(h.modes)
	if !slices.Contains(modes, ModeSaat) {
		return modes
	}
	if len(h.live) == 0 {
		return slices.DeleteFunc(modes, func(m Mode) bool { return m == ModeSaat })
	}
	if stats.Impacts == nil {
		build := h.ix.BuildImpacts
		if h.writer != nil {
			build = h.writer.BuildImpacts
		}
		if _, err := build(t.Context(), ImpactOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := fresh.BuildImpacts(t.Context(), ImpactOptions{}); err != nil {
		t.Fatal(err)
	}
	return modes
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

var allModes = []Mode{ModeOr, ModeAnd, ModeAndOr, ModeSaat}

// Whatever happened to an index, hits, scores, order and counts equal a new index of its live
// documents. GRIFFIN_HISTORIES sets the number of random histories.
func TestRankDependsOnLiveDocumentsOnly(t *testing.T) {
	t.Parallel()
	runHistories(t, histories(12), Options{}, allModes, rankSettings...)
}

// The same holds for learned sparse vectors.
func TestRankOfVectors(t *testing.T) {
	t.Parallel()
	runHistories(t, histories(4), Options{}, allModes, Settings{WeightScale: 100}, Settings{WeightScale: 4, NoStored: true, Codec: "ef"})
}

// The same holds on a GPU.
func TestRankOnGPU(t *testing.T) {
	t.Setenv("GRIFFIN_CUDA_LIBRARY", gputest.Library(t).Path())
	runtime, err := NewRuntime(RuntimeOptions{GPU: GPUOptions{Device: "0"}, Policy: PolicyGPU, CostDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer runtime.Close()
	runHistories(t, histories(4), Options{Runtime: runtime}, allModes, rankSettings...)
	if s, _ := runtime.GPUStats(); s.OnGPU == 0 {
		t.Errorf("no query ran on the GPU: %+v", s)
	}
}

// The same holds for the engines of the papers, against the default engine.
func TestRankOfEngines(t *testing.T) {
	t.Parallel()
	for engine, modes := range map[string][]Mode{
		"griffin18:on=cpu": {ModeAnd},
		"ding09:on=cpu":    {ModeOr, ModeAnd, ModeAndOr},
		"ao11:on=cpu":      {ModeAnd},
		"saat":             {ModeSaat},
	} {
		t.Run(engine, func(t *testing.T) {
			runtime, err := NewRuntime(RuntimeOptions{Engine: engine})
			if err != nil {
				t.Fatal(err)
			}
			defer runtime.Close()
			runHistories(t, histories(2), Options{Runtime: runtime}, modes, rankSettings...)
		})
	}
}

func histories(n int) int {
	if set, err := strconv.Atoi(os.Getenv("GRIFFIN_HISTORIES")); err == nil {
		return set
	}
	return sampletest.UnderRace(n, 1+n/4)
}

var rankSettings = []Settings{{}, {NoStored: true}, {Codec: "ef"}, {NoStored: true, NoPositions: true, Codec: "pfordelta"}, {TitleWeight: 3, NameField: rankPath}}

func runHistories(t *testing.T, n int, options Options, modes []Mode, settings ...Settings) {
	t.Helper()
	for seed := range n {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			settings := settings[seed%len(settings)]
			h := &history{rng: rand.New(rand.NewPCG(uint64(seed), 9)), dir: filepath.Join(t.TempDir(), "ix"), options: options, modes: modes, vectors: settings.WeightScale != 0}
			var err error
			if h.ix, err = Create(h.dir, settings, options); err != nil {
				t.Fatal(err)
			}
			for range 2 + h.rng.IntN(10) {
				if h.rng.IntN(4) == 0 {
					h.write(t, settings)
				} else {
					h.step(t)
				}
				if h.rng.IntN(3) == 0 {
					h.check(t, settings)
				}
			}
			h.check(t, settings)
			if err := h.ix.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}
