package main

import (
	"os"

	"golang.org/x/term"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/timeline"
)

// plainWidth is the width of what is drawn where there is no terminal.
const plainWidth = 80

// printTimeline draws when the steps of a query ran, as wide as the terminal.
func (a *app) printTimeline(t *griffin.Trace) {
	c := timeline.Of(t)
	if c == nil {
		return
	}
	s := timeline.Style{Width: plainWidth, Plain: true}
	if f, ok := a.out.(*os.File); ok && isTerminal(f) {
		s.Plain = false
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			s.Width = width - 1 // a full line would wrap on some
		}
	}
	if a.colored(a.out) {
		s.Reset = a.style(a.out).reset
		s.Color = func(k timeline.Kind) string { return laneColors[k] }
	}
	a.printf("\n%s", c.Text(s))
}

// laneColors are ANSI sequences; names stand beside the bars, too.
var laneColors = map[timeline.Kind]string{
	timeline.CPU: "\x1b[34m", timeline.Wait: "\x1b[2m", timeline.Bus: "\x1b[33m", timeline.GPU: "\x1b[32m",
}
