package main

import (
	"bufio"
	"flag"
	"fmt"
	"html"
	"io"
	"log"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"
)

func main() {
	log.SetFlags(0)
	command := flag.String("command", "", "command to show on the first line")
	columns := flag.Int("columns", 104, "columns of the terminal; longer lines are wrapped")
	most := flag.Int("lines", 0, "lines to show, 0 for all; an ellipsis stands for the rest")
	flag.Parse()
	text, err := io.ReadAll(os.Stdin)
	if err != nil {
		log.Fatal(err)
	}
	out := bufio.NewWriter(os.Stdout)
	lines := parse(string(text), *columns)
	if *most > 0 && len(lines) > *most {
		lines = append(lines[:*most], []run{{text: "…", dim: true, color: -1}})
	}
	draw(out, *command, lines, *columns)
	if err := out.Flush(); err != nil {
		log.Fatal(err)
	}
}

// run is text of one style on one line.
type run struct {
	column int
	text   string
	bold   bool
	dim    bool
	color  int // 0 to 15, -1 the default
}

func parse(text string, columns int) [][]run {
	lines := [][]run{nil}
	column := 0
	style := run{color: -1}
	add := func(r rune) {
		if r == '\n' || column == columns {
			lines = append(lines, nil)
			column = 0
			if r == '\n' {
				return
			}
		}
		last := &lines[len(lines)-1]
		if n := len(*last); n > 0 {
			if p := &(*last)[n-1]; p.bold == style.bold && p.dim == style.dim && p.color == style.color {
				p.text += string(r)
				column++
				return
			}
		}
		next := style
		next.column, next.text = column, string(r)
		*last = append(*last, next)
		column++
	}
	for len(text) > 0 {
		if rest, ok := strings.CutPrefix(text, "\x1b["); ok {
			end := strings.IndexFunc(rest, func(r rune) bool { return r >= '@' && r <= '~' })
			if end < 0 {
				break
			}
			if rest[end] == 'm' {
				style.apply(rest[:end])
			}
			text = rest[end+1:]
			continue
		}
		r, size := utf8.DecodeRuneInString(text)
		if r == '\n' || r >= ' ' {
			add(r)
		}
		text = text[size:]
	}
	for len(lines) > 0 && len(lines[len(lines)-1]) == 0 {
		lines = lines[:len(lines)-1]
	}
	return lines
}

func (s *run) apply(parameters string) {
	for p := range strings.SplitSeq(parameters, ";") {
		n, _ := strconv.Atoi(p) // an empty parameter means 0
		switch {
		case n == 0:
			s.bold, s.dim, s.color = false, false, -1
		case n == 1:
			s.bold = true
		case n == 2:
			s.dim = true
		case n == 22:
			s.bold, s.dim = false, false
		case n >= 30 && n <= 37:
			s.color = n - 30
		case n == 39:
			s.color = -1
		case n >= 90 && n <= 97:
			s.color = n - 90 + 8
		}
	}
}

const (
	charWidth, lineHeight = 8.43, 19.0 // of 14px monospace fonts
	margin, titleBar      = 20.0, 36.0
)

var palette = [16]string{
	"#484f58", "#ff7b72", "#7ee787", "#e3b341", "#79c0ff", "#d2a8ff", "#76e3ea", "#c9d1d9",
	"#6e7681", "#ffa198", "#a5f3ae", "#f2cc60", "#a5d6ff", "#e2c5ff", "#b3f0ff", "#f0f6fc",
}

// draw writes the picture. Every run is positioned explicitly, so that columns stay aligned
// in any font.
func draw(w io.Writer, command string, lines [][]run, columns int) {
	if command != "" {
		prompt := []run{{text: "$ ", color: 2, bold: true}, {column: 2, text: command, color: -1, bold: true}}
		lines = append([][]run{prompt}, lines...)
	}
	width := float64(columns)*charWidth + 2*margin
	height := titleBar + float64(len(lines))*lineHeight + margin
	fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14">`+"\n", width, height, width, height)
	fmt.Fprintf(w, `<title>%s</title>`+"\n", html.EscapeString(command))
	fmt.Fprintln(w, `<style>text { white-space: pre; fill: #c9d1d9 } .b { font-weight: bold } .d { fill: #8b949e }</style>`)
	fmt.Fprintln(w, `<rect width="100%" height="100%" rx="10" fill="#0d1117"/>`)
	for i, color := range []string{"#ff5f57", "#febc2e", "#28c840"} {
		fmt.Fprintf(w, `<circle cx="%.0f" cy="18" r="6" fill="%s"/>`+"\n", margin+4+20*float64(i), color)
	}
	for i, line := range lines {
		y := titleBar + float64(i+1)*lineHeight - 5
		for _, r := range line {
			if strings.TrimSpace(r.text) == "" {
				continue
			}
			var attributes string
			switch {
			case r.bold:
				attributes = ` class="b"`
			case r.dim:
				attributes = ` class="d"`
			}
			if r.color >= 0 {
				attributes += ` style="fill:` + palette[r.color] + `"`
			}
			fmt.Fprintf(w, `<text x="%.1f" y="%.1f" textLength="%.1f"%s>%s</text>`+"\n",
				margin+float64(r.column)*charWidth, y, float64(utf8.RuneCountInString(r.text))*charWidth, attributes, html.EscapeString(r.text))
		}
	}
	fmt.Fprintln(w, `</svg>`)
}
