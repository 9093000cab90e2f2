package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/griffin-search/griffin"
)

// progress is a bar at a terminal, otherwise a line every ten seconds.
type progress struct {
	out      io.Writer
	bars     *mpb.Progress // nil: lines
	bar      *mpb.Bar
	phase    string
	started  time.Time
	lastLine time.Time
	status   string
	silent   bool
}

const lineInterval = 10 * time.Second

func (con *console) newProgress() *progress {
	p := &progress{out: con.err, silent: con.quiet || con.json, started: time.Now(), lastLine: time.Now()}
	if !p.silent && isTerminal(con.err) {
		p.bars = mpb.New(mpb.WithOutput(con.err), mpb.WithWidth(64), mpb.WithRefreshRate(120*time.Millisecond))
	}
	return p
}

func (p *progress) indexing(now griffin.Progress) {
	status := count(now.Docs) + " docs"
	if s := now.Elapsed.Seconds(); now.Phase == "read" && s > 0 && now.Bytes > 0 {
		status += fmt.Sprintf(", %.0f MB/s", float64(now.Bytes)/1e6/s)
	}
	if now.BadRecords > 0 {
		status += ", " + count(now.BadRecords) + " bad"
	}
	p.show(now.Phase, now.Done, now.Total, status)
}

func (p *progress) merging(now griffin.Progress) { p.show(now.Phase, now.Done, now.Total, "") }

func (p *progress) items(phase, things string) func(done, total int64) {
	return func(done, total int64) { p.show(phase, done, total, count(done)+" "+things) }
}

func (p *progress) bytes(phase string) func(done, total int64) {
	return func(done, total int64) { p.show(phase, done, total, sizeOf(done)) }
}

func (p *progress) show(phase string, done, total int64, status string) {
	p.status = status
	switch {
	case p.silent:
	case p.bars != nil:
		p.showBar(phase, done, total)
	case time.Since(p.lastLine) >= lineInterval:
		p.lastLine = time.Now()
		fmt.Fprintf(p.out, "%-8s %s%s, %s\n", phase, percent(done, total), status, took(time.Since(p.started)))
	}
}

func percent(done, total int64) string {
	if total <= 0 {
		return ""
	}
	return fmt.Sprintf("%3.0f %%, ", 100*float64(done)/float64(total))
}

func (p *progress) showBar(phase string, done, total int64) {
	if phase != p.phase {
		p.endBar()
		p.phase = phase
		p.bar = p.bars.AddBar(0,
			mpb.BarRemoveOnComplete(),
			// The terminal may have written ^C where the bar expects the cursor.
			mpb.PrependDecorators(decor.Name("\r"+strings.ToUpper(phase[:1])+phase[1:], decor.WCSyncSpaceR), decor.Percentage(decor.WC{W: 5})),
			mpb.AppendDecorators(
				decor.Any(func(decor.Statistics) string { return p.status }),
				decor.OnComplete(decor.AverageETA(decor.ET_STYLE_GO, decor.WC{W: 8}), ""),
			))
	}
	if total > 0 {
		p.bar.SetTotal(max(total, done+1), false)
	}
	p.bar.SetCurrent(done)
}

// above writes even with --quiet.
func (p *progress) above(format string, args ...any) {
	message := fmt.Sprintf(format+"\n", args...)
	if p.bars != nil {
		_, _ = p.bars.Write([]byte(message))
		return
	}
	_, _ = io.WriteString(p.out, message)
}

type messages struct {
	progress *progress
	n        int
}

// The final report has the number of the others.
const maxMessages = 1000

func (m *messages) add(format string, args ...any) {
	switch m.n++; {
	case m.n <= maxMessages:
		m.progress.above(format, args...)
	case m.n == maxMessages+1:
		m.progress.above("griffin: more messages of this kind follow; they are counted only")
	}
}

func (p *progress) endBar() {
	if p.bar != nil {
		p.bar.Abort(true /* drop the bar */)
		p.bar.Wait()
		p.bar = nil
	}
}

// close must be called before other output.
func (p *progress) close() {
	p.endBar()
	if p.bars != nil {
		p.bars.Wait()
		p.bars = nil
		p.silent = true
	}
}
