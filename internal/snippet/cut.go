package snippet

import (
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/words"
)

// passage is text[start:end] of the cleaned text, without white space at its ends.
type passage struct {
	start, end          int
	cutBefore, cutAfter bool // a sentence is truncated at that end
}

type cutter struct {
	text     []byte // cleaned, not empty
	maxChars int
	more     bool // the text continues after its end
}

// A passage filled above this share may end with a sentence.
const minFill = 0.6

// widen returns about maxChars characters around text[start:end], from start's sentence if that
// is near, otherwise from a word, to the end of a sentence, otherwise of a word.
func (c *cutter) widen(start, end int) passage {
	slack := max(0, c.maxChars-countChars(c.text[start:end]))
	left := c.backward(start, slack)
	p := passage{start: c.sentenceStart(left, start)}
	if p.start < 0 {
		p.start, p.cutBefore = c.wordStart(c.backward(start, slack/2), start), true
	}
	budget := max(0, c.maxChars-countChars(c.text[p.start:end]))
	right := c.forward(end, budget)
	if right == len(c.text) {
		// The rest of the text fits: use the remaining budget before start.
		p.end, p.cutAfter = right, c.more
		if spare := c.maxChars - countChars(c.text[p.start:p.end]); spare > 0 && p.start > 0 {
			c.extendBackward(&p, spare)
		}
		return c.trim(p)
	}
	least := int(minFill * float64(c.maxChars))
	if p.end = c.sentenceEnd(p.start, end, right, least); p.end < 0 {
		p.end, p.cutAfter = c.wordEnd(end, right), true
	}
	if p.end <= p.start { // the beginning of a text that is one long word
		p.end = right
	}
	return c.trim(p)
}

func (c *cutter) extendBackward(p *passage, spare int) {
	left := c.backward(p.start, spare)
	if left == 0 {
		p.start, p.cutBefore = 0, false
		return
	}
	// The earliest sentence that begins there, otherwise the earliest word.
	if s := c.firstSentence(left, p.start); s >= 0 {
		p.start, p.cutBefore = s, false
		return
	}
	if p.cutBefore {
		p.start = c.wordStart(left, p.start)
	}
}

// The start of place's sentence, or -1 if before left.
func (c *cutter) sentenceStart(left, place int) int {
	start := -1
	for s := c.firstSentence(left, place); s >= 0 && s <= place; {
		start = s
		n, ok := sentence(c.text[s:])
		if !ok {
			break
		}
		s += n
	}
	return start
}

func (c *cutter) firstSentence(left, limit int) int {
	if left == 0 {
		return 0
	}
	if n, ok := sentence(c.text[left:]); ok && left+n <= limit {
		return left + n
	}
	return -1
}

// sentenceEnd returns the last end of a sentence from end to right that is least or more
// characters after start, or -1.
func (c *cutter) sentenceEnd(start, end, right, least int) int {
	found := -1
	// start is the beginning of a sentence or a word within one.
	for s := start; ; {
		n, ok := sentence(c.text[s:])
		if !ok || s+n > right+1 { // the blank after a sentence belongs to it
			break
		}
		if s += n; s >= end && countChars(c.text[start:s]) >= least {
			found = s
		}
	}
	return found
}

// The first word start after white space from left to limit, otherwise any word's, otherwise
// limit.
func (c *cutter) wordStart(left, limit int) int {
	if left == 0 {
		return 0
	}
	for i := left; i <= limit; i++ {
		if isBlank(c.text[i-1]) {
			return i
		}
	}
	if n, _, _ := words.SplitFunc(c.text[left:limit], true /* atEOF */); left+n < limit {
		return left + n
	}
	return limit
}

// The last position from limit to right before white space, otherwise the last end of a word,
// otherwise limit.
func (c *cutter) wordEnd(limit, right int) int {
	for i := right; i > limit; i-- {
		if isBlank(c.text[i]) {
			return i
		}
	}
	end := limit
	for end < right {
		n, _, _ := words.SplitFunc(c.text[end:min(len(c.text), right+maxWordBytes)], true /* atEOF */)
		if n == 0 || end+n > right {
			break
		}
		end += n
	}
	return end
}

// Longer words are not examined.
const maxWordBytes = 256

func (c *cutter) trim(p passage) passage {
	for p.start < p.end && isBlank(c.text[p.start]) {
		p.start++
	}
	for p.start < p.end && isBlank(c.text[p.end-1]) {
		p.end--
	}
	return p
}

func (c *cutter) backward(from, n int) int {
	for ; n > 0 && from > 0; n-- {
		_, size := utf8.DecodeLastRune(c.text[:from])
		from -= size
	}
	return from
}

func (c *cutter) forward(from, n int) int {
	for ; n > 0 && from < len(c.text); n-- {
		_, size := utf8.DecodeRune(c.text[from:])
		from += size
	}
	return from
}

// separate joins sorted passages that overlap or touch.
func separate(passages []passage) []passage {
	kept := passages[:0]
	for _, p := range passages {
		n := len(kept)
		switch {
		case n == 0 || p.start > kept[n-1].end+1: // more than one blank in between
			kept = append(kept, p)
		case p.end > kept[n-1].end:
			kept[n-1].end, kept[n-1].cutAfter = p.end, p.cutAfter
		}
	}
	return kept
}
