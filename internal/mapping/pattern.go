package mapping

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/griffin-search/griffin/internal/base"
)

// datePart is a part of a pattern of Java's DateTimeFormatter: a letter that is repeated, or a text, which
// has the letter 0.
type datePart struct {
	letter byte
	width  int
	text   string
	// optional are the parts within brackets, of the letter '['.
	optional []datePart
}

// patternLetters and their greatest widths.
var patternLetters = map[byte]int{
	'y': 9, 'u': 9, 'Y': 4, 'D': 3, 'w': 2, 'e': 1, 'M': 4, 'L': 4, 'd': 2, 'H': 2, 'k': 2, 'h': 2, 'm': 2, 's': 2, 'S': 9, 'a': 1, 'E': 4, 'z': 3, 'Z': 3, 'X': 3, 'x': 3, 'V': 2,
}

const maxPatternBytes = 256

func parsePattern(pattern string) ([]datePart, error) {
	p := patternParser{pattern: pattern}
	if len(pattern) > maxPatternBytes || !utf8.ValidString(pattern) {
		return nil, fmt.Errorf("date format %.40q: want at most %d bytes of UTF-8: %w", pattern, maxPatternBytes, base.ErrBadInput)
	}
	parts, err := p.parts(0)
	switch {
	case err != nil:
	case p.letters == 0:
		err = p.fail("it has no letters")
	case p.weeks && !p.weekYear:
		err = p.fail("weeks and their days need the year of the week, Y")
	}
	return parts, err
}

type patternParser struct {
	pattern string
	at      int
	letters int

	weeks, weekYear bool // it has w or e, Y
}

func (p *patternParser) fail(format string, args ...any) error {
	return fmt.Errorf("date format %q: %s: %w", p.pattern, fmt.Sprintf(format, args...), base.ErrBadInput)
}

func (p *patternParser) parts(depth int) (parts []datePart, err error) {
	for p.at < len(p.pattern) {
		c := p.pattern[p.at]
		switch {
		case c == '\'':
			text, err := p.quoted()
			if err != nil {
				return nil, err
			}
			parts = append(parts, datePart{text: text})
		case c == '[':
			p.at++
			if depth == 8 {
				return nil, p.fail("too many brackets")
			}
			inner, err := p.parts(depth + 1)
			if err != nil {
				return nil, err
			}
			if p.at == len(p.pattern) {
				return nil, p.fail("a bracket is not closed")
			}
			p.at++
			parts = append(parts, datePart{letter: '[', optional: inner})
		case c == ']':
			if depth == 0 {
				return nil, p.fail("a bracket is not open")
			}
			return parts, nil
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
			part, err := p.letter(c)
			if err != nil {
				return nil, err
			}
			parts = append(parts, part)
		case c == '{' || c == '}' || c == '#':
			return nil, p.fail("%q is reserved", string(c))
		default:
			_, size := utf8.DecodeRuneInString(p.pattern[p.at:])
			parts = append(parts, datePart{text: p.pattern[p.at : p.at+size]})
			p.at += size
		}
	}
	return parts, nil
}

func (p *patternParser) letter(c byte) (datePart, error) {
	n := 1
	for p.at+n < len(p.pattern) && p.pattern[p.at+n] == c {
		n++
	}
	most, ok := patternLetters[c]
	if !ok || n > most {
		return datePart{}, p.fail("%q is not supported", p.pattern[p.at:p.at+n])
	}
	p.at += n
	p.letters++
	p.weeks, p.weekYear = p.weeks || c == 'w' || c == 'e', p.weekYear || c == 'Y'
	return datePart{letter: c, width: n}, nil
}

// quoted reads a text in quotes, in which two quotes are one.
func (p *patternParser) quoted() (string, error) {
	var text strings.Builder
	for p.at++; p.at < len(p.pattern); p.at++ {
		if p.pattern[p.at] != '\'' {
			text.WriteByte(p.pattern[p.at])
			continue
		}
		if p.at++; p.at == len(p.pattern) || p.pattern[p.at] != '\'' {
			if text.Len() == 0 {
				return "'", nil // two quotes outside a text
			}
			return text.String(), nil
		}
		text.WriteByte('\'')
	}
	return "", p.fail("a quote is not closed")
}

// readParts reads a whole text.
func (t *moment) readParts(text string, parts []datePart) bool {
	r := dateReader{text: text}
	return r.parts(t, parts) && r.done()
}

func (r *dateReader) parts(t *moment, parts []datePart) bool {
	for i := range parts {
		p := &parts[i]
		if p.letter == '[' {
			tried, before := *t, r.at
			if r.parts(&tried, p.optional) {
				*t = tried
			} else {
				r.at = before
			}
			continue
		}
		adjacent := i+1 < len(parts) && numericPart(&parts[i+1])
		if !r.part(t, p, adjacent) {
			return false
		}
	}
	return true
}

func numericPart(p *datePart) bool {
	return p.letter != 0 && strings.IndexByte("yuYDwedHkhmsS", p.letter) >= 0 || (p.letter == 'M' || p.letter == 'L') && p.width <= 2
}

// part reads one part. If another number follows directly, a number has one digit for each letter.
func (r *dateReader) part(t *moment, p *datePart, adjacent bool) bool {
	least, most := p.width, p.width
	if p.width == 1 && !adjacent {
		most = 2
	}
	switch p.letter {
	case 0:
		if !strings.HasPrefix(r.text[r.at:], p.text) {
			return false
		}
		r.at += len(p.text)
		return true
	case 'y', 'u':
		return r.year(&t.year, p, adjacent)
	case 'Y':
		return r.year(&t.weekYear, p, adjacent)
	case 'w':
		return r.number(&t.week, least, most)
	case 'e':
		return r.number(&t.weekDay, 1, 1)
	case 'D':
		if p.width == 1 && !adjacent {
			most = 3
		}
		return r.number(&t.yearDay, least, most)
	case 'M', 'L':
		if p.width > 2 {
			return r.name(&t.month, p.width, monthNames[:], 1)
		}
		return r.number(&t.month, least, most)
	case 'd':
		return r.number(&t.day, least, most)
	case 'H':
		return r.number(&t.hour, least, most)
	case 'k':
		if !r.number(&t.hour, least, most) || t.hour < 1 || t.hour > 24 {
			return false
		}
		t.hour %= 24
		return true
	case 'h':
		return r.number(&t.halfHour, least, most) && t.halfHour >= 1 && t.halfHour <= 12
	case 'm':
		return r.number(&t.minute, least, most)
	case 's':
		return r.number(&t.second, least, most)
	case 'S':
		return r.fraction(&t.milli, p.width, p.width)
	case 'a':
		return r.halfDay(t)
	case 'E':
		var ignored int
		return r.name(&ignored, p.width, dayNames[:], 0)
	case 'z', 'V':
		return r.zoneName(t)
	}
	return r.zone(t)
}

func (r *dateReader) year(to *int, p *datePart, adjacent bool) bool {
	switch {
	case p.width == 2:
		if !r.number(to, 2, 2) {
			return false
		}
		*to += 2000
		return true
	case adjacent:
		return r.number(to, p.width, p.width)
	}
	negative := r.skip('-')
	most := max(p.width, 4)
	if !negative && r.skip('+') {
		most = 9
	}
	if !r.number(to, p.width, most) {
		return false
	}
	if negative {
		*to = -*to
	}
	return true
}

func (r *dateReader) halfDay(t *moment) bool {
	if r.at+2 > len(r.text) {
		return false
	}
	switch strings.ToUpper(r.text[r.at : r.at+2]) {
	case "AM":
		t.half = 0
	case "PM":
		t.half = 1
	default:
		return false
	}
	r.at += 2
	return true
}

var (
	monthNames = [...]string{"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"}
	dayNames   = [...]string{"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"}
)

// name reads a name, or its first three letters if the width is 3 or less.
func (r *dateReader) name(to *int, width int, names []string, first int) bool {
	for i, name := range names {
		if width <= 3 {
			name = name[:3]
		}
		if len(r.text)-r.at >= len(name) && strings.EqualFold(r.text[r.at:r.at+len(name)], name) {
			*to, r.at = first+i, r.at+len(name)
			return true
		}
	}
	return false
}

// zoneName reads an offset, or a name up to a space.
func (r *dateReader) zoneName(t *moment) bool {
	before := r.at
	if r.zone(t) {
		return true
	}
	r.at = before
	end := r.at
	for end < len(r.text) && (isLetter(r.text[end]) || strings.IndexByte("/_+-0123456789", r.text[end]) >= 0) {
		end++
	}
	zone, err := ParseZone(r.text[r.at:end])
	if err != nil {
		return false
	}
	t.zone, r.at = zone, end
	return true
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// appendParts writes a moment.
func appendParts(dst []byte, t time.Time, parts []datePart) []byte {
	for i := range parts {
		p := &parts[i]
		switch p.letter {
		case 0:
			dst = append(dst, p.text...)
		case '[':
			dst = appendParts(dst, t, p.optional)
		case 'y', 'u':
			dst = appendYear(dst, t.Year(), p.width)
		case 'Y':
			year, _ := t.ISOWeek()
			dst = appendYear(dst, year, p.width)
		case 'w':
			_, week := t.ISOWeek()
			dst = appendPadded(dst, week, p.width)
		case 'e':
			dst = appendPadded(dst, (int(t.Weekday())+6)%7+1, p.width)
		case 'D':
			dst = appendPadded(dst, t.YearDay(), p.width)
		case 'M', 'L':
			dst = appendName(dst, int(t.Month()), p.width, monthNames[:], 1)
		case 'd':
			dst = appendPadded(dst, t.Day(), p.width)
		case 'H':
			dst = appendPadded(dst, t.Hour(), p.width)
		case 'k':
			dst = appendPadded(dst, (t.Hour()+23)%24+1, p.width)
		case 'h':
			dst = appendPadded(dst, (t.Hour()+11)%12+1, p.width)
		case 'm':
			dst = appendPadded(dst, t.Minute(), p.width)
		case 's':
			dst = appendPadded(dst, t.Second(), p.width)
		case 'S':
			dst = append(dst, fmt.Sprintf("%09d", t.Nanosecond())[:p.width]...)
		case 'a':
			dst = t.AppendFormat(dst, "PM")
		case 'E':
			dst = appendName(dst, int(t.Weekday()), max(p.width, 3), dayNames[:], 0)
		case 'V':
			dst = append(dst, t.Location().String()...)
		default:
			dst = appendZone(dst, t, p)
		}
	}
	return dst
}

func appendYear(dst []byte, year, width int) []byte {
	if width == 2 {
		return appendPadded(dst, ((year%100)+100)%100, 2)
	}
	switch {
	case year < 0:
		dst, year = append(dst, '-'), -year
	case year > 9999 && width == 4:
		dst = append(dst, '+')
	}
	return appendPadded(dst, year, width)
}

func appendPadded(dst []byte, v, width int) []byte {
	text := strconv.Itoa(v)
	for n := len(text); n < width; n++ {
		dst = append(dst, '0')
	}
	return append(dst, text...)
}

func appendName(dst []byte, v, width int, names []string, first int) []byte {
	switch {
	case width <= 2:
		return appendPadded(dst, v, width)
	case width == 3:
		return append(dst, names[v-first][:3]...)
	}
	return append(dst, names[v-first]...)
}

func appendZone(dst []byte, t time.Time, p *datePart) []byte {
	layout := ""
	switch p.letter {
	case 'z':
		layout = "MST"
	case 'Z':
		layout = "-0700"
	case 'X':
		layout = [...]string{"Z07", "Z0700", "Z07:00"}[p.width-1]
	case 'x':
		layout = [...]string{"-07", "-0700", "-07:00"}[p.width-1]
	}
	return t.AppendFormat(dst, layout)
}
