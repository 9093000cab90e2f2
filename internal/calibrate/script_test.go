package calibrate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/cost"
	"github.com/griffin-search/griffin/internal/dispatch"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/sched"
	"github.com/griffin-search/griffin/query"
)

// errNotRun of script.took leaves out a run, which nevertheless succeeds.
var errNotRun = errors.New("not run")

// script runs queries with a Prober, notes the runs, and replaces their times.
type script struct {
	*dispatch.Prober
	log []string
	// took returns the time of a run; the run is left out if there is an error.
	took func(run string, s *dispatch.Step) (time.Duration, error)
	// ran is called after each run, if set.
	ran     func(run string)
	results []pipeline.Result // of RunTogether, if set
}

func (r *script) run(name string, s *dispatch.Step, run func() error) (time.Duration, error) {
	if s != nil {
		for _, p := range s.Predictions() {
			name += " " + p.Kind.String()
		}
	}
	r.log = append(r.log, name)
	took, err := r.took(name, s)
	switch {
	case errors.Is(err, errNotRun):
		return took, nil
	case err != nil:
		return 0, err
	}
	if err := run(); err != nil {
		return 0, err
	}
	if r.ran != nil {
		r.ran(name)
	}
	return took, nil
}

func (r *script) Run(ctx context.Context, at sched.Place, s *dispatch.Step) (time.Duration, error) {
	return r.run(at.String(), s, func() error {
		_, err := r.Prober.Run(ctx, at, s)
		return err
	})
}

func (r *script) TryOnGPU(ctx context.Context, s *dispatch.Step) (time.Duration, error) {
	return r.run("try", s, func() error {
		_, err := r.Prober.TryOnGPU(ctx, s)
		return err
	})
}

func (r *script) RunTogether(ctx context.Context, queries []*pipeline.Query, results []pipeline.Result) (time.Duration, error) {
	return r.run(fmt.Sprintf("%d together", len(queries)), nil, func() error {
		err := r.Prober.RunTogether(ctx, queries, results)
		copy(results, r.results)
		return err
	})
}

// usual is neither short nor too long.
const usual = time.Millisecond

// inTurn returns the given times in turn, then usual.
func inTurn(all ...time.Duration) func(string, *dispatch.Step) (time.Duration, error) {
	return func(string, *dispatch.Step) (time.Duration, error) {
		if len(all) == 0 {
			return usual, nil
		}
		took := all[0]
		all = all[1:]
		return took, nil
	}
}

// scripted returns a measurer whose runs take usual. evict adds 1 to its read.
func scripted(t testing.TB, g *dispatch.GPU, snapshot *index.Snapshot) (*measurer, *script) {
	t.Helper()
	m, err := newMeasurer(g, snapshot)
	if err != nil {
		t.Fatal(err)
	}
	r := &script{Prober: m.Prober, took: inTurn()}
	m.runs, m.evicted = r, []byte{1}
	return m, r
}

func prepare(t testing.TB, m *measurer, mode plan.Mode, q query.Node) *dispatch.Query {
	t.Helper()
	p, err := m.Prepare(q, dispatch.Options{Mode: mode, K: 10})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func words(text string) query.Node { return &query.Words{Text: text, Boost: 1} }

// brief returns the kinds and times of samples.
func brief(samples []cost.Measured) (all []string) {
	for i := range samples {
		s := &samples[i]
		name := s.Kind.String()
		if s.Features.Batch > 1 {
			name = fmt.Sprintf("%d of %s", s.Features.Batch, name)
		}
		all = append(all, fmt.Sprintf("%s %v", name, s.Took))
	}
	return all
}

func checkEqual(t testing.TB, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// textIndex returns an index of texts, in a segment each for the given numbers
// of documents.
func textIndex(t testing.TB, o index.Options, texts []string, segments ...int) *index.Snapshot {
	t.Helper()
	o.Analyzer = "whitespace"
	return indextest.Snapshot(t, indextest.Write(t, o, func(w *indextest.Writer) {
		from := 0
		for _, n := range segments {
			for i, text := range texts[from : from+n] {
				w.AddText(from+i, text)
			}
			from += n
			w.Commit()
		}
		for i, text := range texts[from:] {
			w.AddText(from+i, text)
		}
	}))
}

// multiples returns texts of words mN, which are in every N-th document.
func multiples(numDocs int, all ...int) []string {
	texts := make([]string, numDocs)
	for i := range texts {
		texts[i] = "x"
		for _, n := range all {
			if i%n == 0 {
				texts[i] += fmt.Sprint(" m", n)
			}
		}
	}
	return texts
}
