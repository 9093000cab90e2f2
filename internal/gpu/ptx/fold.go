package ptx

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
)

// maxNumber bounds the numbers, so that distances do not overflow.
const maxNumber = 1<<31 - 1

// numbers are the numbers of a prefix in a function.
type numbers struct {
	inOrder []int       // of first appearance
	places  map[int]int // the places in inOrder; nil in Unfold
}

func (n *numbers) next() int {
	if len(n.inOrder) == 0 {
		return 1
	}
	return n.inOrder[len(n.inOrder)-1] + 1
}

// Fold returns text that compresses better, from which Unfold restores the PTX. It fails for
// text that is no PTX of clang: a name followed by "!", and a number with leading zeros or above 2^31 - 1.
func Fold(text []byte) ([]byte, error) {
	return rewrite(text, func(n *numbers, out, digits, rest []byte) ([]byte, []byte, error) {
		if len(digits) == 0 {
			if len(rest) > 0 && rest[0] == '!' {
				return nil, nil, errors.New(`a name is followed by "!"`)
			}
			return out, rest, nil
		}
		number, err := strconv.Atoi(string(digits))
		if err != nil || number > maxNumber || digits[0] == '0' && len(digits) > 1 {
			return nil, nil, fmt.Errorf("number %.20s", digits)
		}
		if place, ok := n.places[number]; ok {
			return strconv.AppendInt(out, int64(len(n.inOrder)-1-place), 10), rest, nil
		}
		out = strconv.AppendInt(append(out, '!'), int64(number-n.next()), 10)
		if n.places == nil {
			n.places = map[int]int{}
		}
		n.places[number] = len(n.inOrder)
		n.inOrder = append(n.inOrder, number)
		return out, rest, nil
	})
}

// Unfold returns the PTX from which Fold made the text.
func Unfold(text []byte) ([]byte, error) {
	return rewrite(text, func(n *numbers, out, digits, rest []byte) ([]byte, []byte, error) {
		if len(digits) > 0 {
			newer, err := strconv.Atoi(string(digits))
			if err != nil || newer >= len(n.inOrder) {
				return nil, nil, fmt.Errorf("the number before %.20s others, of %d", digits, len(n.inOrder))
			}
			return strconv.AppendInt(out, int64(n.inOrder[len(n.inOrder)-1-newer]), 10), rest, nil
		}
		if len(rest) == 0 || rest[0] != '!' {
			return out, rest, nil
		}
		end := 1
		for end < len(rest) && (isDigit(rest[end]) || end == 1 && rest[end] == '-') {
			end++
		}
		distance, err := strconv.Atoi(string(rest[1:end]))
		if err != nil || distance > maxNumber || n.next()+distance < 0 || n.next()+distance > maxNumber {
			return nil, nil, fmt.Errorf("distance %.20s", rest[1:end])
		}
		n.inOrder = append(n.inOrder, n.next()+distance)
		return strconv.AppendInt(out, int64(n.inOrder[len(n.inOrder)-1]), 10), rest[end:], nil
	})
}

// rewrite calls write for each name, with the digits at its end and the rest of the line. write appends another number to out and
// returns the rest to go on with.
func rewrite(text []byte, write func(n *numbers, out, digits, rest []byte) ([]byte, []byte, error)) ([]byte, error) {
	out := make([]byte, 0, len(text)+len(text)/4)
	function := map[string]*numbers{}
	lineNumber := 0
	for line := range bytes.Lines(text) {
		lineNumber++
		if line[0] == '{' {
			clear(function)
		}
		for {
			start := bytes.IndexAny(line, "%$")
			if start < 0 {
				break
			}
			end := start + 1
			for end < len(line) && inName(line[end]) {
				end++
			}
			digits := end
			for digits > start+1 && isDigit(line[digits-1]) {
				digits--
			}
			prefix := line[start:digits]
			n := function[string(prefix)]
			if n == nil {
				n = &numbers{}
				function[string(prefix)] = n
			}
			out = append(out, line[:digits]...)
			var err error
			if out, line, err = write(n, out, line[digits:end], line[end:]); err != nil {
				return nil, fmt.Errorf("ptx: line %d: %w", lineNumber, err)
			}
		}
		out = append(out, line...)
	}
	return out, nil
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func inName(c byte) bool {
	return isDigit(c) || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
}
