package goldens

import (
	"testing"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/shareddata"
)

const saatGoldenPath = "testdata/saat.json"

// Tolerances below and above exact scores for nDCG@10 by impacts of 8 bits. Measured
// difference: 0.0002 below to 0.0066 above. It is above because quantisation subtracts the
// lowest score from each posting and adds 1, so that each additional word of a document
// counts slightly more.
const saatBelow, saatAbove = 0.002, 0.01

// Mode saat ranks nearly as well as mode or with the same BM25, and as BM25 of ATIRE. Every
// variant gives the same ranking, so one is sufficient.
func TestEffectivenessOfSaat(t *testing.T) {
	got := values{}
	for _, name := range []string{"cranfield", "scifact"} {
		c := shareddata.OneCollection(t, name)
		qrels := readQrels(t, c)
		for _, analyzer := range analyzers {
			ix := indexAll(t, c, analyzer)
			exact := evaluate(t, answerAll(t, ix, c, griffin.ModeOr), qrels)
			for _, ranking := range []string{"bm25", "atire"} {
				if _, err := ix.BuildImpacts(t.Context(), griffin.ImpactOptions{Ranking: ranking}); err != nil {
					t.Fatal(err)
				}
				measured := evaluate(t, answerAll(t, ix, c, griffin.ModeSaat), qrels)
				key := ranking + ", " + analyzer
				if got[key] == nil {
					got[key] = map[string]map[string]float64{}
				}
				got[key][name] = measured
				if d := measured["ndcg_cut_10"] - exact["ndcg_cut_10"]; !(d >= -saatBelow && d <= saatAbove) {
					t.Errorf("%s, %s: nDCG@10 is %.4f, by exact scores %.4f", name, key, measured["ndcg_cut_10"], exact["ndcg_cut_10"])
				}
			}
		}
	}
	if *update {
		writeGolden(t, saatGoldenPath, got)
		return
	}
	compareGolden(t, got, readGolden(t, saatGoldenPath))
}
