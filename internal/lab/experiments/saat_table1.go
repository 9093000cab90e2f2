package experiments

import (
	"context"
	"time"

	"github.com/griffin-search/griffin/internal/lab"
	"github.com/griffin-search/griffin/internal/saat"
)

func saatTable1() lab.Experiment {
	return lab.Experiment{
		Name: "saat-table1", Paper: "saat", Shows: "Table 1", Title: "Time of a query by accumulators, heap and inlining",
		Did: "Mean time of 20,000 queries on .GOV2 with accumulators allocated dynamically or as an array, the " +
			"heap maintained by Algorithm 1 or 2, and the update inlined or not. JASS, for comparison, allocates " +
			"dynamically and inlines Algorithm 1. Each 5 times, on one core.",
		Ours: "The same variants of Griffin's engine on " +
			saatCollection +
			"; the minimum of two rounds over the queries. The row of JASS is JASS's method in our engine. The " +
			"last row is Griffin's default: accumulators as narrow as a query allows, window by window, without a" +
			" heap.",
		Differs: "Go arrays are bounds-checked unless the compiler knows the length, which is the gain of the static " +
			"array here. Equal scores are ordered by DocID, so that every variant has the same answer. " +
			saatQueries,
		Verdicts: saatTable1Verdicts,
		Budget:   5 * time.Minute,
		Run:      runSaatTable1,
	}
}

func runSaatTable1(ctx context.Context, env *lab.Env) (*lab.Result, error) {
	queries, err := impactQueries(ctx, env, lab.Pick(env, 100, 20))
	if err != nil {
		return nil, err
	}
	rows := []struct {
		name    string
		variant saat.Variant
		paper   []float64 // ms, reduction, against JASS
	}{
		{"Dynamic, 1", saat.Variant{Accumulators: saat.Paged, Heap: 1, Outlined: true}, []float64{177, 0, -24}},
		{"Array, 1", saat.Variant{Accumulators: saat.PagedArray, Heap: 1, Outlined: true}, []float64{166, 6, -16}},
		{"Dynamic, 2", saat.Variant{Accumulators: saat.Paged, Heap: 2, Outlined: true}, []float64{164, 8, -14}},
		{"Array, 2", saat.Variant{Accumulators: saat.PagedArray, Heap: 2, Outlined: true}, []float64{152, 14, -6}},
		{"JASS: Dynamic, 1, inline", saat.Variant{Accumulators: saat.Paged, Heap: 1}, []float64{143, 19, 0}},
		{"Array, 2, inline", saat.Variant{Accumulators: saat.PagedArray, Heap: 2}, []float64{112, 37, 22}},
		{"Griffin: windowed, no heap", saat.Variant{}, nil},
	}
	const jass = 4
	var names []string
	var variants []lab.Variant
	for _, r := range rows {
		names = append(names, r.name)
		e, err := saat.New(r.variant)
		if err != nil {
			return nil, err
		}
		variants = append(variants, lab.Variant{Name: r.name, Do: func() error { return searchAll(ctx, e, queries) }})
	}
	timings, err := lab.Compare(ctx, lab.Pick(env, 2, 1), variants...)
	if err != nil {
		return nil, err
	}
	t := lab.NewTable("", "allocation, algorithm", names, []string{"ms a query", "reduction, %", "against JASS, %"})
	own, paper := make([]float64, len(rows)), make([]float64, len(rows))
	for i, r := range rows {
		own[i] = timings[i].Per(len(queries)) / 1e6
		t.SetPapers(i, r.paper...)
		t.Set(i, 0, own[i])
		if r.paper != nil {
			paper[i] = r.paper[0]
		}
	}
	for i := range rows {
		t.Set(i, 1, 100*(1-own[i]/own[0]))
		t.Set(i, 2, 100*(1-own[i]/own[jass]))
	}
	figure := &lab.Figure{
		Title: "Mean time of a query", Kind: lab.Bars, X: "allocation, algorithm", Y: "ms",
		Categories: []string{"Dyn, 1", "Array, 1", "Dyn, 2", "Array, 2", "JASS", "Array, 2, inl.", "windowed"},
		Series: []lab.Series{
			{Name: "Griffin", Points: lab.Heights(own...)},
			{Name: "paper (iMac, 3.2 GHz)", Paper: true, Points: lab.Heights(paper...)},
		},
	}
	return &lab.Result{Tables: []*lab.Table{t}, Figures: []*lab.Figure{figure}}, nil
}
