package trec

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/griffin-search/griffin/internal/base"
)

// Options are trec_eval's that affect values; zero is its default.
type Options struct {
	// RelevanceLevel is the least relevant judgement (-l); 0 means 1. It does not affect ndcg.
	RelevanceLevel int
	// Depth is the number of documents of a ranking that count (-M); 0: all.
	Depth int
	// Complete averages over all queries of the qrels (-c); one that the run lacks counts 0.
	Complete bool
}

// QueryValues holds a query's values, in the order of the measures.
type QueryValues struct {
	Query  string
	Values []float64
}

// Evaluation is the result of [Evaluate].
type Evaluation struct {
	Measures []Measure
	// All holds values over all queries: the sum for counts, the geometric mean for gm_map,
	// otherwise the mean.
	All []float64
	// Queries are in both run and qrels, in bytewise order of ids, as in trec_eval. A query's
	// gm_map is its average precision.
	Queries []QueryValues
	// Missing are queries of the qrels that the run lacks, in the means (as 0) if and only if
	// Options.Complete was set.
	Missing []string
	// Unjudged are the run's queries without judgements, in no mean.
	Unjudged []string

	complete bool // Options.Complete
}

// minGeometric replaces smaller values in a geometric mean, as in trec_eval.
const minGeometric = 0.00001

// Evaluate computes a run's measures; the order of lines has no effect. It returns ErrNoQueries
// if no query is judged, and an error that wraps base.ErrBadInput for a negative option.
func Evaluate(qrels *Qrels, run *Run, measures []Measure, opts Options) (*Evaluation, error) {
	if opts.RelevanceLevel < 0 || opts.Depth < 0 {
		return nil, fmt.Errorf("relevance level %d, depth %d: must not be negative: %w",
			opts.RelevanceLevel, opts.Depth, base.ErrBadInput)
	}
	level := max(opts.RelevanceLevel, 1)
	ev := &Evaluation{Measures: slices.Clone(measures), complete: opts.Complete}
	for _, query := range slices.Sorted(slices.Values(qrels.queries)) {
		ranking := run.rankings[query]
		if len(ranking) == 0 {
			ev.Missing = append(ev.Missing, query)
			continue
		}
		j := judge(ranking, qrels.judgments[query], level, opts.Depth)
		values := make([]float64, len(measures))
		for i, m := range measures {
			values[i] = m.family.value(j, m.cutoff)
		}
		ev.Queries = append(ev.Queries, QueryValues{query, values})
	}
	for _, query := range slices.Sorted(slices.Values(run.queries)) {
		if _, ok := qrels.judgments[query]; !ok {
			ev.Unjudged = append(ev.Unjudged, query)
		}
	}
	if len(ev.Queries) == 0 {
		return nil, ErrNoQueries
	}
	ev.summarize(qrels)
	return ev, nil
}

func (ev *Evaluation) summarize(qrels *Qrels) {
	missing := 0
	if ev.complete {
		missing = len(ev.Missing)
	}
	numQueries := float64(len(ev.Queries) + missing)
	ev.All = make([]float64, len(ev.Measures))
	for i, m := range ev.Measures {
		sum := 0.0
		for _, q := range ev.Queries {
			if m.family.summary == summaryGeometricMean {
				sum += math.Log(max(q.Values[i], minGeometric))
			} else {
				sum += q.Values[i]
			}
		}
		switch m.family.summary {
		case summaryMean:
			ev.All[i] = sum / numQueries
		case summaryGeometricMean:
			sum += float64(missing) * math.Log(minGeometric)
			ev.All[i] = math.Exp(sum / numQueries)
		case summarySum:
			ev.All[i] = sum
			if ev.complete {
				ev.All[i] = completeCount(m.family.name, sum, numQueries, qrels)
			}
		}
	}
}

// As trec_eval -c: all queries of the qrels for num_q, and all positive judgements, for any
// relevance level, for num_rel.
func completeCount(name string, sum, numQueries float64, qrels *Qrels) float64 {
	switch name {
	case "num_q":
		return numQueries
	case "num_rel":
		positive := 0
		for _, judgments := range qrels.judgments {
			for _, relevance := range judgments {
				if relevance > 0 {
					positive++
				}
			}
		}
		return float64(positive)
	default:
		return sum
	}
}

// Value returns a measure's value over all queries by trec_eval's name, if computed.
func (ev *Evaluation) Value(measure string) (value float64, ok bool) {
	i := ev.index(measure)
	if i < 0 {
		return 0, false
	}
	return ev.All[i], true
}

func (ev *Evaluation) index(measure string) int {
	return slices.IndexFunc(ev.Measures, func(m Measure) bool { return m.String() == measure })
}

// Write prints trec_eval's format, "measure, query, value", with four decimals except for
// counts. perQuery adds the queries before the summary, whose query is "all".
func (ev *Evaluation) Write(w io.Writer, perQuery bool) error {
	b := bufio.NewWriter(w)
	if perQuery {
		for _, q := range ev.Queries {
			ev.writeValues(b, q.Query, q.Values, false /* summary */)
		}
	}
	ev.writeValues(b, "all", ev.All, true /* summary */)
	if err := b.Flush(); err != nil {
		return fmt.Errorf("write evaluation: %w", err)
	}
	return nil
}

func (ev *Evaluation) writeValues(b *bufio.Writer, query string, values []float64, summary bool) {
	for i, m := range ev.Measures {
		onlyInSummary := m.family.summary == summaryGeometricMean || m.family.name == "num_q"
		if onlyInSummary && !summary {
			continue
		}
		format := "%-22s\t%s\t%.4f\n"
		if m.family.summary == summarySum {
			format = "%-22s\t%s\t%.0f\n"
		}
		// A bufio.Writer keeps its first error for Flush.
		_, _ = fmt.Fprintf(b, format, m, query, values[i])
	}
}

// MarshalJSON writes the values over all and single queries by trec_eval's names:
//
//	{"map": 0.3, "P_30": …, "queries": {"301": {"map": …}}, "missing": […], "unjudged": […]}
func (ev *Evaluation) MarshalJSON() ([]byte, error) {
	named := func(values []float64) map[string]any {
		byName := make(map[string]any, len(values)+3)
		for i, m := range ev.Measures {
			byName[m.String()] = values[i]
		}
		return byName
	}
	queries := make(map[string]any, len(ev.Queries))
	for _, q := range ev.Queries {
		queries[q.Query] = named(q.Values)
	}
	out := named(ev.All)
	// [] instead of null for absent lists.
	out["queries"] = queries
	out["missing"] = append([]string{}, ev.Missing...)
	out["unjudged"] = append([]string{}, ev.Unjudged...)
	return json.Marshal(out)
}
