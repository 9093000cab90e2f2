package plan

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/mapping"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/internal/sampletest"
	"github.com/griffin-search/griffin/query"
)

const typedMapping = `{"properties":{"n":{"type":"long"},"d":{"type":"double"},"day":{"type":"date"},"flag":{"type":"boolean"},
	"addr":{"type":"ip"},"kind":{"type":"keyword"},"at":{"type":"geo_point"},"note":{"type":"text"},"hidden":{"type":"long","index":false},"scanned":{"type":"long","doc_values":false}}}`

// typedDoc has the values of a document by field, as texts.
type typedDoc map[string][]string

func randomTyped(rng *rand.Rand) typedDoc {
	d := typedDoc{}
	for _, f := range []struct {
		name  string
		value func() string
	}{
		{"n", func() string { return fmt.Sprint(rng.IntN(40) - 20) }},
		{"d", func() string { return strconv.FormatFloat(float64(rng.IntN(80)-40)/4, 'g', -1, 64) }},
		{"day", func() string { return randomTime(rng).Format("2006-01-02T15:04:05.000Z") }},
		{"flag", func() string { return fmt.Sprint(rng.IntN(2) == 0) }},
		{"addr", func() string {
			return []string{fmt.Sprintf("10.0.%d.%d", rng.IntN(3), rng.IntN(256)), fmt.Sprintf("2001:db8::%x", rng.IntN(64))}[rng.IntN(2)]
		}},
		{"kind", func() string { return fmt.Sprintf("k%d", rng.IntN(30)) }},
		{"at", func() string { return fmt.Sprintf("%d,%d", rng.IntN(180)-90, rng.IntN(360)-180) }},
		{"note", func() string { return plantest.RandomWord(rng) }},
	} {
		for range max(rng.IntN(6)-2, 0) {
			d[f.name] = append(d[f.name], f.value())
		}
	}
	return d
}

func randomTime(rng *rand.Rand) time.Time {
	return time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(rng.IntN(20*24*4)) * 15 * time.Minute)
}

// randomTypedNode returns a node over a typed field, and the test of a document that it stands for.
func randomTypedNode(rng *rand.Rand) (query.Node, func(d typedDoc) bool) {
	field := []string{"n", "d", "day", "flag", "addr", "kind"}[rng.IntN(6)]
	some := func(test func(value string) bool) func(d typedDoc) bool {
		return func(d typedDoc) bool { return slices.ContainsFunc(d[field], test) }
	}
	switch rng.IntN(6) {
	case 0:
		field = append([]string{"at", "note"}, field)[rng.IntN(3)]
		return &query.Exists{Field: field}, func(d typedDoc) bool { return len(d[field]) > 0 }
	case 1:
		field = "at"
		return randomGeo(rng, some)
	case 2:
		values := randomTyped(rng)[field]
		for len(values) == 0 {
			values = randomTyped(rng)[field]
		}
		test := some(func(v string) bool {
			return slices.ContainsFunc(values, func(w string) bool { return sameValue(field, v, w) })
		})
		if len(values) == 1 {
			return []query.Node{
				&query.Term{Field: field, Text: values[0]}, &query.Words{Field: field, Text: values[0]}, &query.Term{Field: field, Text: values[0], Exact: true},
			}[rng.IntN(3)], test
		}
		return &query.Terms{Field: field, Values: values}, test
	case 3:
		if field == "addr" {
			network := []string{"10.0.1.0/24", "10.0.2.128/25", "2001:db8::/122", "0.0.0.0/0"}[rng.IntN(4)]
			prefix := netip.MustParsePrefix(network)
			return &query.Term{Field: field, Text: network}, some(func(v string) bool { return prefix.Contains(netip.MustParseAddr(v)) })
		}
	}
	return randomRange(rng, field, some)
}

func sameValue(field, v, w string) bool {
	switch field {
	case "n", "d":
		x, _ := strconv.ParseFloat(v, 64)
		y, _ := strconv.ParseFloat(w, 64)
		return x == y
	case "addr":
		return netip.MustParseAddr(v) == netip.MustParseAddr(w)
	}
	return v == w
}

func randomRange(rng *rand.Rand, field string, some func(test func(value string) bool) func(d typedDoc) bool) (query.Node, func(d typedDoc) bool) {
	r := &query.Range{Field: field, ExcludeFrom: rng.IntN(2) == 0, ExcludeTo: rng.IntN(2) == 0}
	bound := func() string {
		switch field {
		case "n":
			return []string{fmt.Sprint(rng.IntN(44) - 22), fmt.Sprintf("%.1f", float64(rng.IntN(440)-220)/10)}[rng.IntN(2)]
		case "d":
			return strconv.FormatFloat(float64(rng.IntN(90)-45)/4, 'g', -1, 64)
		case "day":
			return randomTime(rng).Format([]string{"2006-01-02", "2006-01-02T15:04:05Z", "2006-01-02T15:04"}[rng.IntN(3)])
		case "flag":
			return fmt.Sprint(rng.IntN(2) == 0)
		case "addr":
			return fmt.Sprintf("10.0.%d.%d", rng.IntN(3), rng.IntN(256))
		}
		return fmt.Sprintf("k%d", rng.IntN(30))
	}
	if rng.IntN(4) > 0 {
		r.From = bound()
	}
	if rng.IntN(4) > 0 {
		r.To = bound()
	}
	// The sign of a value less a bound; a date stands for its last moment if end is set.
	compare := func(v, bound string, end bool) int {
		switch field {
		case "n", "d":
			x, _ := strconv.ParseFloat(v, 64)
			y, _ := strconv.ParseFloat(bound, 64)
			return int(min(max(4*(x-y)*10, -1), 1) + 2*min(max(x-y, 0), 0))
		case "addr":
			return netip.AddrFrom16(netip.MustParseAddr(v).As16()).Compare(netip.AddrFrom16(netip.MustParseAddr(bound).As16()))
		case "day":
			return compareDates(v, bound, end)
		}
		return strings.Compare(v, bound)
	}
	return r, some(func(v string) bool {
		from, to := true, true
		if r.From != "" {
			c := compare(v, r.From, r.ExcludeFrom)
			from = c > 0 || c == 0 && !r.ExcludeFrom
		}
		if r.To != "" {
			c := compare(v, r.To, !r.ExcludeTo)
			to = c < 0 || c == 0 && !r.ExcludeTo
		}
		return from && to
	})
}

func compareDates(v, bound string, end bool) int {
	x, err := time.Parse("2006-01-02T15:04:05.000Z", v)
	if err != nil {
		panic(err)
	}
	for layout, unit := range map[string]time.Duration{"2006-01-02": 24 * time.Hour, "2006-01-02T15:04": time.Minute, "2006-01-02T15:04:05Z": time.Second} {
		if y, err := time.Parse(layout, bound); err == nil {
			if end {
				y = y.Add(unit - time.Millisecond)
			}
			return x.Compare(y)
		}
	}
	panic(bound)
}

func randomGeo(rng *rand.Rand, some func(test func(value string) bool) func(d typedDoc) bool) (query.Node, func(d typedDoc) bool) {
	point := func(v string) (lat, lon float64) {
		lat, lon, err := mapping.ParsePoint(v)
		if err != nil {
			panic(err)
		}
		return mapping.DecodePoint(mapping.EncodePoint(lat, lon))
	}
	if rng.IntN(3) == 0 {
		return randomPolygon(rng, some, point)
	}
	if rng.IntN(2) == 0 {
		g := &query.GeoDistance{Field: "at", Lat: float64(rng.IntN(181) - 90), Lon: float64(rng.IntN(361) - 180), Meters: float64(rng.IntN(4_000_000))}
		return g, some(func(v string) bool {
			lat, lon := point(v)
			return haversine(g.Lat, g.Lon, lat, lon) <= g.Meters
		})
	}
	g := &query.GeoBox{Field: "at", Bottom: float64(rng.IntN(180)-90) - 0.5, Left: float64(rng.IntN(360)-180) + 0.5, Right: float64(rng.IntN(360)-180) + 0.5}
	g.Bottom = max(g.Bottom, -90)
	g.Top = min(g.Bottom+float64(rng.IntN(90)), 90)
	return g, some(func(v string) bool {
		lat, lon := point(v)
		inside := lon >= g.Left && lon <= g.Right
		if g.Left > g.Right {
			inside = lon >= g.Left || lon <= g.Right
		}
		return lat >= g.Bottom && lat <= g.Top && inside
	})
}

// randomPolygon has corners at random, so that edges cross. The loop divides the plane by the meridian of the point, in exact
// numbers.
func randomPolygon(rng *rand.Rand, some func(test func(value string) bool) func(d typedDoc) bool, point func(v string) (lat, lon float64)) (query.Node, func(d typedDoc) bool) {
	g := &query.GeoPolygon{Field: "at"}
	for range 3 + rng.IntN(6) {
		g.Points = append(g.Points, query.GeoPoint{Lat: float64(rng.IntN(37)*5 - 90), Lon: float64(rng.IntN(73)*5 - 180)})
	}
	if query.Validate(g) != nil {
		g.Points = []query.GeoPoint{{Lat: 0, Lon: 0}, {Lat: 50, Lon: 0}, {Lat: 50, Lon: 50}}
	}
	exact := func(v float64) *big.Rat { return new(big.Rat).SetFloat64(v) }
	return g, some(func(v string) bool {
		lat, lon := point(v)
		y, x := exact(lat), exact(lon)
		above := 0
		for i, a := range g.Points {
			b := g.Points[(i+1)%len(g.Points)]
			if a.Lon > b.Lon {
				a, b = b, a
			}
			ax, ay, bx, by := exact(a.Lon), exact(a.Lat), exact(b.Lon), exact(b.Lat)
			if ax.Cmp(x) > 0 || bx.Cmp(x) < 0 {
				continue
			}
			if ax.Cmp(bx) == 0 { // a meridian
				if exact(min(a.Lat, b.Lat)).Cmp(y) <= 0 && exact(max(a.Lat, b.Lat)).Cmp(y) >= 0 {
					return true
				}
				continue
			}
			// The latitude of the edge at the point's longitude.
			at := new(big.Rat).Sub(by, ay)
			at.Mul(at, new(big.Rat).Sub(x, ax)).Quo(at, new(big.Rat).Sub(bx, ax)).Add(at, ay)
			if at.Cmp(y) == 0 {
				return true
			}
			if at.Cmp(y) > 0 && x.Cmp(bx) < 0 { // the eastern end is not of the edge
				above++
			}
		}
		return above%2 == 1
	})
}

func typedIndex(t testing.TB, rng *rand.Rand, numDocs, commits int) (*Planner, []typedDoc, []string) {
	t.Helper()
	m, err := mapping.Parse([]byte(typedMapping))
	if err != nil {
		t.Fatal(err)
	}
	m = m.WithDynamic(mapping.DynamicFalse)
	docs, texts := make([]typedDoc, numDocs), make([]string, numDocs)
	ix := indextest.Write(t, index.Options{Analyzer: "whitespace", Positions: true, Mapping: m}, func(w *indextest.Writer) {
		for i := range docs {
			docs[i], texts[i] = randomTyped(rng), plantest.RandomWords(rng, 1+rng.IntN(10))
			d := corpus.Document{ID: fmt.Sprint(i), Text: texts[i]}
			for _, field := range []string{"n", "d", "day", "flag", "addr", "kind", "at", "note"} {
				for _, v := range docs[i][field] {
					d.Extra = append(d.Extra, corpus.Field{Name: field, Value: v})
				}
			}
			w.Add(&d)
			if (i+1)%(numDocs/commits) == 0 {
				w.Commit()
			}
		}
		w.Commit()
	})
	return New(indextest.Snapshot(t, ix), nil), docs, texts
}

// Random queries over typed fields, alone and as filters of words, match the documents that plain loops over
// the values find, whether their bitmaps are computed or candidates are tested.
func TestTypedOracle(t *testing.T) {
	rng := rand.New(rand.NewPCG(81, 1))
	s, docs, texts := typedIndex(t, rng, 1200, 3)
	sc := testScratch(t, "whitespace")
	helped := New(s.Snapshot(), nil)
	helped.Share(shortRanges(3))
	matched, queries := 0, 1500
	if sampletest.All() {
		queries = 100_000
	}
	for range queries {
		n, test := randomTypedNode(rng)
		word := plantest.RandomWord(rng)
		q := n
		want := func(i int) bool { return test(docs[i]) }
		has := func(i int) bool { return slices.Contains(strings.Fields(texts[i]), word) }
		switch rng.IntN(4) {
		case 0:
			q = &query.Boolean{Clauses: []query.Clause{{Occur: query.Filter, Node: n}, {Occur: query.Must, Node: &query.Term{Text: word}}}}
			want = func(i int) bool { return test(docs[i]) && has(i) }
		case 1:
			q = query.Exclude(&query.Term{Text: word}, n)
			want = func(i int) bool { return !test(docs[i]) && has(i) }
		case 2:
			q = query.Any(&query.Term{Text: word}, n)
			want = func(i int) bool { return test(docs[i]) || has(i) }
		}
		p, err := s.Prepare(sc, q, Options{K: 2000, Count: true})
		if err != nil {
			t.Fatalf("%s: %v", q, err)
		}
		a, err := p.RunCPU(t.Context(), sc, nil, nil)
		if err != nil {
			t.Fatalf("%s: %v", q, err)
		}
		var expected []base.DocID
		for i := range docs {
			if want(i) {
				expected = append(expected, base.DocID(i))
			}
		}
		if got := docIDs(a.Hits); !slices.Equal(got, expected) || a.Matches != int64(len(expected)) {
			t.Fatalf("%s: %d hits and %d matches, want %d\ngot  %v\nwant %v", q, len(got), a.Matches, len(expected), got, expected)
		}
		if p, err = helped.Prepare(sc, q, Options{K: 10}); err != nil {
			t.Fatal(err)
		}
		if n, err := CountMatches(t.Context(), p, sc); err != nil || n != a.Matches {
			t.Fatalf("%s: with helpers %d matches, %v, want %d", q, n, err, a.Matches)
		}
		matched += len(expected)
	}
	if matched < 100_000 {
		t.Errorf("only %d documents matched", matched)
	}
}

// Few candidates are tested one by one, with the scores that a bitmap gives.
func TestTestedCandidates(t *testing.T) {
	rng := rand.New(rand.NewPCG(82, 1))
	s, _, _ := typedIndex(t, rng, 3000, 1)
	sc := testScratch(t, "whitespace")
	tested := 0
	for range 100 {
		n, _ := randomTypedNode(rng)
		word := fmt.Sprintf("w%d", 30+rng.IntN(10))
		q := query.All(&query.Term{Text: word}, n)
		p, err := s.Prepare(sc, q, Options{K: 10})
		if err != nil {
			t.Fatal(err)
		}
		if st := &p.stages[0]; st.flat && !st.maskPays(&p.words, 0, nil) {
			tested++
		}
		got, err := p.RunCPU(t.Context(), sc, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		want := answer(t, s, sc, query.All(&query.Term{Text: word}, &query.Boolean{Clauses: []query.Clause{{Occur: query.Should, Node: n}, {Occur: query.Should, Node: &query.IDs{}}}, AtLeast: "1"}), Options{K: 10})
		if !slices.Equal(got.Hits, want.Hits) {
			t.Fatalf("%s:\ngot  %v\nwant %v", q, got.Hits, want.Hits)
		}
	}
	if tested == 0 {
		t.Error("no candidates were tested")
	}
}

// A value that a query repeats counts each time, up to the greatest number of values.
func TestTermsSetOfEqualValues(t *testing.T) {
	s, _, _ := typedIndex(t, rand.New(rand.NewPCG(85, 1)), 300, 1)
	sc := testScratch(t, "whitespace")
	hits := func(n int) []base.Hit {
		node := &query.TermsSet{Field: "kind", Values: slices.Repeat([]string{"k1"}, n), AtLeast: "n"}
		return answer(t, s, sc, node, Options{K: 300}).Hits
	}
	few, many := hits(1000), hits(query.MaxValues)
	if len(few) == 0 || len(many) < len(few) {
		t.Errorf("%d hits with %d equal values, %d with 1,000", len(many), query.MaxValues, len(few))
	}
}

// Values that a field cannot hold, and queries that its type does not support, are errors
// that name the field or the type.
func TestTypedErrors(t *testing.T) {
	s, _, _ := typedIndex(t, rand.New(rand.NewPCG(83, 1)), 10, 1)
	sc := testScratch(t, "whitespace")
	for _, test := range []struct {
		node query.Node
		want string
	}{
		{&query.Term{Field: "n", Text: "x"}, `"n"`},
		{&query.Terms{Field: "d", Values: []string{"1", "x"}}, `"d"`},
		{&query.Range{Field: "day", From: "yesterday"}, `"day"`},
		{&query.Range{Field: "day", From: "2024", Zone: "Nowhere/City"}, "Nowhere/City"},
		{&query.Range{Field: "n", From: "1", Format: "yyyy"}, "no dates"},
		{&query.Range{Field: "addr", From: "10.0.0"}, `"addr"`},
		{&query.Term{Field: "addr", Text: "10.0.0.0/99"}, `"addr"`},
		{&query.Term{Field: "at", Text: "1,2"}, "geo_point"},
		{&query.Range{Field: "at", From: "1,2"}, "geo_point"},
		{&query.GeoPolygon{Field: "n", Points: []query.GeoPoint{{}, {Lat: 1}, {Lon: 1}}}, "no field \"n\" of type geo_point"},
		{&query.GeoBox{Field: "n"}, "no field \"n\" of type geo_point"},
		{&query.Prefix{Field: "n", Text: "1"}, "type long"},
		{&query.Fuzzy{Field: "d", Text: "1"}, "type double"},
		{&query.Term{Field: "hidden", Text: "1"}, "index false"},
		{&query.Term{Field: "nothing", Text: "1"}, "no field"},
		{&query.TermsSet{Field: "kind", Values: []string{"k1"}, AtLeast: "scanned"}, `terms_set: field "scanned" has doc_values false`},
		{scoredBy(query.Function{Value: &query.FieldValue{Field: "scanned"}}), `field_value_factor: field "scanned" has doc_values false`},
		{scoredBy(query.Function{Random: &query.RandomScore{Field: "scanned"}}), `random_score: field "scanned" has doc_values false`},
		{scoredBy(query.Function{Decay: &query.Decay{Shape: query.Gauss, Field: "scanned", Origin: "1", Scale: "2"}}), `gauss: field "scanned" has doc_values false`},
	} {
		if _, err := s.Prepare(sc, test.node, Options{K: 1}); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %q", test.node, err, test.want)
		}
	}
	if names := s.Names(); !slices.Contains(names, "at") || names[0] != "" || len(names) != 11 {
		t.Errorf("names %q", names)
	}
}

func scoredBy(f query.Function) query.Node {
	return &query.FunctionScore{Functions: []query.Function{f}}
}

// Date maths, formats and zones of ranges.
func TestDateRanges(t *testing.T) {
	s, docs, _ := typedIndex(t, rand.New(rand.NewPCG(84, 1)), 400, 1)
	sc := testScratch(t, "whitespace")
	count := func(from, to time.Time) (n int64) {
		for _, d := range docs {
			if slices.ContainsFunc(d["day"], func(v string) bool {
				x, _ := time.Parse("2006-01-02T15:04:05.000Z", v)
				return !x.Before(from) && x.Before(to)
			}) {
				n++
			}
		}
		return n
	}
	day := func(d, hour int) time.Time { return time.Date(2024, 1, d, hour, 0, 0, 0, time.UTC) }
	for _, test := range []struct {
		r    query.Range
		want int64
	}{
		{query.Range{From: "2024-01-03", To: "2024-01-05"}, count(day(3, 0), day(6, 0))},
		{query.Range{From: "2024-01-03", To: "2024-01-05", ExcludeFrom: true, ExcludeTo: true}, count(day(4, 0), day(5, 0))},
		{query.Range{From: "2024-01-03||+1d", To: "2024-01-05||-1d/d"}, count(day(4, 0), day(5, 0))},
		{query.Range{From: "03/01/2024", To: "05/01/2024", Format: "dd/MM/yyyy", ExcludeTo: true}, count(day(3, 0), day(5, 0))},
		{query.Range{From: "2024-01-03", To: "2024-01-05", ExcludeTo: true, Zone: "+05:00"}, count(day(2, 19), day(4, 19))},
		{query.Range{From: "now-1d"}, 0},
		{query.Range{To: "now"}, count(day(1, 0), day(31, 0))},
	} {
		test.r.Field = "day"
		if a := answer(t, s, sc, &test.r, Options{Count: true}); a.Matches != test.want || test.want == 0 && test.r.From != "now-1d" {
			t.Errorf("%+v: %d matches, want %d", test.r, a.Matches, test.want)
		}
	}
}

// The boost of a field multiplies the scores of its words and values.
func TestFieldBoost(t *testing.T) {
	m, err := mapping.Parse([]byte(`{"properties":{"plain":{"type":"text"},"heavy":{"type":"text","boost":3},"kind":{"type":"keyword","boost":2},"n":{"type":"long","boost":1.5}}}`))
	if err != nil {
		t.Fatal(err)
	}
	ix := indextest.Write(t, index.Options{Analyzer: "whitespace", Positions: true, Mapping: m.WithDynamic(mapping.DynamicFalse)}, func(w *indextest.Writer) {
		for i := range 20 {
			d := corpus.Document{ID: fmt.Sprint(i)}
			for _, name := range []string{"plain", "heavy"} {
				d.Extra = append(d.Extra, corpus.Field{Name: name, Value: fmt.Sprintf("w%d w1 w2", i%4)})
			}
			d.Extra = append(d.Extra, corpus.Field{Name: "kind", Value: "a"}, corpus.Field{Name: "n", Value: fmt.Sprint(i)})
			w.Add(&d)
		}
		w.Commit()
	})
	s, sc := New(indextest.Snapshot(t, ix), nil), testScratch(t, "whitespace")
	for _, text := range []string{"%s:w3", `%s:"w1 w2"`, "%s:w*", "%s:[w1 TO w2]", "%s:w3~1"} {
		plain, err := query.Parse(fmt.Sprintf(text, "plain")+"^3", s.Names())
		if err != nil {
			t.Fatal(err)
		}
		heavy, err := query.Parse(fmt.Sprintf(text, "heavy"), s.Names())
		if err != nil {
			t.Fatal(err)
		}
		want, got := answer(t, s, sc, plain, Options{K: 20}), answer(t, s, sc, heavy, Options{K: 20})
		if len(want.Hits) == 0 || !slices.Equal(got.Hits, want.Hits) {
			t.Errorf("%s: %v, want %v", text, got.Hits, want.Hits)
		}
	}
	for text, want := range map[string]float64{"kind:a*": 2, "n:[3 TO 5]": 1.5, "n:7^2": 3, "(n:7)^=1": 1} {
		n, err := query.Parse(text, s.Names())
		if err != nil {
			t.Fatal(err)
		}
		if a := answer(t, s, sc, n, Options{K: 1}); len(a.Hits) != 1 || a.Hits[0].Score.Float64() != want {
			t.Errorf("%s: %v, want the score %g", text, a.Hits, want)
		}
	}
}
