package ding09

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/griffin-search/griffin/internal/base"
)

// feature is a number that the second phase computes for a candidate.
type feature uint8

const (
	constantFeature  feature = iota // 1
	bm25Feature                     // the sum of the terms' contributions
	bestFeature                     // the greatest contribution of a term
	matchedFeature                  // number of the query's terms in the document
	globalFeature                   // the global score
	lengthFeature                   // tokens in the default field
	logLengthFeature                // ln(1 + tokens)
	numFeatures
)

var featureNames = [numFeatures]string{"constant", "bm25", "best", "matched", "global", "length", "loglength"}

// features are the numbers of a document.
type features [numFeatures]float64

// weights are a linear function of features. All 0: there is no second phase.
type weights [numFeatures]float64

const maxWeight = 1e9

// readWeights reads a function: inline as in bm25:1+global:0.5, or the name, without a colon, of a file with a
// line for each feature: its name, a tab, and its weight. The error wraps base.ErrBadInput.
func readWeights(text string) (weights, error) {
	var w weights
	var given [numFeatures]bool
	set := func(name, value string) error {
		f := slices.Index(featureNames[:], name)
		if f < 0 {
			return fmt.Errorf("feature %q: there are %s", name, strings.Join(featureNames[:], ", "))
		}
		weight, err := strconv.ParseFloat(value, 64)
		if err != nil || !(math.Abs(weight) <= maxWeight) {
			return fmt.Errorf("feature %s: weight %q: want a number from -%g to %g", name, value, maxWeight, maxWeight)
		}
		if given[f] {
			return fmt.Errorf("feature %s is given twice", name)
		}
		w[f], given[f] = weight, true
		return nil
	}
	separator, between, where := "+", ":", func(int) string { return "second" }
	rows := text
	if !strings.Contains(text, ":") {
		content, err := os.ReadFile(text)
		if err != nil {
			return w, fmt.Errorf("weights of the second phase: %w: %w", err, base.ErrBadInput)
		}
		rows = strings.TrimSuffix(strings.ReplaceAll(string(content), "\r\n", "\n"), "\n")
		separator, between, where = "\n", "\t", func(i int) string { return fmt.Sprintf("%s:%d", text, i+1) }
	}
	for i, row := range strings.Split(rows, separator) {
		name, value, ok := strings.Cut(row, between)
		if !ok {
			return w, fmt.Errorf("%s: %q: want a feature, %q, and its weight: %w", where(i), row, between, base.ErrBadInput)
		}
		if err := set(name, value); err != nil {
			return w, fmt.Errorf("%s: %w: %w", where(i), err, base.ErrBadInput)
		}
	}
	if w == (weights{}) {
		return w, fmt.Errorf("second=%s: all weights are 0: %w", text, base.ErrBadInput)
	}
	return w, nil
}

// maxSecond is the greatest score of the second phase: sums of BM25 are smaller.
const maxSecond = 1<<48 - 1

// score returns the value of the function in units of base.Score, rounded, and at least 0. The order of the
// additions is fixed and products are rounded, so that it is the same on any processor.
func (w *weights) score(f *features) base.Score {
	sum := 0.0
	for i := range w {
		sum += float64(w[i] * f[i]) // the conversion prevents a fused addition
	}
	return base.Score(math.Round(min(max(math.Ldexp(sum, base.ScoreFractionBits), 0), maxSecond)))
}
