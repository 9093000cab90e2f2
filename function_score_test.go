package griffin_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/query"
)

// scored is a function with its loop: the value of a document, and whether it applies.
type scored struct {
	query.Function
	value func(d *historyDoc) (float64, bool)
}

// function returns a function over a field.
func (l *textHistory) function() scored {
	var s scored
	pick := func(n int) int { return l.rng.IntN(n) }
	filtered := func(*historyDoc) bool { return true }
	if pick(3) == 0 {
		least := pick(5)
		s.Filter = &query.Range{Field: "sold", From: fmt.Sprint(least)}
		filtered = func(d *historyDoc) bool { return len(d.sold) > 0 && slices.Max(d.sold) >= least }
	}
	weight := 1.0
	if pick(2) == 0 {
		weight = []float64{0, 0.5, 3}[pick(3)]
		s.Weight = &weight
	}
	value := func(*historyDoc) (float64, bool) { return 1, true }
	switch pick(4) {
	case 0:
		s.Value, value = l.fieldValue()
	case 1, 2:
		s.Decay, value = l.decay()
	}
	s.value = func(d *historyDoc) (float64, bool) {
		if !filtered(d) {
			return 0, false
		}
		v, ok := value(d)
		return v * weight, ok
	}
	return s
}

func (l *textHistory) fieldValue() (*query.FieldValue, func(d *historyDoc) (float64, bool)) {
	v := &query.FieldValue{Field: []string{"sold", "price"}[l.rng.IntN(2)], Factor: []float64{0, 0.5, 2}[l.rng.IntN(3)], Modifier: query.Modifier(l.rng.IntN(10))}
	missing := 2.0
	if l.rng.IntN(2) == 0 {
		v.Missing = &missing
	}
	return v, func(d *historyDoc) (float64, bool) {
		number := missing
		switch {
		case v.Field == "sold" && len(d.sold) > 0:
			number = float64(slices.Min(d.sold))
		case v.Field == "price" && len(d.prices) > 0:
			number = slices.Min(d.prices)
		case v.Missing == nil:
			return 0, false
		}
		if v.Factor != 0 {
			number *= v.Factor
		}
		number = []func() float64{
			func() float64 { return number }, func() float64 { return math.Log10(number) }, func() float64 { return math.Log10(number + 1) },
			func() float64 { return math.Log10(number + 2) }, func() float64 { return math.Log(number) }, func() float64 { return math.Log(number + 1) },
			func() float64 { return math.Log(number + 2) }, func() float64 { return number * number }, func() float64 { return math.Sqrt(number) },
			func() float64 { return 1 / number },
		}[v.Modifier]()
		if !(number > 0) {
			number = 0
		}
		return number, true
	}
}

// decay is of numbers, dates or points.
func (l *textHistory) decay() (*query.Decay, func(d *historyDoc) (float64, bool)) {
	q := &query.Decay{Shape: query.DecayShape(l.rng.IntN(3)), Of: query.DistanceMode(l.rng.IntN(4)), Decay: []float64{0, 0.2, 0.7}[l.rng.IntN(3)]}
	scale, offset := float64(1+l.rng.IntN(4)), float64(l.rng.IntN(3))
	var distances func(d *historyDoc) []float64
	switch l.rng.IntN(3) {
	case 0:
		q.Field, q.Origin, q.Scale, q.Offset = "price", "4.5", fmt.Sprint(scale), fmt.Sprint(offset)
		distances = func(d *historyDoc) (all []float64) {
			for _, p := range d.prices {
				all = append(all, math.Abs(p-4.5))
			}
			return all
		}
	case 1:
		q.Field, q.Origin, q.Scale, q.Offset = "day", "2024-01-20", fmt.Sprintf("%gd", scale), fmt.Sprintf("%gh", 24*offset)
		distances = func(d *historyDoc) (all []float64) {
			for _, day := range d.days {
				all = append(all, math.Abs(float64(day-19)))
			}
			return all
		}
	default:
		q.Field, q.Origin, q.Scale, q.Offset = "at", "5,3", fmt.Sprintf("%gkm", 500*scale), fmt.Sprintf("%gkm", 500*offset)
		distances = func(d *historyDoc) (all []float64) {
			for _, p := range d.points {
				all = append(all, kilometers(5, 3, p[0], p[1])/500)
			}
			return all
		}
	}
	return q, func(d *historyDoc) (float64, bool) {
		all := distances(d)
		if len(all) == 0 {
			return 1, true
		}
		sum := 0.0
		for i := range all {
			all[i] = max(all[i]-offset, 0)
			sum += all[i]
		}
		far := []float64{slices.Min(all), slices.Max(all), sum / float64(len(all)), sum}[q.Of]
		at := q.Decay
		if at == 0 {
			at = 0.5
		}
		sigma := -scale * scale / (2 * math.Log(at))
		zero := scale / (1 - at)
		return []float64{math.Exp(-far * far / (2 * sigma)), math.Exp(math.Log(at) / scale * far), max(0, (zero-far)/zero)}[q.Shape], true
	}
}

// kilometers is the distance by the spherical law of cosines.
func kilometers(lat1, lon1, lat2, lon2 float64) float64 {
	const radians = math.Pi / 180
	c := math.Sin(lat1*radians)*math.Sin(lat2*radians) + math.Cos(lat1*radians)*math.Cos(lat2*radians)*math.Cos((lon1-lon2)*radians)
	return 6371.0087714 * math.Acos(min(c, 1))
}

// functionScore returns the query, and the factor of a document.
func (l *textHistory) functionScore() (*query.FunctionScore, func(d *historyDoc) float64) {
	f := &query.FunctionScore{Node: &query.Words{Text: l.words(3)}, ScoreMode: query.ScoreMode(l.rng.IntN(6)), BoostMode: query.BoostMode(l.rng.IntN(6))}
	f.MaxBoost = []float64{0, 0, 0.8}[l.rng.IntN(3)]
	var functions []scored
	for range l.rng.IntN(4) {
		functions = append(functions, l.function())
		f.Functions = append(f.Functions, functions[len(functions)-1].Function)
	}
	return f, func(d *historyDoc) float64 {
		var values []float64
		weights := 0.0
		for i := range functions {
			if v, ok := functions[i].value(d); ok {
				values = append(values, v)
				if weights++; functions[i].Weight != nil {
					weights += *functions[i].Weight - 1
				}
			}
		}
		if len(values) == 0 {
			return 1
		}
		product, sum := 1.0, 0.0
		for _, v := range values {
			product *= v
			sum += v
		}
		if weights == 0 {
			weights = 1
		}
		return []float64{product, sum, sum / weights, values[0], slices.Max(values), slices.Min(values)}[f.ScoreMode]
	}
}

func (l *textHistory) checkFunctions(t *testing.T) {
	t.Helper()
	f, factor := l.functionScore()
	base, err := l.ix.Search(t.Context(), griffin.Query{Node: f.Node, K: 1000})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{}
	for _, h := range base.Hits {
		d := &l.live[slices.IndexFunc(l.live, func(d historyDoc) bool { return d.id == h.ID })]
		factor := factor(d)
		if f.MaxBoost > 0 {
			factor = min(factor, f.MaxBoost)
		}
		s := h.Score
		want[h.ID] = []float64{s * factor, factor, s + factor, (s + factor) / 2, max(s, factor), min(s, factor)}[f.BoostMode]
	}
	all, err := l.ix.Search(t.Context(), griffin.Query{Node: f, K: 1000})
	if err != nil {
		t.Fatalf("%s: %v", f, err)
	}
	if len(all.Hits) != len(want) {
		t.Fatalf("%s: %d hits, want %d", f, len(all.Hits), len(want))
	}
	for i, h := range all.Hits {
		if w := want[h.ID]; math.Abs(w-h.Score) > 1e-4*max(1, w) && !(math.IsInf(w, 1) && h.Score > 1e9) {
			t.Fatalf("%s: document %s scores %v, want %v", f, h.ID, h.Score, w)
		}
		if i > 0 && h.Score > all.Hits[i-1].Score {
			t.Fatalf("%s: hits %d and %d are out of order", f, i-1, i)
		}
	}
	// Few hits are the first of all, and a least score leaves out the others.
	k := 1 + l.rng.IntN(10)
	few, err := l.ix.Search(t.Context(), griffin.Query{Node: f, K: k})
	if err != nil {
		t.Fatal(err)
	}
	same := func(a, b griffin.Hit) bool { return a.ID == b.ID && a.Score == b.Score }
	if !slices.EqualFunc(few.Hits, all.Hits[:min(k, len(all.Hits))], same) {
		t.Fatalf("%s: %d hits are %v\nof all %v", f, k, few.Hits, all.Hits)
	}
	if len(all.Hits) == 0 {
		return
	}
	f.MinScore = all.Hits[len(all.Hits)/2].Score
	least := slices.IndexFunc(all.Hits, func(h griffin.Hit) bool { return h.Score < f.MinScore })
	if least < 0 {
		least = len(all.Hits)
	}
	above, err := l.ix.Search(t.Context(), griffin.Query{Node: f, K: 1000, Count: true})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.EqualFunc(above.Hits, all.Hits[:least], same) || above.Matches != int64(least) {
		t.Fatalf("%s: %d hits of %d, want %d", f, len(above.Hits), above.Matches, least)
	}
	l.checkFunctionExplanation(t, f, all.Hits[0])
}

func (l *textHistory) checkFunctionExplanation(t *testing.T, f *query.FunctionScore, h griffin.Hit) {
	t.Helper()
	e, err := l.ix.Explain(t.Context(), griffin.Query{Node: f}, h.ID)
	if err != nil {
		t.Fatal(err)
	}
	sum, functions := 0.0, 0
	for _, p := range e.Parts {
		if sum += p.Contribution; p.Functions != nil {
			functions = len(p.Functions)
		}
	}
	if e.Score != h.Score || math.Abs(sum-h.Score) > 1e-9*max(1, h.Score) || functions != len(f.Functions) {
		t.Fatalf("%s: the explanation of %s has %v of %v and %d functions: %+v", f, h.ID, sum, h.Score, functions, e)
	}
}

// TestFunctionScores compares scores that functions change with loops over the live documents of random indexes.
func TestFunctionScores(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			l := newTextHistory(t, 100+seed)
			for range 60 {
				l.checkFunctions(t)
			}
		})
	}
}

// The origin of a date is now by default.
func TestDecayFromNow(t *testing.T) {
	l := newTextHistory(t, 1)
	for i, age := range []time.Duration{48 * time.Hour, 0, 24 * time.Hour} {
		d := griffin.Document{ID: fmt.Sprint("new", i), Text: "news", Fields: []griffin.Field{{Name: "day", Value: time.Now().Add(-age).UTC().Format(time.RFC3339)}}}
		if err := l.ix.Add(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.ix.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	f := &query.FunctionScore{Node: &query.Term{Text: "news"}, BoostMode: query.BoostReplace, Functions: []query.Function{{Decay: &query.Decay{Field: "day", Scale: "1d", Shape: query.Exp}}}}
	r, err := l.ix.Search(t.Context(), griffin.Query{Node: f})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		id    string
		score float64
	}{{"new1", 1}, {"new2", 0.5}, {"new0", 0.25}} {
		if h := r.Hits[i]; h.ID != want.id || math.Abs(h.Score-want.score) > 0.01 {
			t.Errorf("hit %d: %s with %v, want %+v", i, h.ID, h.Score, want)
		}
	}
}
