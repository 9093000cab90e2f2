package aggregate

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
)

// frequencies are numbers of documents: in the bucket with a term (count), in the bucket (size), and the
// same of the background.
type frequencies struct{ count, size, others, otherSize int64 }

// heuristic scores a term of significant_terms. Its score counts if it is above 0.
type heuristic struct {
	score    func(f frequencies) float64
	superset bool // the background must include the bucket
}

// heuristics are OpenSearch's, by name. The default is jlh.
var heuristics = []string{"chi_square", "gnd", "jlh", "mutual_information", "percentage"}

func (p *params) heuristic() heuristic {
	chosen := heuristic{score: jlh}
	found := ""
	for _, name := range heuristics {
		raw := p.raw(name)
		if raw == nil {
			continue
		}
		if found != "" {
			p.fail(name, "there is [%s] too: want one of %s", found, strings.Join(heuristics, ", "))
			return chosen
		}
		found = name
		chosen = p.parseHeuristic(name, raw)
	}
	return chosen
}

func (p *params) parseHeuristic(name string, raw json.RawMessage) heuristic {
	known := map[string][]string{"chi_square": {"include_negatives", "background_is_superset"}, "gnd": {"background_is_superset"}}
	known["mutual_information"] = known["chi_square"]
	inner, err := newParams(p.r, raw)
	if err != nil {
		p.fail(name, "want an object, have %s", shortened(raw))
		return heuristic{}
	}
	negatives, superset := false, true
	if slices.Contains(known[name], "include_negatives") {
		negatives = inner.boolean("include_negatives", false)
	}
	if slices.Contains(known[name], "background_is_superset") {
		superset = inner.boolean("background_is_superset", true)
	}
	if err := inner.done(); err != nil && p.err == nil {
		p.err = err
	}
	table := func(score func(c contingency) float64) heuristic {
		return heuristic{superset: superset, score: func(f frequencies) float64 {
			c := f.contingency(superset)
			if name != "gnd" && !negatives && c.n11/c.size < c.n10/c.rest {
				return 0 // more frequent outside of the bucket
			}
			return score(c)
		}}
	}
	switch name {
	case "chi_square":
		return table(contingency.chiSquare)
	case "gnd":
		return table(contingency.gnd)
	case "mutual_information":
		return table(contingency.mutualInformation)
	case "percentage":
		return heuristic{score: func(f frequencies) float64 {
			if f.others == 0 {
				return 0
			}
			return float64(f.count) / float64(f.others)
		}}
	}
	return heuristic{score: jlh}
}

// isSubset reports whether the documents of the bucket can all be in the background.
func (f frequencies) isSubset() bool {
	return f.count <= f.others && f.size <= f.otherSize && f.others-f.count <= f.otherSize-f.size
}

// contingency is the table of documents by term (first digit) and bucket (second digit), with its sums.
type contingency struct {
	n00, n01, n10, n11 float64
	without, with      float64 // the term
	rest, size         float64 // outside of the bucket, and in it
	all                float64
}

func (f frequencies) contingency(superset bool) contingency {
	c := contingency{n01: float64(f.size - f.count), n11: float64(f.count), size: float64(f.size)}
	if superset {
		c.n10, c.n00 = float64(f.others-f.count), float64(f.otherSize-f.others-(f.size-f.count))
		c.rest = float64(f.otherSize - f.size)
	} else {
		c.n10, c.n00 = float64(f.others), float64(f.otherSize-f.others)
		c.rest = float64(f.otherSize)
	}
	c.without, c.with, c.all = c.n00+c.n01, c.n10+c.n11, c.rest+c.size
	return c
}

// chiSquare is of Manning, Raghavan and Schütze, "Introduction to Information Retrieval", 13.5.2.
func (c contingency) chiSquare() float64 {
	diff := float64(c.n11*c.n00) - float64(c.n01*c.n10)
	return c.all * float64(diff*diff) / (c.size * c.with * c.without * c.rest)
}

// mutualInformation is of the same book, 13.5.1, in bits.
func (c contingency) mutualInformation() float64 {
	term := func(n, byTerm, byBucket float64) float64 {
		if n == 0 {
			return 0
		}
		return float64(n / c.all * math.Log(c.all*n/(byTerm*byBucket)))
	}
	sum := term(c.n00, c.without, c.rest) + term(c.n01, c.without, c.size) + term(c.n10, c.with, c.rest) + term(c.n11, c.with, c.size)
	return sum / math.Ln2
}

// gnd is the Google normalized distance of Cilibrasi and Vitanyi, "The Google similarity distance", 2007, as exp(-distance).
func (c contingency) gnd() float64 {
	switch {
	case c.n11 == 0:
		return 0
	case c.with == c.size && c.with == c.n11:
		return 1
	}
	with, size := math.Log(c.with), math.Log(c.size)
	return math.Exp(-(max(with, size) - math.Log(c.n11)) / (math.Log(c.all) - min(with, size)))
}

// jlh is the score of OpenSearch's default: (f - g) * f / g, where f and g are the shares of the documents
// that have the term, in the bucket and in the background. 10 of 100 and 10 of 10,000: 0.099 * 100 = 9.9.
func jlh(n frequencies) float64 {
	if n.size == 0 || n.otherSize == 0 {
		return 0
	}
	f, g := float64(n.count)/float64(n.size), float64(n.others)/float64(n.otherSize)
	if g == 0 { // the background lacks the term
		g = 1 / float64(n.otherSize)
	}
	return max(f-g, 0) * f / g
}
