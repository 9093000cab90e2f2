package main

import (
	"os"

	"golang.org/x/term"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/timeline"
)

// plainWidth is the width without a terminal.
const plainWidth = 80

func printTimeline(con *console, t *griffin.Trace) {
	c := timeline.Of(t)
	if c == nil {
		return
	}
	s := timeline.Style{Width: plainWidth, Plain: true}
	if f, ok := con.out.(*os.File); ok && isTerminal(f) {
		s.Plain = false
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			s.Width = width - 1 // a full line would wrap on some
		}
	}
	if con.colored(con.out) {
		s.Reset = con.style(con.out).reset
		s.Color = func(k timeline.Kind) string { return laneColors[k] }
	}
	con.printf("\n%s", c.Text(s))
}

// laneColors are ANSI sequences. Lanes also have names.
var laneColors = map[timeline.Kind]string{
	timeline.CPU: "\x1b[34m", timeline.Wait: "\x1b[2m", timeline.Bus: "\x1b[33m", timeline.GPU: "\x1b[32m",
}
