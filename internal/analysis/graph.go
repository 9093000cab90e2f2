package analysis

import (
	"fmt"

	"github.com/griffin-search/griffin/internal/base"
)

// Arc leads from a token to the words after it.
type Arc struct {
	// Length is the distance to their position.
	Length uint32
	// Step is the distance in a document that has the token, which has no synonyms.
	Step uint32
}

// Arcs returns the arcs of the tokens of the last call of Tokens. It is nil if each token is alone at its
// position and the next one follows it. Otherwise, tokens are alternatives: a word, its parts, its synonyms.
// Valid until the next call.
func Arcs(a Analyzer) []Arc {
	if c, ok := a.(*chain); ok && c.graph {
		return c.arcs
	}
	return nil
}

// Path is one way to say a text: indexes of tokens, and their distances from the first in a document.
type Path struct {
	Tokens  []int
	Offsets []uint32
}

// Section is a part of a text: no token begins before it and ends after its start.
type Section []Path

// ErrTooManyPaths wraps base.ErrBadInput.
var ErrTooManyPaths = fmt.Errorf("its words and their alternatives combine in too many ways: %w", base.ErrBadInput)

// Sections divides tokens, with arcs that are not nil, where no token crosses, and lists the paths of each
// section. The error is ErrTooManyPaths if there are more than limit.
func Sections(tokens []Token, arcs []Arc, limit int) ([]Section, error) {
	var sections []Section
	for first := 0; first < len(tokens); {
		last, end := first, uint64(tokens[first].Position)+uint64(arcs[first].Length)
		for last+1 < len(tokens) && uint64(tokens[last+1].Position) < end {
			last++
			end = max(end, uint64(tokens[last].Position)+uint64(arcs[last].Length))
		}
		w := pathWalk{tokens: tokens[:last+1], arcs: arcs, limit: limit}
		if err := w.from(first, Path{}, 0); err != nil {
			return nil, err
		}
		limit -= len(w.paths)
		sections = append(sections, w.paths)
		first = last + 1
	}
	return sections, nil
}

// AllPaths is Sections with all of the tokens as one section.
func AllPaths(tokens []Token, arcs []Arc, limit int) ([]Path, error) {
	w := pathWalk{tokens: tokens, arcs: arcs, limit: limit}
	if len(tokens) == 0 {
		return nil, nil
	}
	err := w.from(0, Path{}, 0)
	return w.paths, err
}

type pathWalk struct {
	tokens []Token
	arcs   []Arc
	limit  int
	paths  []Path
}

// from follows each token at the position of tokens[first].
func (w *pathWalk) from(first int, path Path, offset uint32) error {
	for i := first; i < len(w.tokens) && w.tokens[i].Position == w.tokens[first].Position; i++ {
		longer := Path{
			Tokens:  append(path.Tokens[:len(path.Tokens):len(path.Tokens)], i),
			Offsets: append(path.Offsets[:len(path.Offsets):len(path.Offsets)], offset),
		}
		if len(longer.Tokens) > w.limit {
			return ErrTooManyPaths
		}
		end := w.tokens[i].Position + w.arcs[i].Length
		next := i + 1
		for next < len(w.tokens) && w.tokens[next].Position < end {
			next++
		}
		after := offset + w.arcs[i].Step
		if next < len(w.tokens) {
			if err := w.from(next, longer, after+w.tokens[next].Position-end); err != nil {
				return err
			}
			continue
		}
		if w.paths = append(w.paths, longer); len(w.paths) > w.limit {
			return ErrTooManyPaths
		}
	}
	return nil
}
