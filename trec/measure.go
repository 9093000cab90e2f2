package trec

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Measure is an effectiveness measure of trec_eval's name, such as "ndcg_cut_10". Zero is no
// measure.
type Measure struct {
	family *family
	cutoff int // number of ranks, for families with cutoffs
}

// String returns trec_eval's name.
func (m Measure) String() string {
	if m.family == nil {
		return ""
	}
	if m.family.cutoffs == nil {
		return m.family.name
	}
	return m.family.name + "_" + strconv.Itoa(m.cutoff)
}

type summary uint8

const (
	summaryMean summary = iota
	summarySum          // a count
	summaryGeometricMean
)

// family is the measures that differ only in the cutoff.
type family struct {
	name    string
	cutoffs []int // trec_eval's defaults; nil: no cutoff
	summary summary
	extra   bool // not a measure of trec_eval
	value   func(j *judgedRanking, cutoff int) float64
}

var (
	manyCutoffs = []int{5, 10, 15, 20, 30, 100, 200, 500, 1000}
	fewCutoffs  = []int{1, 5, 10}
)

// In trec_eval's order. recip_rank_cut counts ranks beyond the cutoff as 0 (ir-measures' RR@10,
// MS MARCO's MRR@10).
var families = []*family{
	{name: "num_q", summary: summarySum, value: func(*judgedRanking, int) float64 { return 1 }},
	{name: "num_ret", summary: summarySum, value: (*judgedRanking).numRet},
	{name: "num_rel", summary: summarySum, value: (*judgedRanking).numRelevant},
	{name: "num_rel_ret", summary: summarySum, value: (*judgedRanking).numRelRet},
	{name: "map", value: (*judgedRanking).averagePrecision},
	{name: "gm_map", summary: summaryGeometricMean, value: (*judgedRanking).averagePrecision},
	{name: "Rprec", value: (*judgedRanking).rPrecision},
	{name: "bpref", value: (*judgedRanking).bpref},
	{name: "recip_rank", value: (*judgedRanking).reciprocalRank},
	{name: "recip_rank_cut", cutoffs: []int{10}, extra: true, value: (*judgedRanking).reciprocalRank},
	{name: "P", cutoffs: manyCutoffs, value: (*judgedRanking).precision},
	{name: "recall", cutoffs: manyCutoffs, value: (*judgedRanking).recall},
	{name: "ndcg", value: (*judgedRanking).ndcg},
	{name: "ndcg_cut", cutoffs: manyCutoffs, value: (*judgedRanking).ndcg},
	{name: "map_cut", cutoffs: manyCutoffs, value: (*judgedRanking).averagePrecision},
	{name: "success", cutoffs: fewCutoffs, value: (*judgedRanking).success},
}

// AllMeasures returns trec_eval's measures with default cutoffs, in its order.
func AllMeasures() []Measure {
	var all []Measure
	for _, f := range families {
		if !f.extra {
			all = append(all, f.measures()...)
		}
	}
	return all
}

func (f *family) measures() []Measure {
	if f.cutoffs == nil {
		return []Measure{{family: f}}
	}
	measures := make([]Measure, len(f.cutoffs))
	for i, cutoff := range f.cutoffs {
		measures[i] = Measure{f, cutoff}
	}
	return measures
}

// MeasureNames lists the names for ParseMeasures, without cutoffs.
func MeasureNames() []string {
	names := make([]string, len(families))
	for i, f := range families {
		names[i] = f.name
	}
	return names
}

// ParseMeasures returns the measures of a name: trec_eval's "map", "P_30" and "ndcg_cut_10"
// (output), "P.5,30" (option -m) or a family, "recall", for its default cutoffs; or
// ir-measures', in any case: "nDCG@10", "AP", "RR@10", "P@5", "R@1000". An error wraps
// ErrUnknownMeasure.
func ParseMeasures(name string) ([]Measure, error) {
	if m, ok := parseIRMeasure(name); ok {
		return []Measure{m}, nil
	}
	for _, f := range families {
		rest, ok := strings.CutPrefix(name, f.name)
		if !ok {
			continue
		}
		if rest == "" {
			return f.measures(), nil
		}
		if f.cutoffs == nil || rest[0] != '_' && rest[0] != '.' {
			continue
		}
		list := []string{rest[1:]}
		if rest[0] == '.' {
			list = strings.Split(rest[1:], ",")
		}
		measures, ok := f.at(list)
		if ok {
			return measures, nil
		}
	}
	return nil, fmt.Errorf("%w %q: want one of %s, with a cutoff as in ndcg_cut_10 where it has one, or a name of ir-measures such as nDCG@10",
		ErrUnknownMeasure, name, strings.Join(MeasureNames(), ", "))
}

func (f *family) at(cutoffs []string) ([]Measure, bool) {
	var measures []Measure
	for _, text := range cutoffs {
		cutoff, err := strconv.Atoi(text)
		if err != nil || cutoff <= 0 || text[0] == '+' {
			return nil, false
		}
		if m := (Measure{f, cutoff}); !slices.Contains(measures, m) {
			measures = append(measures, m)
		}
	}
	return measures, true
}

// ir-measures' families in lower case, without a cutoff and with one; "" for none.
var irMeasures = map[string]struct{ plain, cut string }{
	"ndcg":    {"ndcg", "ndcg_cut"},
	"ap":      {"map", "map_cut"},
	"map":     {"map", "map_cut"},
	"rr":      {"recip_rank", "recip_rank_cut"},
	"mrr":     {"recip_rank", "recip_rank_cut"},
	"p":       {"", "P"},
	"r":       {"", "recall"},
	"recall":  {"", "recall"},
	"success": {"", "success"},
	"rprec":   {"Rprec", ""},
	"bpref":   {"bpref", ""},
	"numq":    {"num_q", ""},
	"numret":  {"num_ret", ""},
	"numrel":  {"num_rel", ""},
}

// https://ir-measur.es/en/latest/measures.html.
func parseIRMeasure(name string) (Measure, bool) {
	base, cutoff, hasCutoff := strings.Cut(name, "@")
	names := irMeasures[strings.ToLower(base)]
	wanted := names.plain
	if hasCutoff {
		wanted = names.cut
	}
	i := slices.IndexFunc(families, func(f *family) bool { return f.name == wanted })
	if i < 0 {
		return Measure{}, false
	}
	if !hasCutoff {
		return Measure{family: families[i]}, true
	}
	m, ok := families[i].at([]string{cutoff})
	if !ok {
		return Measure{}, false
	}
	return m[0], true
}
