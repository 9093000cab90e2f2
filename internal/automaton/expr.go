package automaton

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/blevesearch/vellum/utf8"

	"github.com/griffin-search/griffin/internal/base"
)

// expr is an expression over bytes: an index into builder.nodes. The constructors simplify
// expressions, and give equal numbers to equal simplified ones.
type expr int32

type op uint8

const (
	opNothing op = iota // no text
	opEmpty             // the empty text
	opBytes             // one byte of set
	opConcat            // a, then b
	opRepeat            // a any number of times
	opNot               // all but a
	opOr                // any of list
	opAnd               // all of list
)

type exprNode struct {
	op       op
	nullable bool // matches the empty text
	a, b     expr
	set      [4]uint64
	list     []expr // rising
}

const (
	nothing expr = iota
	empty
	anything // all texts
)

// errTooLarge has a message with a remedy.
var errTooLarge = errors.New("the pattern is too complex")

// builder makes expressions, each once.
type builder struct {
	nodes  []exprNode
	known  map[string]expr
	key    []byte
	states int // the limit
	spent  int // derivatives
	err    error
}

// Limits of the expressions and derivatives of a pattern, by the limit of states.
const (
	nodesPerState       = 20
	derivativesPerState = 1000
)

func newBuilder(states int) *builder {
	b := &builder{known: map[string]expr{}, states: states}
	b.add(exprNode{op: opNothing})
	b.add(exprNode{op: opEmpty, nullable: true})
	b.add(exprNode{op: opNot, a: nothing, nullable: true})
	return b
}

func (b *builder) clone() *builder {
	c := &builder{nodes: slices.Clone(b.nodes), known: make(map[string]expr, len(b.known)), states: b.states}
	for k, v := range b.known {
		c.known[k] = v
	}
	return c
}

func (b *builder) tooLarge() {
	if b.err == nil {
		b.err = fmt.Errorf("%w: use a shorter or more specific one: %w", errTooLarge, base.ErrBadInput)
	}
}

func (b *builder) add(n exprNode) expr {
	k := append(b.key[:0], byte(n.op))
	k = binary.LittleEndian.AppendUint32(k, uint32(n.a))
	k = binary.LittleEndian.AppendUint32(k, uint32(n.b))
	for _, w := range n.set {
		k = binary.LittleEndian.AppendUint64(k, w)
	}
	for _, e := range n.list {
		k = binary.LittleEndian.AppendUint32(k, uint32(e))
	}
	b.key = k
	if e, ok := b.known[string(k)]; ok {
		return e
	}
	if len(b.nodes) > b.states*nodesPerState {
		b.tooLarge()
		return nothing
	}
	e := expr(len(b.nodes))
	b.nodes = append(b.nodes, n)
	b.known[string(k)] = e
	return e
}

func (b *builder) byteRange(from, to byte) expr {
	n := exprNode{op: opBytes}
	for c := int(from); c <= int(to); c++ {
		n.set[c/64] |= 1 << (c % 64)
	}
	return b.add(n)
}

// runes matches the UTF-8 of one character in a range.
func (b *builder) runes(from, to rune) expr {
	sequences, err := utf8.NewSequences(from, to)
	if err != nil {
		b.err = fmt.Errorf("characters %q to %q: %w", from, to, base.ErrBadInput)
		return nothing
	}
	var all []expr
	for _, s := range sequences {
		e := empty
		for i := range slices.Backward(s) {
			e = b.concat(b.byteRange(s[i].Start, s[i].End), e)
		}
		all = append(all, e)
	}
	return b.or(all)
}

func (b *builder) text(s string) expr {
	e := empty
	for i := range len(s) {
		c := s[len(s)-1-i]
		e = b.concat(b.byteRange(c, c), e)
	}
	return e
}

func (b *builder) concat(x, y expr) expr {
	switch {
	case x == nothing || y == nothing:
		return nothing
	case x == empty:
		return y
	case y == empty:
		return x
	case x == anything && y == anything:
		return anything
	}
	if n := &b.nodes[x]; n.op == opConcat {
		first, second := n.a, n.b
		return b.concat(first, b.concat(second, y))
	}
	return b.add(exprNode{op: opConcat, a: x, b: y, nullable: b.nodes[x].nullable && b.nodes[y].nullable})
}

func (b *builder) repeat(x expr) expr {
	switch {
	case x == nothing || x == empty:
		return empty
	case x == anything || b.nodes[x].op == opRepeat:
		return x
	}
	return b.add(exprNode{op: opRepeat, a: x, nullable: true})
}

func (b *builder) not(x expr) expr {
	if n := &b.nodes[x]; n.op == opNot {
		return n.a
	}
	return b.add(exprNode{op: opNot, a: x, nullable: !b.nodes[x].nullable})
}

// or owns list.
func (b *builder) or(list []expr) expr {
	set := exprNode{op: opBytes}
	var flat []expr
	for _, e := range list {
		switch n := &b.nodes[e]; {
		case e == anything:
			return anything
		case n.op == opNothing:
		case n.op == opBytes:
			for i, w := range n.set {
				set.set[i] |= w
			}
		case n.op == opOr:
			for _, inner := range n.list {
				if in := &b.nodes[inner]; in.op == opBytes {
					for i, w := range in.set {
						set.set[i] |= w
					}
				} else {
					flat = append(flat, inner)
				}
			}
		default:
			flat = append(flat, e)
		}
	}
	if set.set != [4]uint64{} {
		flat = append(flat, b.add(set))
	}
	return b.list(opOr, flat, nothing)
}

// and owns list.
func (b *builder) and(list []expr) expr {
	var flat []expr
	for _, e := range list {
		switch n := &b.nodes[e]; {
		case e == nothing:
			return nothing
		case e == anything:
		case n.op == opAnd:
			flat = append(flat, n.list...)
		default:
			flat = append(flat, e)
		}
	}
	return b.list(opAnd, flat, anything)
}

func (b *builder) list(o op, list []expr, none expr) expr {
	base.Sort(list, cmp.Compare)
	list = slices.Compact(list)
	switch len(list) {
	case 0:
		return none
	case 1:
		return list[0]
	}
	n := exprNode{op: o, list: list, nullable: o == opAnd}
	for _, e := range list {
		if o == opOr {
			n.nullable = n.nullable || b.nodes[e].nullable
		} else {
			n.nullable = n.nullable && b.nodes[e].nullable
		}
	}
	return b.add(n)
}

// derivative returns the expression of the possible remainders after the byte c in texts of e.
//
// Brzozowski, "Derivatives of regular expressions", Journal of the ACM 11(4), 1964; Owens, Reppy and
// Turon, "Regular-expression derivatives re-examined", Journal of Functional Programming 19(2), 2009.
func (b *builder) derivative(e expr, c byte) expr {
	if b.spent++; b.spent > b.states*derivativesPerState {
		b.tooLarge()
		return nothing
	}
	n := b.nodes[e] // nodes may move
	switch n.op {
	case opBytes:
		if n.set[c/64]>>(c%64)&1 != 0 {
			return empty
		}
	case opConcat:
		first := b.concat(b.derivative(n.a, c), n.b)
		if !b.nodes[n.a].nullable {
			return first
		}
		return b.or([]expr{first, b.derivative(n.b, c)})
	case opRepeat:
		return b.concat(b.derivative(n.a, c), e)
	case opNot:
		return b.not(b.derivative(n.a, c))
	case opOr, opAnd:
		list := make([]expr, len(n.list))
		for i, inner := range n.list {
			list[i] = b.derivative(inner, c)
		}
		if n.op == opOr {
			return b.or(list)
		}
		return b.and(list)
	}
	return nothing
}
