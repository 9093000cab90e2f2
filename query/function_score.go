package query

import (
	"math"
	"strconv"
)

// FunctionScore matches as Node, with scores that functions change, as function_score of OpenSearch: each function
// whose Filter matches a document has a value, ScoreMode makes one factor of the values, and BoostMode combines
// it with the score of Node. If no function applies, the factor is 1.
type FunctionScore struct {
	Node      Node // nil: all documents
	Functions []Function
	ScoreMode ScoreMode
	BoostMode BoostMode
	// MaxBoost bounds the factor; 0: no bound.
	MaxBoost float64
	// MinScore: documents with a lower score do not match.
	MinScore float64
	// Boost multiplies the score of Node.
	Boost float64
}

// Function is a value of a document: Weight, multiplied with at most one of the others.
type Function struct {
	Filter Node     // nil: all documents
	Weight *float64 // nil is 1
	Random *RandomScore
	Value  *FieldValue
	Decay  *Decay
}

// RandomScore is a number from 0 to 1, excluded, that depends on the seed and the document: on its id, or on the
// least value of a field of numbers.
type RandomScore struct {
	Seed  int64
	Field string // "" is the id
}

// FieldValue is the least number of a field of a document, multiplied by Factor, and changed by Modifier. Values
// below 0, and those that are no numbers, count as 0. A document without a number has the number Missing; if
// that is nil, the function does not apply to it.
type FieldValue struct {
	Field    string
	Factor   float64 // 0 is 1
	Modifier Modifier
	Missing  *float64
}

// Decay falls from 1 with the distance of a field's value from Origin, beyond Offset: it is Decay at the distance
// Scale. In a field of numbers these are numbers, of dates a date and durations such as "10d", of points
// "lat,lon" and distances such as "2km". A document without a value has the value 1.
type Decay struct {
	Shape         DecayShape
	Field         string
	Origin        string // of dates, "" is now
	Scale, Offset string
	Decay         float64 // 0 is 0.5
	// Of is the distance that counts if a document has several values.
	Of DistanceMode
}

// ScoreMode makes one factor of several values.
type ScoreMode uint8

// BoostMode combines a score with a factor.
type BoostMode uint8

// Modifier changes a number.
type Modifier uint8

// DecayShape is the curve of a Decay.
type DecayShape uint8

// DistanceMode chooses among the distances of several values.
type DistanceMode uint8

// Values of the modes, by the names that OpenSearch gives them.
const (
	ScoreMultiply ScoreMode = iota
	ScoreSum
	ScoreAvg // weighted by the weights
	ScoreFirst
	ScoreMax
	ScoreMin
)

// Values of BoostMode.
const (
	BoostMultiply BoostMode = iota
	BoostReplace
	BoostSum
	BoostAvg
	BoostMax
	BoostMin
)

// Values of Modifier. Log is to base 10, Ln natural; 1p and 2p add 1 or 2 before.
const (
	ModifierNone Modifier = iota
	ModifierLog
	ModifierLog1p
	ModifierLog2p
	ModifierLn
	ModifierLn1p
	ModifierLn2p
	ModifierSquare
	ModifierSqrt
	ModifierReciprocal
)

// Values of DecayShape.
const (
	Gauss DecayShape = iota
	Exp
	Linear
)

// Values of DistanceMode.
const (
	DistanceMin DistanceMode = iota
	DistanceMax
	DistanceAvg
	DistanceSum
)

// Names of the modes in OpenSearch, by their values.
var (
	ScoreModes    = []string{"multiply", "sum", "avg", "first", "max", "min"}
	BoostModes    = []string{"multiply", "replace", "sum", "avg", "max", "min"}
	Modifiers     = []string{"none", "log", "log1p", "log2p", "ln", "ln1p", "ln2p", "square", "sqrt", "reciprocal"}
	DecayShapes   = []string{"gauss", "exp", "linear"}
	DistanceModes = []string{"min", "max", "avg", "sum"}
)

func (*FunctionScore) node() {}

func (f *FunctionScore) boost() *float64 { return &f.Boost }

// String returns a description; there is no notation in query text.
func (f *FunctionScore) String() string { return string(f.append(nil)) }

func (f *FunctionScore) append(dst []byte) []byte {
	dst = append(dst, "function_score("...)
	if f.Node == nil {
		dst = append(dst, "*:*"...)
	} else {
		dst = appendOperand(dst, f.Node)
	}
	for i := range f.Functions {
		dst = append(append(dst, ", "...), f.Functions[i].String()...)
	}
	if f.ScoreMode != ScoreMultiply {
		dst = append(append(dst, ", score_mode "...), ScoreModes[f.ScoreMode]...)
	}
	if f.BoostMode != BoostMultiply {
		dst = append(append(dst, ", boost_mode "...), BoostModes[f.BoostMode]...)
	}
	if f.MaxBoost > 0 {
		dst = appendNumber(append(dst, ", max_boost "...), f.MaxBoost)
	}
	if f.MinScore > 0 {
		dst = appendNumber(append(dst, ", min_score "...), f.MinScore)
	}
	return appendBoost(append(dst, ')'), f.Boost)
}

func appendNumber(dst []byte, v float64) []byte { return strconv.AppendFloat(dst, v, 'g', -1, 64) }

// String returns a description that identifies the function.
func (f *Function) String() string {
	var dst []byte
	if f.Filter != nil {
		dst = append(appendOperand(dst, f.Filter), " -> "...)
	}
	dst = append(appendNumber(append(dst, "weight("...), f.weight()), ')')
	switch {
	case f.Random != nil:
		dst = strconv.AppendInt(append(dst, " * random("...), f.Random.Seed, 10)
		if f.Random.Field != "" {
			dst = appendWord(append(dst, ", "...), f.Random.Field)
		}
	case f.Value != nil:
		dst = append(append(append(dst, " * "...), Modifiers[f.Value.Modifier]...), '(')
		dst = appendWord(dst, f.Value.Field)
		dst = appendNumber(append(dst, " * "...), factor(f.Value.Factor))
		if f.Value.Missing != nil {
			dst = appendNumber(append(dst, ", missing "...), *f.Value.Missing)
		}
	case f.Decay != nil:
		d := f.Decay
		dst = append(append(append(dst, " * "...), DecayShapes[d.Shape]...), '(')
		dst = appendWord(dst, d.Field)
		for _, p := range []struct{ name, value string }{{"origin", d.Origin}, {"scale", d.Scale}, {"offset", d.Offset}, {"of", DistanceModes[d.Of]}} {
			dst = append(append(append(append(dst, ", "...), p.name...), ' '), strconv.Quote(p.value)...)
		}
		dst = appendNumber(append(dst, ", decay "...), d.decay())
	default:
		return string(dst)
	}
	return string(append(dst, ')'))
}

func (f *Function) weight() float64 {
	if f.Weight == nil {
		return 1
	}
	return *f.Weight
}

func (d *Decay) decay() float64 {
	if d.Decay == 0 {
		return 0.5
	}
	return d.Decay
}

func (v *validator) functionScore(f *FunctionScore, outer float64, depth int) error {
	if int(f.ScoreMode) >= len(ScoreModes) || int(f.BoostMode) >= len(BoostModes) {
		return invalid(ErrSyntax, "a FunctionScore with modes %d and %d", f.ScoreMode, f.BoostMode)
	}
	if !(f.MaxBoost >= 0) || !(f.MinScore >= 0) || math.IsInf(f.MinScore, 1) {
		return invalid(ErrSyntax, "a FunctionScore with the greatest factor %g and the least score %g", f.MaxBoost, f.MinScore)
	}
	if err := checkBoost(outer, f.Boost); err != nil {
		return err
	}
	if f.Node != nil {
		if err := v.check(f.Node, outer*factor(f.Boost), depth+1); err != nil {
			return err
		}
	}
	for i := range f.Functions {
		if err := v.function(&f.Functions[i], depth); err != nil {
			return err
		}
	}
	return nil
}

func (v *validator) function(f *Function, depth int) error {
	if err := v.leaf("", 1, 1); err != nil {
		return err
	}
	if w := f.weight(); !(w >= 0) || math.IsInf(w, 1) {
		return invalid(ErrSyntax, "a function with the weight %g", w)
	}
	set := 0
	for _, is := range []bool{f.Random != nil, f.Value != nil, f.Decay != nil} {
		if is {
			set++
		}
	}
	if set > 1 {
		return invalid(ErrSyntax, "a function that is several")
	}
	switch {
	case f.Value != nil:
		if int(f.Value.Modifier) >= len(Modifiers) || math.IsNaN(f.Value.Factor) || math.IsInf(f.Value.Factor, 0) {
			return invalid(ErrSyntax, "a field value with the factor %g and the modifier %d", f.Value.Factor, f.Value.Modifier)
		}
	case f.Decay != nil:
		if d := f.Decay; int(d.Shape) >= len(DecayShapes) || int(d.Of) >= len(DistanceModes) || !(d.decay() > 0 && d.decay() < 1) {
			return invalid(ErrSyntax, "a decay of %g, not between 0 and 1, or with an unknown shape or mode", d.Decay)
		}
	}
	if f.Filter == nil {
		return nil
	}
	return v.check(f.Filter, 1, depth+1)
}
