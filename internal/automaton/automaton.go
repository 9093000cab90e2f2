package automaton

import (
	"fmt"

	"github.com/blevesearch/vellum"

	"github.com/griffin-search/griffin/internal/base"
)

// Pattern is a parsed wildcard or regular expression, read-only.
type Pattern struct {
	builder *builder
	root    expr
	states  int
	prefix  string
}

// Prefix returns a text with which every match begins, perhaps "".
func (p *Pattern) Prefix() string { return p.prefix }

// Automaton returns a new automaton for the pattern.
func (p *Pattern) Automaton() *Automaton {
	a := &Automaton{b: p.builder.clone(), limit: p.states, numbers: map[expr]int{}}
	a.state(nothing)
	a.start = a.state(p.root)
	return a
}

// Automaton recognises the terms of a Pattern. States are numbered from 0, which has no match.
type Automaton struct {
	b       *builder
	limit   int
	start   int
	states  []state
	numbers map[expr]int
	err     error
}

var _ vellum.Automaton = (*Automaton)(nil)

type state struct {
	expr expr
	next *[256]int32 // state plus 1; 0: not computed
}

func (a *Automaton) state(e expr) int {
	if s, ok := a.numbers[e]; ok {
		return s
	}
	if len(a.states) > a.limit {
		if a.err == nil {
			a.err = fmt.Errorf("%w: it needs more than %d states: %w", errTooLarge, a.limit, base.ErrBadInput)
		}
		return 0
	}
	a.numbers[e] = len(a.states)
	a.states = append(a.states, state{expr: e})
	return len(a.states) - 1
}

// Err returns an error that wraps base.ErrBadInput if the pattern needs too many states; no term has
// matched since.
func (a *Automaton) Err() error {
	if a.err == nil && a.b.err != nil {
		a.err = a.b.err
	}
	return a.err
}

// Start implements vellum.Automaton.
func (a *Automaton) Start() int { return a.start }

// IsMatch implements vellum.Automaton.
func (a *Automaton) IsMatch(s int) bool {
	return a.b.err == nil && a.err == nil && a.b.nodes[a.states[s].expr].nullable
}

// CanMatch implements vellum.Automaton.
func (a *Automaton) CanMatch(s int) bool { return s > 0 }

// WillAlwaysMatch implements vellum.Automaton.
func (a *Automaton) WillAlwaysMatch(s int) bool { return a.states[s].expr == anything }

// Accept implements vellum.Automaton.
func (a *Automaton) Accept(s int, c byte) int {
	if s == 0 || a.err != nil || a.b.err != nil {
		return 0
	}
	st := &a.states[s]
	if st.next == nil {
		st.next = new([256]int32)
	}
	if n := st.next[c]; n > 0 {
		return int(n) - 1
	}
	next := st.next
	to := a.state(a.b.derivative(st.expr, c))
	next[c] = int32(to) + 1
	return to
}

// Match reports whether the whole text matches.
func (a *Automaton) Match(text string) bool {
	s := a.start
	for i := 0; i < len(text) && s > 0; i++ {
		s = a.Accept(s, text[i])
	}
	return a.IsMatch(s)
}
