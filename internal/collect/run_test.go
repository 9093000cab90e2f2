package collect

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/bits"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/column"
	"github.com/griffin-search/griffin/internal/derived"
	"github.com/griffin-search/griffin/internal/mapping"
)

const testMapping = `{"properties": {
	"tag": {"type": "keyword"}, "one": {"type": "keyword"}, "address": {"type": "ip"}, "size": {"type": "long"},
	"price": {"type": "double"}, "weight": {"type": "float"}, "sold": {"type": "boolean"}, "made": {"type": "date"},
	"place": {"type": "geo_point"}, "body": {"type": "text"}, "bare": {"type": "long", "doc_values": false}, "empty": {"type": "long"}
}}`

type testDoc struct {
	values map[string][]string
	score  base.Score
	match  bool
}

func randomDocs(r *rand.Rand, n int) []testDoc {
	spread := int64(1) << r.IntN(30)
	docs := make([]testDoc, n)
	for i := range docs {
		d := testDoc{values: map[string][]string{}, score: base.Score(r.IntN(5)) << 15, match: r.IntN(5) > 0}
		add := func(field string, most int, value func() string) {
			for range r.IntN(most + 1) {
				d.values[field] = append(d.values[field], value())
			}
		}
		add("tag", 3, func() string { return fmt.Sprintf("t%d", r.IntN(30)) })
		add("one", 1, func() string { return fmt.Sprintf("k%d", r.IntN(20)) })
		add("address", 1, func() string { return fmt.Sprintf("10.0.0.%d", r.IntN(30)) })
		add("size", 3, func() string { return fmt.Sprint(r.Int64N(2*spread) - spread) })
		add("price", 2, func() string { return fmt.Sprint(float64(r.IntN(100)) / 7) })
		add("weight", 3, func() string { return fmt.Sprint(float32(r.IntN(64)) / 8) })
		add("sold", 1, func() string { return fmt.Sprint(r.IntN(2) == 0) })
		add("made", 1, func() string { return fmt.Sprint(1_600_000_000_000 + r.Int64N(spread)) })
		add("place", 2, func() string { return fmt.Sprintf("%d,%d", r.IntN(180)-90, r.IntN(360)-180) })
		docs[i] = d
	}
	return docs
}

func newTestMapping(tb testing.TB) *mapping.Mapping {
	tb.Helper()
	m, err := mapping.Parse([]byte(testMapping))
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

// testSegment makes a segment whose DocIDs are a permutation of the order of writing.
func testSegment(tb testing.TB, m *mapping.Mapping, docs []testDoc, at int, ranks []uint32) (Segment, []uint64) {
	tb.Helper()
	check := func(err error) {
		if err != nil {
			tb.Helper()
			tb.Fatal(err)
		}
	}
	byID := make([]*testDoc, len(docs))
	for i := range docs {
		byID[i] = &docs[i]
		if ranks != nil {
			byID[i] = &docs[ranks[i]]
		}
	}
	var out bytes.Buffer
	w := column.NewWriter(&out, len(docs), column.Temp{})
	fields := slices.Clone(m.Fields())
	slices.SortFunc(fields, func(a, b mapping.Field) int { return cmp.Compare(a.Name, b.Name) })
	for i := range fields {
		f := &fields[i]
		switch {
		case f.HasOrdinals():
			o, err := w.Ordinals(f.Name)
			check(err)
			for id, d := range byID {
				var terms [][]byte
				for _, v := range d.values[f.Name] {
					b, _, err := f.Bytes(v)
					check(err)
					terms = append(terms, b)
				}
				if len(terms) > 0 {
					check(o.Add(base.DocID(id), terms))
				}
			}
			check(o.Close())
		case f.HasNumbers():
			n, err := w.Numbers(f.Name)
			check(err)
			for id, d := range byID {
				var numbers []int64
				for _, v := range d.values[f.Name] {
					x, err := f.Number(v)
					check(err)
					numbers = append(numbers, x)
				}
				if len(numbers) > 0 {
					check(n.Add(base.DocID(id), numbers))
				}
			}
			check(n.Close())
		}
	}
	check(w.Close())
	set, err := column.Open(column.Memory(out.Bytes()), len(docs))
	check(err)
	words := make([]uint64, (len(docs)+63)/64)
	for id, d := range byID {
		if d.match {
			words[id/64] |= 1 << (id % 64)
		}
	}
	return Segment{
		NumDocs: len(docs), Base: base.DocID(at), Ranks: ranks,
		Column: func(field string) (*column.Column, error) {
			c, _ := set.Column(field)
			return c, nil
		},
	}, words
}

// testScorer knows the scores, and that documents rise.
type testScorer struct {
	docs     []testDoc
	segments []Segment
	at       int
	last     int
}

func (s *testScorer) Begin(segment int) error {
	s.at, s.last = segment, -1
	return nil
}

func (s *testScorer) Score(doc base.DocID) (base.Score, error) {
	if int(doc) <= s.last {
		return 0, fmt.Errorf("document %d after %d", doc, s.last)
	}
	s.last = int(doc)
	n := uint32(doc)
	if ranks := s.segments[s.at].Ranks; ranks != nil {
		n = ranks[doc]
	}
	return s.docs[uint32(s.segments[s.at].Base)+n].score, nil
}

// oracleValue is the value of a document for a key, by plain loops: a number, a text, or nil.
func oracleValue(k *Key, d *testDoc, number int) any {
	switch k.By {
	case Score:
		return float64(d.score)
	case Written:
		return float64(number)
	}
	if k.Field == nil {
		return nil
	}
	texts := d.values[k.Field.Name]
	if len(texts) == 0 && k.Missing == AsValue {
		if k.isTerms() {
			return term(k, k.Default)
		}
		if k.isReal() {
			var v float64
			_, _ = fmt.Sscan(k.Default, &v)
			return v
		}
		n, _ := k.Field.Number(k.Default)
		return k.Field.Type.Float64(n)
	}
	if len(texts) == 0 {
		return nil
	}
	if k.isTerms() {
		var terms []string
		for _, t := range texts {
			terms = append(terms, term(k, t))
		}
		if k.Mode == MaxMode {
			return slices.Max(terms)
		}
		return slices.Min(terms)
	}
	var numbers []int64
	for _, t := range texts {
		n, _ := k.Field.Number(t)
		numbers = append(numbers, n)
	}
	slices.Sort(numbers) // as in the column: sums of distances depend on the order
	var list []float64
	for _, n := range numbers {
		if k.By == Distance {
			lat, lon := mapping.DecodePoint(n)
			for _, o := range k.Origins {
				list = append(list, distance(Point{lat, lon}, o))
			}
			continue
		}
		list = append(list, k.Field.Type.Float64(n))
	}
	v := combined(k, list)
	if k.By == Distance {
		v /= k.Unit
	}
	return v
}

// Hits have distances from which search_after goes on exactly, in any unit.
func TestDistanceAfter(t *testing.T) {
	m := newTestMapping(t)
	f, _ := m.Field("place")
	r := rand.New(rand.NewPCG(5, 6))
	for _, unit := range slices.Sorted(maps.Keys(units)) {
		keys, err := Parse([]byte(fmt.Sprintf(`{"_geo_distance": {"place": [13.4, 52.5], "unit": %q}}`, unit)), m.Field)
		if err != nil {
			t.Fatal(err)
		}
		for range 1000 {
			point, err := f.Number(fmt.Sprintf("%f,%f", r.Float64()*180-90, r.Float64()*360-180))
			if err != nil {
				t.Fatal(err)
			}
			v := Value{Number: keys[0].distances([]int64{point})}
			raw := "[" + string(keys[0].AppendJSON(nil, v)) + "]"
			if after, err := ParseAfter([]byte(raw), keys); err != nil || after[0] != v {
				t.Fatalf("unit %s: %v from %s: %v, want %v", unit, after, raw, err, v)
			}
		}
	}
}

func term(k *Key, text string) string {
	b, _, _ := k.Field.Bytes(text)
	return string(b)
}

func combined(k *Key, list []float64) float64 {
	if k.By != Distance {
		slices.Sort(list)
	}
	sum := 0.0
	for _, v := range list {
		sum += v
	}
	n := len(list)
	var v float64
	switch k.Mode {
	case MinMode:
		return slices.Min(list)
	case MaxMode:
		return slices.Max(list)
	case SumMode:
		return sum
	case AvgMode:
		v = sum / float64(n)
	case MedianMode:
		v = list[n/2]
		if n%2 == 0 {
			v = (list[n/2-1] + list[n/2]) / 2
		}
	}
	if k.By == Values && !k.Field.Type.Real() {
		v = math.Floor(v + 0.5)
	}
	return v
}

func oracleCompare(k *Key, a, b any) int {
	if a == nil || b == nil {
		switch {
		case a == nil && b == nil:
			return 0
		case (a == nil) == (k.Missing == First):
			return -1
		}
		return 1
	}
	c := 0
	if x, ok := a.(string); ok {
		c = cmp.Compare(x, b.(string))
	} else {
		c = cmp.Compare(a.(float64), b.(float64))
	}
	if k.Desc {
		return -c
	}
	return c
}

func randomSort(r *rand.Rand) string {
	var keys []string
	for range 1 + r.IntN(3) {
		field := []string{"tag", "one", "address", "size", "price", "weight", "sold", "made", "empty"}[r.IntN(9)]
		order := []string{"asc", "desc"}[r.IntN(2)]
		switch r.IntN(8) {
		case 0:
			keys = append(keys, `"_score"`)
			continue
		case 1:
			keys = append(keys, fmt.Sprintf(`{"_doc": %q}`, order))
			continue
		case 2:
			mode := []string{"min", "max", "avg", "sum"}[r.IntN(4)]
			keys = append(keys, fmt.Sprintf(`{"_geo_distance": {"place": [{"lat": 10, "lon": 20}, {"lat": -40, "lon": 100}], "order": %q, "mode": %q, "unit": "km"}}`, order, mode))
			continue
		}
		options := fmt.Sprintf(`"order": %q`, order)
		modes := []string{"min", "max", "sum", "avg", "median"}
		if field == "tag" || field == "one" || field == "address" {
			modes = modes[:2]
		}
		if r.IntN(2) == 0 {
			options += fmt.Sprintf(`, "mode": %q`, modes[r.IntN(len(modes))])
		}
		switch r.IntN(4) {
		case 0:
			options += `, "missing": "_first"`
		case 1:
			options += `, "missing": ` + map[string]string{"tag": `"t2x"`, "one": `"k7"`, "address": `"10.0.0.9"`, "sold": "true", "made": "1600000000007"}[field]
			options = strings.TrimSuffix(options, `, "missing": `)
		}
		keys = append(keys, fmt.Sprintf(`{%q: {%s}}`, field, options))
	}
	return "[" + strings.Join(keys, ", ") + "]"
}

// TestRandomSorts compares with a sort of all documents, for pages one after another.
func TestRandomSorts(t *testing.T) {
	rounds := 80
	if os.Getenv("GRIFFIN_TEST_ALL") != "" {
		rounds = 20_000
	}
	m := newTestMapping(t)
	for seed := range rounds {
		r := rand.New(rand.NewPCG(uint64(seed), 7))
		n := r.IntN(300)
		if seed%40 == 0 || os.Getenv("GRIFFIN_TEST_LARGE") != "" {
			n = 25_000 + r.IntN(20_000) // more than are ranked without a sample
		}
		docs := randomDocs(r, n)
		segments, matches := testSegments(t, r, m, docs)
		for range 3 {
			text := randomSort(r)
			keys, err := Parse([]byte(text), m.Field)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			o := Options{Keys: keys, K: 1 + r.IntN(20), Scores: true, Scorer: &testScorer{docs: docs, segments: segments}}
			want := oracleSort(keys, docs)
			if r.IntN(2) == 0 { // the third uses an order
				for range 2 {
					if _, err := Run(context.Background(), segments, matches, o); err != nil {
						t.Fatal(err)
					}
				}
			}
			for page := range 3 {
				hits, err := Run(context.Background(), segments, matches, o)
				if err != nil {
					t.Fatalf("seed %d: %s: %v", seed, text, err)
				}
				checkHits(t, fmt.Sprintf("seed %d, page %d of %d: %s", seed, page, o.K, text), hits, want[:min(len(want), o.K)], segments, docs)
				if hits, err = RunDocs(context.Background(), segments, listed(matches), o); err != nil {
					t.Fatalf("seed %d: %s: %v", seed, text, err)
				}
				checkHits(t, fmt.Sprintf("seed %d, page %d of %d: %s, by documents", seed, page, o.K, text), hits, want[:min(len(want), o.K)], segments, docs)
				if len(hits) == 0 {
					break
				}
				want = o.next(t, hits, want, docs)
			}
		}
	}
}

// listed returns the documents of bitmaps.
func listed(bitmaps [][]uint64) [][]base.DocID {
	out := make([][]base.DocID, len(bitmaps))
	for i, words := range bitmaps {
		for j, w := range words {
			for ; w != 0; w &= w - 1 {
				out[i] = append(out[i], base.DocID(64*j+bits.TrailingZeros64(w)))
			}
		}
	}
	return out
}

// next sets After to the last hit, and returns the documents after it.
func (o *Options) next(t *testing.T, hits []Hit, want []int, docs []testDoc) []int {
	t.Helper()
	last := hits[len(hits)-1]
	raw := []byte{'['}
	for i := range o.Keys {
		if i > 0 {
			raw = append(raw, ',')
		}
		raw = o.Keys[i].AppendJSON(raw, last.Values[i])
	}
	raw = append(raw, ']')
	var err error
	if o.After, err = ParseAfter(raw, o.Keys); err != nil {
		t.Fatal(err)
	}
	for i := range o.Keys {
		if o.Keys[i].By == Distance { // in kilometers, it is rounded
			o.After[i] = last.Values[i]
		}
	}
	if !slices.Equal(o.After, last.Values) {
		t.Fatalf("%s: values %v became %v", raw, last.Values, o.After)
	}
	number := want[len(hits)-1]
	return slices.DeleteFunc(slices.Clone(want[len(hits):]), func(n int) bool { return oracleOrder(o.Keys, docs, n, number) == 0 })
}

func oracleOrder(keys []Key, docs []testDoc, a, b int) int {
	for i := range keys {
		k := &keys[i]
		if c := oracleCompare(k, oracleValue(k, &docs[a], a), oracleValue(k, &docs[b], b)); c != 0 {
			return c
		}
	}
	return 0
}

func oracleSort(keys []Key, docs []testDoc) []int {
	var out []int
	values := make([][]any, len(docs))
	for n := range docs {
		if docs[n].match {
			out = append(out, n)
			for i := range keys {
				values[n] = append(values[n], oracleValue(&keys[i], &docs[n], n))
			}
		}
	}
	slices.SortStableFunc(out, func(a, b int) int {
		for i := range keys {
			if c := oracleCompare(&keys[i], values[a][i], values[b][i]); c != 0 {
				return c
			}
		}
		return 0
	})
	return out
}

func testSegments(tb testing.TB, r *rand.Rand, m *mapping.Mapping, docs []testDoc) (segments []Segment, matches [][]uint64) {
	tb.Helper()
	cache := derived.NewCache(1 << 20)
	for from := 0; from < len(docs) || from == 0; {
		n := 1 + r.IntN(max(len(docs)-from, 1))
		n = min(n, len(docs)-from)
		var ranks []uint32
		if r.IntN(2) == 0 {
			for _, x := range r.Perm(n) {
				ranks = append(ranks, uint32(x))
			}
		}
		s, words := testSegment(tb, m, docs[from:from+n], from, ranks)
		s.Derived = cache.NewSegment()
		segments, matches = append(segments, s), append(matches, words)
		from += n
		if n == 0 {
			break
		}
	}
	return segments, matches
}

func checkHits(t *testing.T, what string, hits []Hit, want []int, segments []Segment, docs []testDoc) {
	t.Helper()
	var got []int
	for _, h := range hits {
		s := &segments[h.Segment]
		n := int(s.Base) + int(h.Doc)
		if s.Ranks != nil {
			n = int(s.Base) + int(s.Ranks[h.Doc])
		}
		got = append(got, n)
		if h.Score != docs[n].score {
			t.Fatalf("%s: document %d has score %v, want %v", what, n, h.Score, docs[n].score)
		}
	}
	if !slices.Equal(got, want) {
		t.Fatalf("%s:\ngot  %v\nwant %v", what, got, want)
	}
}

// TestRandomCollapses compares with a loop over the documents in their order.
func TestRandomCollapses(t *testing.T) {
	m := newTestMapping(t)
	for seed := range 100 {
		r := rand.New(rand.NewPCG(uint64(seed), 8))
		docs := randomDocs(r, r.IntN(300))
		segments, matches := testSegments(t, r, m, docs)
		keys, err := Parse([]byte(randomSort(r)), m.Field)
		if err != nil {
			t.Fatal(err)
		}
		field, _ := m.Field([]string{"one", "made", "sold"}[r.IntN(3)])
		o := Options{Keys: keys, K: 1 + r.IntN(10), Collapse: field, Scores: true, Scorer: &testScorer{docs: docs, segments: segments}}
		hits, err := Run(context.Background(), segments, matches, o)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		var want []int
		for _, n := range oracleSort(keys, docs) {
			group := strings.Join(docs[n].values[field.Name], " ")
			if !seen[group] && len(want) < o.K {
				want = append(want, n)
			}
			seen[group] = true
		}
		checkHits(t, fmt.Sprintf("seed %d, by %s", seed, field.Name), hits, want, segments, docs)
	}
}

// Pages of groups in the order of their field are the groups of one search. Sorts by more cannot be continued.
func TestCollapsePages(t *testing.T) {
	m := newTestMapping(t)
	for seed := range 60 {
		r := rand.New(rand.NewPCG(uint64(seed), 9))
		docs := randomDocs(r, r.IntN(300))
		segments, matches := testSegments(t, r, m, docs)
		field, _ := m.Field([]string{"one", "made", "sold"}[r.IntN(3)])
		order := []string{"asc", "desc"}[r.IntN(2)]
		missing := []string{"_last", "_first"}[r.IntN(2)]
		keys, err := Parse([]byte(fmt.Sprintf(`{%q: {"order": %q, "missing": %q}}`, field.Name, order, missing)), m.Field)
		if err != nil {
			t.Fatal(err)
		}
		o := Options{Keys: keys, K: len(docs) + 1, Collapse: field}
		want, err := Run(t.Context(), segments, matches, o)
		if err != nil {
			t.Fatal(err)
		}
		o.K = 1 + r.IntN(4)
		var got []Hit
		for {
			page, err := Run(t.Context(), segments, matches, o)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, page...)
			if len(page) < o.K || len(got) > len(want) {
				break
			}
			o.After = page[len(page)-1].Values
		}
		if !slices.EqualFunc(got, want, func(a, b Hit) bool { return a.Segment == b.Segment && a.Doc == b.Doc && a.Group == b.Group }) {
			t.Fatalf("seed %d, by %s %s: %d groups on pages, want %d", seed, field.Name, order, len(got), len(want))
		}
		o.After, o.Keys = []Value{{None: true}, {None: true}}, append(slices.Clone(keys), keys[0])
		if _, err := Run(t.Context(), segments, matches, o); !errors.Is(err, base.ErrBadInput) {
			t.Fatalf("two keys: %v", err)
		}
	}
}

func TestErrors(t *testing.T) {
	m := newTestMapping(t)
	for text, want := range map[string]string{
		`"nothing"`:               "No mapping found for [nothing]",
		`"body"`:                  "sort by [body]: a text has no column",
		`"bare"`:                  "doc_values",
		`"place"`:                 "_geo_distance",
		`{"size": "up"}`:          `order "up"`,
		`{"size": ""}`:            `order ""`,
		`{"size": {"order": ""}}`: `order ""`,
		`{"_geo_distance": {"place": "1,2", "order": ""}}`:              `order ""`,
		`{"size": {"order": "asc", "nested": {}}}`:                      "[nested]",
		`{"size": {"mode": "mean"}}`:                                    `[mode] "mean"`,
		`{"tag": {"mode": "sum"}}`:                                      "mode sum is for numbers",
		`{"size": {"missing": "x"}}`:                                    "[missing]",
		`{"tag": {"format": "yyyy"}}`:                                   "only dates",
		`{"x": {"unmapped_type": "y"}}`:                                 "[unmapped_type]",
		`{"_geo_distance": {"size": "1,2"}}`:                            "no geo_point",
		`{"_geo_distance": {"place": "1,2", "unit": "parsec"}}`:         "[unit]",
		`{"_geo_distance": {"place": "1,2", "distance_type": "plane"}}`: "[distance_type]",
		`{"_geo_distance": {"place": "100,2"}}`:                         "latitude",
		`{"_geo_distance": {}}`:                                         "one field",
		`[1]`:                                                           "want a field or an object",
		`{"size": "asc", "size": "asc"}`:                                "want a field or an object",
	} {
		_, err := Parse([]byte(text), m.Field)
		if !errors.Is(err, base.ErrBadInput) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
	keys, err := Parse([]byte(`["size", "_score", "tag"]`), m.Field)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{`1`, `[1]`, `["x", 1, "a"]`, `[1, -1, "a"]`, `[1, 2, {}]`, `[1, 2, "a", 4]`} {
		if _, err := ParseAfter([]byte(text), keys); !errors.Is(err, base.ErrBadInput) {
			t.Errorf("after %s: error %v", text, err)
		}
	}
}

func TestUnmapped(t *testing.T) {
	m := newTestMapping(t)
	keys, err := Parse([]byte(`[{"nothing": {"unmapped_type": "long", "order": "desc"}}, {"_geo_distance": {"none": "1,2", "ignore_unmapped": true}}]`), m.Field)
	if err != nil {
		t.Fatal(err)
	}
	docs := randomDocs(rand.New(rand.NewPCG(1, 1)), 10)
	s, words := testSegment(t, m, docs, 0, nil)
	hits, err := Run(context.Background(), []Segment{s}, [][]uint64{words}, Options{Keys: keys, K: 10})
	if err != nil {
		t.Fatal(err)
	}
	if len(hits) == 0 || !slices.IsSortedFunc(hits, func(a, b Hit) int { return cmp.Compare(a.Doc, b.Doc) }) {
		t.Errorf("hits %v are not in the order of writing", hits)
	}
	if got := string(keys[0].AppendJSON(nil, hits[0].Values[0])); got != "null" {
		t.Errorf("value %s, want null", got)
	}
}

func TestDistance(t *testing.T) {
	// Paris to London: 343.6 km.
	if d := distance(Point{48.8566, 2.3522}, Point{51.5074, -0.1278}); math.Abs(d-343_560) > 100 {
		t.Errorf("%g m", d)
	}
	if d := distance(Point{0, 0}, Point{0, 180}); math.Abs(d-math.Pi*earthRadius) > 1e-6 {
		t.Errorf("half the equator has %g m", d)
	}
}

func TestWide(t *testing.T) {
	for _, c := range []struct {
		values    []int64
		sum, mean int64
	}{
		{[]int64{1, 2}, 3, 2},
		{[]int64{-1, -2}, -3, -1},
		{[]int64{-3, 1, 1}, -1, 0},
		{[]int64{math.MaxInt64, math.MaxInt64}, math.MaxInt64, math.MaxInt64},
		{[]int64{math.MinInt64, math.MinInt64}, math.MinInt64, math.MinInt64},
		{[]int64{math.MaxInt64, math.MinInt64}, -1, 0},
	} {
		var w wide
		for _, v := range c.values {
			w.add(v)
		}
		if sum, mean := w.clamped(), w.mean(len(c.values)); sum != c.sum || mean != c.mean {
			t.Errorf("%d: sum %d, mean %d, want %d, %d", c.values, sum, mean, c.sum, c.mean)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{`"size"`, `[{"size":"desc"},"_score",{"_geo_distance":{"place":[1,2]}}]`, `{"made":{"format":"yyyy","missing":"_first"}}`} {
		f.Add(seed, `[1,2]`)
	}
	m := newTestMapping(f)
	f.Fuzz(func(t *testing.T, text, after string) {
		keys, err := Parse([]byte(text), m.Field)
		if err != nil {
			return
		}
		values, err := ParseAfter([]byte(after), keys)
		if err != nil {
			return
		}
		for i := range keys {
			if out := keys[i].AppendJSON(nil, values[i]); !json.Valid(out) {
				t.Errorf("%s: value %v is %s", text, values[i], out)
			}
		}
	})
}

// TestRanker compares the buckets of a Ranker with a Run of each bucket's documents.
func TestRanker(t *testing.T) {
	m := newTestMapping(t)
	for seed := range 50 {
		r := rand.New(rand.NewPCG(uint64(seed), 9))
		docs := randomDocs(r, 1+r.IntN(200))
		segments, matches := testSegments(t, r, m, docs)
		keys, err := Parse([]byte(randomSort(r)), m.Field)
		if err != nil {
			t.Fatal(err)
		}
		o := Options{Keys: keys, K: r.IntN(8), Scores: true, Scorer: &testScorer{docs: docs, segments: segments}}
		ranker := NewRanker(context.Background(), segments, o)
		const buckets = 3
		var of [buckets][][]uint64
		for i, words := range matches {
			if err := ranker.Begin(i); err != nil {
				t.Fatal(err)
			}
			for b := range of {
				of[b] = append(of[b], make([]uint64, len(words)))
			}
			for doc := range segments[i].NumDocs {
				if words[doc/64]>>(doc%64)&1 == 0 {
					continue
				}
				for b := range buckets {
					if r.IntN(2) == 0 {
						of[b][i][doc/64] |= 1 << (doc % 64)
						if err := ranker.Add(base.DocID(doc), uint32(b)); err != nil {
							t.Fatal(err)
						}
					}
				}
			}
		}
		for b := range buckets {
			got, err := ranker.Hits(uint32(b))
			if err != nil {
				t.Fatal(err)
			}
			o.Scorer = &testScorer{docs: docs, segments: segments}
			want, err := Run(context.Background(), segments, of[b], o)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.EqualFunc(got, want, func(a, b Hit) bool {
				return a.Segment == b.Segment && a.Doc == b.Doc && a.Score == b.Score && slices.Equal(a.Values, b.Values)
			}) {
				t.Fatalf("seed %d, bucket %d:\ngot  %v\nwant %v", seed, b, got, want)
			}
		}
	}
}
