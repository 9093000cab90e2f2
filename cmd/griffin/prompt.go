package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/peterh/liner"
)

// prompt reads queries until the input ends and hands each to answer. At a
// terminal it edits lines and keeps a history between sessions; otherwise it
// reads plain lines, so that a script can feed it.
func (a *app) prompt(ctx context.Context, answer func(query string) error) error {
	if !isTerminal(a.in) || !isTerminal(a.out) {
		return a.promptLines(ctx, answer)
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
			a.printf("\n")
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
		if err := a.answerOne(ctx, query, answer); err != nil {
			return err
		}
	}
}

func (a *app) promptLines(ctx context.Context, answer func(query string) error) error {
	in := bufio.NewScanner(interruptible{ctx, a.in})
	for in.Scan() {
		query := strings.TrimSpace(in.Text())
		if query == "" {
			continue
		}
		if err := a.answerOne(ctx, query, answer); err != nil {
			return err
		}
	}
	return in.Err()
}

// answerOne answers a query of the prompt. A bad query is told and the prompt
// goes on; anything worse ends it.
func (a *app) answerOne(ctx context.Context, query string, answer func(string) error) error {
	err := answer(query)
	if err != nil && ctx.Err() == nil && exitCode(err) == exitInput {
		a.printError("griffin search", err)
		return nil
	}
	return err
}

// historyPath is where the prompt keeps its history, or "" if there is no home.
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
