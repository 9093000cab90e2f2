package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/peterh/liner"
)

type prompt struct {
	*console
	answer func(query string) error
}

// At a terminal run edits lines and keeps a history between sessions; otherwise it reads plain
// lines, for scripts.
func (p *prompt) run(ctx context.Context) error {
	if !isTerminal(p.in) || !isTerminal(p.out) {
		return p.runLines(ctx)
	}
	line := liner.NewLiner()
	defer line.Close()
	line.SetCtrlCAborts(true)
	history := historyPath()
	if f, err := os.Open(history); err == nil {
		_, _ = line.ReadHistory(f) // a damaged history is no reason to stop
		f.Close()
	}
	defer saveHistory(line, history)
	for {
		query, err := line.Prompt("griffin> ")
		switch {
		case errors.Is(err, liner.ErrPromptAborted): // Ctrl-C
			return context.Canceled
		case errors.Is(err, io.EOF): // Ctrl-D
			p.printf("\n")
			return nil
		case err != nil:
			return err
		}
		if query = strings.TrimSpace(query); query == "" {
			continue
		}
		if query == "exit" || query == "quit" {
			return nil
		}
		line.AppendHistory(query)
		if end, err := p.answerLine(ctx, query); end || err != nil {
			return err
		}
	}
}

const promptHelp = `rate limit             documents with any of the words; --mode and: with all of them
"rate limit"           a phrase
+server -client        must have the one, must not have the other
title:server           a word of a field
server^2 (proxy OR cache)   a weight, a group
:quit, :q or Ctrl-D    leave
`

var promptCommand = regexp.MustCompile(`^:[a-z?]+$`)

func (p *prompt) answerLine(ctx context.Context, text string) (end bool, err error) {
	if !promptCommand.MatchString(text) {
		return false, p.answerQuery(ctx, text)
	}
	switch text {
	case ":q", ":quit", ":exit":
		return true, nil
	case ":help", ":h", ":?":
		fmt.Fprint(p.err, promptHelp)
	default:
		fmt.Fprintf(p.err, "griffin: unknown command %s; :help shows what you can type\n", text)
	}
	return false, nil
}

func (p *prompt) runLines(ctx context.Context) error {
	in := bufio.NewScanner(interruptible{ctx, p.in})
	for in.Scan() {
		query := strings.TrimSpace(in.Text())
		if query == "" {
			continue
		}
		if end, err := p.answerLine(ctx, query); end || err != nil {
			return err
		}
	}
	return in.Err()
}

// answerQuery prints the error of a bad query; other errors end the prompt.
func (p *prompt) answerQuery(ctx context.Context, query string) error {
	err := p.answer(query)
	if err != nil && ctx.Err() == nil && exitCode(err) == exitInput {
		p.printError("griffin search", err)
		return nil
	}
	return err
}

// historyPath is "" if the user has no cache folder.
func historyPath() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "griffin", "history")
}

func saveHistory(line *liner.State, path string) {
	if path == "" || os.MkdirAll(filepath.Dir(path), 0o700) != nil {
		return
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	_, _ = line.WriteHistory(f)
}
