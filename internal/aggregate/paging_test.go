package aggregate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// compositeRequest is a request of random sources: their fields, and which are descending.
func compositeRequest(r *rand.Rand, size int) (sources []object, request object) {
	fields := []string{"tag", "color", "size", "weight", "made", "sold"}
	r.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
	var list []any
	for i, f := range fields[:1+r.IntN(3)] {
		p := object{"field": f}
		kind := "terms"
		switch {
		case f == "weight" && r.IntN(2) == 0:
			kind = "histogram"
			p["interval"] = 4.0
		case f == "made" && r.IntN(2) == 0:
			kind = "date_histogram"
			p["fixed_interval"] = "1000d"
		}
		if r.IntN(2) == 0 {
			p["order"] = "desc"
		}
		if r.IntN(2) == 0 {
			p["missing_bucket"] = true
			if r.IntN(2) == 0 {
				p["missing_order"] = pick(r, "first", "last")
			}
		}
		sources = append(sources, p)
		list = append(list, object{fmt.Sprintf("s%d", i): object{kind: p}})
	}
	return sources, object{"sources": list, "size": float64(size)}
}

// combos returns the keys of all combinations, as JSON has them, and the documents, in order.
func (o *oracle) combos(sources []object, docs []*testDoc) (keys []object, counts []float64) {
	type combo struct {
		values []*value
		docs   float64
	}
	all := map[string]*combo{}
	for _, d := range docs {
		tuples := [][]*value{nil}
		for _, s := range sources {
			values := o.distinct(d, s["field"].(string), nil)
			for i := range values {
				v := &values[i]
				width := 0.0
				if w, ok := s["interval"].(float64); ok {
					width = w
				}
				if _, ok := s["fixed_interval"]; ok {
					width = 1000 * 86_400_000
				}
				if width > 0 {
					v.number = float64(int64(v.number/width)) * width
					v.key, v.text, v.asText = v.number, fmt.Sprint(v.number), false
				}
				if s["field"] == "sold" {
					v.key = v.number != 0
				}
			}
			values = slices.CompactFunc(values, func(a, b value) bool { return a.compare(b) == 0 })
			var next [][]*value
			for _, t := range tuples {
				for i := range values {
					next = append(next, append(slices.Clone(t), &values[i]))
				}
				if len(values) == 0 && s["missing_bucket"] == true {
					next = append(next, append(slices.Clone(t), nil))
				}
			}
			tuples = next
		}
		for _, t := range tuples {
			key := ""
			for _, v := range t {
				if v == nil {
					key += "none "
				} else {
					key += fmt.Sprintf("%q ", v.text)
				}
			}
			if all[key] == nil {
				all[key] = &combo{values: t}
			}
			all[key].docs++
		}
	}
	var list []*combo
	for _, c := range all {
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b *combo) int {
		for i, s := range sources {
			first := s["order"] != "desc"
			if m, ok := s["missing_order"]; ok {
				first = m == "first"
			}
			x, y := a.values[i], b.values[i]
			c := 0
			switch {
			case x == nil && y == nil:
			case (x == nil) == first && (x == nil || y == nil):
				return -1
			case x == nil || y == nil:
				return 1
			default:
				if c = x.compare(*y); s["order"] == "desc" {
					c = -c
				}
			}
			if c != 0 {
				return c
			}
		}
		return 0
	})
	for _, c := range list {
		k := object{}
		for i, v := range c.values {
			k[fmt.Sprintf("s%d", i)] = nil
			if v != nil {
				k[fmt.Sprintf("s%d", i)] = v.key
			}
		}
		keys, counts = append(keys, k), append(counts, c.docs)
	}
	return keys, counts
}

// TestComposite pages through all combinations, and compares with plain loops.
func TestComposite(t *testing.T) {
	m := newTestMapping(t)
	for seed := range 60 {
		r := rand.New(rand.NewPCG(uint64(seed), 21))
		docs := randomDocs(r, r.IntN(150))
		segments := cut(r, docs, 1+r.IntN(3))
		ix, o := testIndex(t, m, segments), &oracle{m: m}
		for i := range docs {
			if docs[i].live {
				o.docs = append(o.docs, &docs[i])
			}
		}
		matches := bitmaps(segments, func(d *testDoc) bool { return d.live })
		sources, p := compositeRequest(r, 1+r.IntN(60))
		keys, counts := o.combos(sources, o.docs)
		for at := 0; ; {
			raw, err := json.Marshal(object{"c": object{"composite": p, "aggs": object{"n": object{"value_count": object{"field": "tag"}}}}})
			if err != nil {
				t.Fatal(err)
			}
			text, err := answer(t, ix, string(raw), matches)
			if err != nil {
				t.Fatalf("seed %d: %s: %v", seed, raw, err)
			}
			var got struct {
				C struct {
					After   object `json:"after_key"`
					Buckets []struct {
						Key   object  `json:"key"`
						Count float64 `json:"doc_count"`
					} `json:"buckets"`
				} `json:"c"`
			}
			if err := json.Unmarshal([]byte(text), &got); err != nil {
				t.Fatal(err)
			}
			if len(got.C.Buckets) != min(int(p["size"].(float64)), len(keys)-at) {
				t.Fatalf("seed %d: %s: %d buckets after %d of %d", seed, raw, len(got.C.Buckets), at, len(keys))
			}
			for _, b := range got.C.Buckets {
				if !reflect.DeepEqual(b.Key, keys[at]) || b.Count != counts[at] {
					t.Fatalf("seed %d: %s: bucket %d is %v with %g documents, want %v with %g", seed, raw, at, b.Key, b.Count, keys[at], counts[at])
				}
				at++
			}
			if len(got.C.Buckets) == 0 {
				break
			}
			p["after"] = got.C.After
		}
	}
}

// TestSignificant compares with plain loops.
func TestSignificant(t *testing.T) {
	m := newTestMapping(t)
	for seed := range 40 {
		r := rand.New(rand.NewPCG(uint64(seed), 22))
		docs := randomDocs(r, 50+r.IntN(250))
		segments := cut(r, docs, 1+r.IntN(3))
		ix := testIndex(t, m, segments)
		field, background := pick(r, "tag", "color", "weight"), pick(r, "", "t0", "t1")
		extra := ""
		inBackground := func(d *testDoc) bool {
			return d.live && (background == "" || slices.Contains(d.values["tag"], background))
		}
		if background != "" {
			extra = fmt.Sprintf(`, "background_filter": {"term": {"tag": %q}}`, background)
		}
		match := func(d *testDoc) bool { return d.live && d.number%3 == 0 }
		h := pick(r, "jlh", "chi_square", "mutual_information", "gnd", "percentage")
		superset, negatives := background == "", r.IntN(2) == 0
		switch h {
		case "chi_square", "mutual_information":
			extra += fmt.Sprintf(`, %q: {"background_is_superset": %v, "include_negatives": %v}`, h, superset, negatives)
		case "gnd":
			extra += fmt.Sprintf(`, "gnd": {"background_is_superset": %v}`, superset)
		default:
			extra += fmt.Sprintf(`, %q: {}`, h)
		}
		text, err := answer(t, ix, fmt.Sprintf(`{"s": {"significant_terms": {"field": %q, "min_doc_count": 2, "size": 1000%s}}}`, field, extra), bitmaps(segments, match))
		if err != nil {
			t.Fatal(err)
		}
		_, err = answer(t, ix, `{"s": {"significant_terms": {"field": "tag", "min_doc_count": 1, "gnd": {}, "background_filter": {"term": {"tag": "nothing"}}}}}`, bitmaps(segments, match))
		if err == nil || !strings.Contains(err.Error(), "background_is_superset") {
			t.Errorf("seed %d: an empty background: %v", seed, err)
		}
		type found struct {
			Key        any     `json:"key"`
			Count      float64 `json:"doc_count"`
			Background float64 `json:"bg_count"`
			Score      float64 `json:"score"`
		}
		var got struct {
			S struct {
				Count      float64 `json:"doc_count"`
				Background float64 `json:"bg_count"`
				Buckets    []found `json:"buckets"`
			} `json:"s"`
		}
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Fatal(err)
		}
		o := &oracle{m: m}
		inside, outside := map[any]float64{}, map[any]float64{}
		size, others := 0.0, 0.0
		for i := range docs {
			d := &docs[i]
			for _, v := range o.distinct(d, field, nil) {
				if match(d) {
					inside[v.key]++
				}
				if inBackground(d) {
					outside[v.key]++
				}
			}
			if match(d) {
				size++
			}
			if inBackground(d) {
				others++
			}
		}
		var want []found
		for key, n := range inside {
			score := significance(h, n, size, outside[key], others, superset, negatives)
			if n >= 2 && score > 0 {
				want = append(want, found{key, n, outside[key], score})
			}
		}
		byKey := func(a, b found) int { return cmp.Compare(fmt.Sprint(a.Key), fmt.Sprint(b.Key)) }
		if !slices.IsSortedFunc(got.S.Buckets, func(a, b found) int { return cmp.Compare(b.Score, a.Score) }) {
			t.Errorf("seed %d: scores of %v rise", seed, got.S.Buckets)
		}
		slices.SortFunc(want, byKey)
		slices.SortFunc(got.S.Buckets, byKey)
		if got.S.Count != size || got.S.Background != others || !slices.EqualFunc(got.S.Buckets, want, func(a, b found) bool {
			near := math.Abs(a.Score-b.Score) <= 1e-9*max(a.Score, b.Score, 1e-6)
			a.Score, b.Score = 0, 0
			return near && a == b
		}) {
			t.Fatalf("seed %d: field %s, background %q, %s:\ngot  %v\nwant %g, %g, %v", seed, field, background, extra, got.S, size, others, want)
		}
	}
}

// significance is the definition of OpenSearch's documentation: f documents of size have a term, and g of others.
func significance(h string, f, size, g, others float64, superset, negatives bool) float64 {
	switch h {
	case "jlh":
		p, q := f/size, g/others
		if g == 0 {
			q = 1 / others
		}
		if others == 0 || p <= q {
			return 0
		}
		return (p - q) * p / q
	case "percentage":
		if g == 0 {
			return 0
		}
		return f / g
	}
	if superset { // of the documents outside
		g, others = g-f, others-size
	}
	if h != "gnd" && !negatives && f/size < g/others {
		return 0
	}
	all := size + others
	table := [2][2]float64{{others - g, size - f}, {g, f}} // by term, by bucket
	byTerm, byBucket := [2]float64{table[0][0] + table[0][1], g + f}, [2]float64{others, size}
	sum := 0.0
	for i := range 2 {
		for j := range 2 {
			expected := byTerm[i] * byBucket[j] / all
			switch {
			case h == "chi_square":
				sum += (table[i][j] - expected) * (table[i][j] - expected) / expected
			case h == "mutual_information" && table[i][j] > 0:
				sum += table[i][j] / all * math.Log2(table[i][j]/expected)
			}
		}
	}
	if h != "gnd" {
		return sum
	}
	if f == size && f == g+f {
		return 1
	}
	distance := (math.Log(max(g+f, size)) - math.Log(f)) / (math.Log(all) - math.Log(min(g+f, size)))
	return math.Exp(-distance)
}

// The example of "Introduction to Information Retrieval", 13.5: the term export and the class poultry.
func TestHeuristics(t *testing.T) {
	export := frequencies{count: 49, size: 49 + 141, others: 49 + 27652, otherSize: 49 + 27652 + 141 + 774106}
	c := export.contingency(true)
	if got := c.chiSquare(); math.Abs(got-284) > 1 {
		t.Errorf("chi square %g, want 284", got)
	}
	if got := c.mutualInformation(); math.Abs(got-0.0001105) > 5e-8 {
		t.Errorf("mutual information %g, want 0.0001105", got)
	}
	for _, f := range []frequencies{{2, 5, 1, 10}, {2, 11, 3, 10}, {2, 3, 9, 9}} {
		if f.isSubset() {
			t.Errorf("%+v is a subset", f)
		}
	}
	if (frequencies{10, 100, 10, 10_000}).contingency(true).gnd() >= 1 || (frequencies{10, 10, 10, 100}).contingency(true).gnd() != 1 || (frequencies{0, 10, 10, 100}).contingency(true).gnd() != 0 {
		t.Error("gnd")
	}
}

func TestJLH(t *testing.T) {
	if got := jlh(frequencies{10, 100, 10, 10_000}); got < 9.8999 || got > 9.9001 {
		t.Errorf("%g, want 9.9", got)
	}
	if got := jlh(frequencies{1, 100, 100, 1000}); got != 0 {
		t.Errorf("%g for a term that is rarer, want 0", got)
	}
}
