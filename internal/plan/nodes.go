package plan

import (
	"math"

	"github.com/griffin-search/griffin/internal/base"
)

// constant matches as child, with the same score in every document.
type constant struct {
	child node
	score base.Score
	text  string // as query text
}

// set matches documents by other means than the lists of the plan's terms. It is always the child of a
// constant.
type set struct {
	key    string // identifies the documents in a snapshot
	text   string // as query text
	source source
}

// disMax matches as any of its children, with the score of the best one and tie times the other scores.
type disMax struct {
	children []node
	tie      float64
	text     string // as query text
}

// boosting matches as positive; the score is multiplied by factor where negative matches.
type boosting struct {
	positive, negative node
	factor             float64
	text               string // as query text
}

func (*constant) isNode() {}
func (*set) isNode()      {}
func (*disMax) isNode()   {}
func (*boosting) isNode() {}

// constantScore converts a boost.
func constantScore(boost float64) base.Score {
	return base.Score(math.Round(boost * (1 << base.ScoreFractionBits)))
}

// scaled multiplies a score by a factor from 0 to 1 and rounds down.
func scaled(s base.Score, factor float64) base.Score {
	return base.Score(float64(s) * factor)
}

// A source gives the documents of a set. Sources are read-only.
type source interface {
	// mark sets the bits of the documents of m's segment, deleted ones too.
	mark(m *matcher, words []uint64) error
	// cost estimates the time of mark in a segment, in units of decoding a posting, about a nanosecond.
	cost(ws *words, segment int) int
}

func wrapSet(key, text string, s source, score base.Score) node {
	return &constant{child: &set{key: key, text: text, source: s}, score: score, text: text}
}
