package automaton

import (
	"encoding/binary"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/vellum"
)

// Similar recognises the texts within a number of edits of a word: characters inserted, deleted or
// changed, and neighbours swapped, none edited twice (the optimal string alignment distance, as
// Lucene's automata). The first characters can be required to be equal.
type Similar struct {
	word   []rune
	edits  int
	prefix int // characters
	swaps  bool
	begins bool // texts that begin so are accepted too, in any letter case

	numbers map[string]int
	states  []similarState
	key     []byte
}

var _ vellum.Automaton = (*Similar)(nil)

// similarState is a row of the dynamic programme. State 0 is dead.
type similarState struct {
	// row[j] is the distance between the text already read and word[:j], at most edits+1; before
	// is the row before the last character.
	row, before []byte
	last        rune   // the last character; -1 if no swap can use it
	count       int    // characters so far, at most prefix
	part        []byte // bytes of a character that is not complete
	next        *[256]int32
}

// NewSimilar returns the automaton of a word of valid UTF-8 and 0 to 254 edits.
func NewSimilar(word string, edits, prefix int, swaps bool) *Similar {
	s := &Similar{word: []rune(word), edits: edits, swaps: swaps, numbers: map[string]int{}}
	s.prefix = min(prefix, len(s.word))
	first := similarState{row: make([]byte, len(s.word)+1), before: make([]byte, len(s.word)+1), last: -1}
	for j := range first.row {
		first.row[j] = s.capped(j)
		first.before[j] = s.capped(edits + 1)
	}
	s.states = []similarState{{}}
	s.number(&first)
	return s
}

func (s *Similar) capped(d int) byte { return byte(min(d, s.edits+1)) }

func (s *Similar) number(st *similarState) int {
	k := append(s.key[:0], st.row...)
	k = append(k, st.before...)
	k = binary.LittleEndian.AppendUint32(k, uint32(st.last))
	k = binary.LittleEndian.AppendUint32(k, uint32(st.count))
	k = append(k, st.part...)
	s.key = k
	if n, ok := s.numbers[string(k)]; ok {
		return n
	}
	s.states = append(s.states, *st)
	s.numbers[string(k)] = len(s.states) - 1
	return len(s.states) - 1
}

// NewBeginning returns the automaton of texts whose beginning is similar to a word, in any letter case.
func NewBeginning(word string, edits, prefix int, swaps bool) *Similar {
	s := NewSimilar(strings.ToLower(word), edits, prefix, swaps)
	s.begins = true
	return s
}

// accepting is the state after a similar beginning.
const accepting = math.MaxInt32 - 1

// Start implements vellum.Automaton.
func (s *Similar) Start() int {
	if s.begins && s.Edits(1) <= s.edits {
		return accepting
	}
	return 1
}

// IsMatch implements vellum.Automaton.
func (s *Similar) IsMatch(n int) bool { return n == accepting || n > 0 && s.Edits(n) <= s.edits }

// Edits returns the distance of the texts that lead to a state, or a greater number than the limit.
func (s *Similar) Edits(n int) int {
	st := &s.states[n]
	if len(st.part) > 0 || len(st.row) == 0 || st.count < s.prefix {
		return s.edits + 1
	}
	return int(st.row[len(s.word)])
}

// CanMatch implements vellum.Automaton.
func (s *Similar) CanMatch(n int) bool { return n > 0 }

// WillAlwaysMatch implements vellum.Automaton.
func (s *Similar) WillAlwaysMatch(n int) bool { return n == accepting }

// Accept implements vellum.Automaton.
func (s *Similar) Accept(n int, c byte) int {
	if n == 0 || n == accepting {
		return n
	}
	st := &s.states[n]
	if st.next == nil {
		st.next = new([256]int32)
	}
	if to := st.next[c]; to > 0 {
		return int(to) - 1
	}
	next := st.next // states may move
	to := s.step(*st, c)
	next[c] = int32(to) + 1
	return to
}

func (s *Similar) step(st similarState, c byte) int {
	part := append(append(make([]byte, 0, utf8.UTFMax), st.part...), c)
	st.next = nil
	if !utf8.FullRune(part) {
		st.part = part
		return s.number(&st)
	}
	r, size := utf8.DecodeRune(part)
	if size < len(part) || r == utf8.RuneError && size == 1 { // not UTF-8
		return 0
	}
	if s.begins {
		r = unicode.ToLower(r)
	}
	if st.count < s.prefix {
		if r != s.word[st.count] {
			return 0
		}
		st.count++
	}
	row := make([]byte, len(st.row))
	row[0] = s.capped(int(st.row[0]) + 1)
	least := row[0]
	swappable := rune(-1)
	for j := 1; j < len(row); j++ {
		changed := int(st.row[j-1])
		if s.word[j-1] != r {
			changed++
		} else {
			swappable = r
		}
		d := min(changed, int(st.row[j])+1, int(row[j-1])+1)
		if s.swaps && j > 1 && s.word[j-2] == r && s.word[j-1] == st.last && st.last != r {
			d = min(d, int(st.before[j-2])+1)
		}
		row[j] = s.capped(d)
		least = min(least, row[j])
	}
	if int(least) > s.edits {
		return 0
	}
	if s.begins && int(row[len(s.word)]) <= s.edits && st.count == s.prefix {
		return accepting
	}
	st.row, st.before, st.last, st.part = row, st.row, swappable, nil
	if !s.swaps || swappable < 0 {
		st.before = row
	}
	return s.number(&st)
}

// Match reports whether a text is accepted.
func (s *Similar) Match(text string) bool {
	n := s.Start()
	for i := 0; i < len(text) && s.CanMatch(n) && !s.WillAlwaysMatch(n); i++ {
		n = s.Accept(n, text[i])
	}
	return s.IsMatch(n)
}

// BeginningEdits returns the least number of edits between a word and a beginning of a text, in any letter case.
func BeginningEdits(word, text string, limit int, swaps bool) int {
	least := limit + 1
	a := NewSimilar(strings.ToLower(word), limit, 0, swaps)
	n := a.Start()
	for least = min(least, a.Edits(n)); len(text) > 0 && n > 0; {
		r, size := utf8.DecodeRuneInString(text)
		for _, c := range []byte(string(unicode.ToLower(r))) {
			n = a.Accept(n, c)
		}
		if n > 0 {
			least = min(least, a.Edits(n))
		}
		text = text[size:]
	}
	return least
}

// Distance returns the number of edits of a text, or a greater one than the limit.
func (s *Similar) Distance(text string) int {
	n := s.Start()
	for i := 0; i < len(text) && n > 0; i++ {
		n = s.Accept(n, text[i])
	}
	return s.Edits(n)
}
