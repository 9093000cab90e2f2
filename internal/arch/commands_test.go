package arch

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

type block struct {
	line     int // of its first line, 1-based
	language string
	text     string
}

func blocks(text string) []block {
	var out []block
	var open *block
	n := 0
	for line := range strings.Lines(text) {
		n++
		fence, isFence := strings.CutPrefix(strings.TrimSpace(line), "```")
		switch {
		case isFence && open == nil:
			open = &block{line: n + 1, language: fence}
		case isFence:
			out = append(out, *open)
			open = nil
		case open != nil:
			open.text += line
		}
	}
	return out
}

// TestDocumentedCommandsRun runs the commands of README.md and the guides: each line of a block
// fenced as sh, in order, in a new folder with the documents of the repository; and the
// programs fenced as go. Other text (output, other systems) has a different fence. Parts of
// programs must be part of a tested example.
func TestDocumentedCommandsRun(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the binary")
	}
	bin := t.TempDir()
	build := exec.Command("go", "build", "-o", filepath.Join(bin, "griffin"), "./cmd/griffin")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	guides, err := filepath.Glob(filepath.Join(root, "docs", "guides", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range append([]string{filepath.Join(root, "README.md")}, guides...) {
		text, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(filepath.Base(doc), func(t *testing.T) {
			t.Parallel()
			r := reader{t: t, bin: bin, dir: t.TempDir()}
			if err := os.CopyFS(filepath.Join(r.dir, "docs"), os.DirFS(filepath.Join(root, "docs"))); err != nil {
				t.Fatal(err)
			}
			for _, b := range blocks(string(text)) {
				switch b.language {
				case "sh":
					r.shell(b)
				case "go":
					r.program(b)
				}
			}
		})
	}
}

type reader struct {
	t        *testing.T
	bin, dir string
}

func (r reader) command(ctx context.Context, line string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", line)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "PATH="+r.bin+string(filepath.ListSeparator)+os.Getenv("PATH"), "HOME="+r.dir, "NO_COLOR=1")
	return cmd
}

func (r reader) shell(b block) {
	text := strings.ReplaceAll(b.text, "\\\n", " ")
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if i := strings.Index(line, " # "); i >= 0 {
			line = strings.TrimSpace(line[:i])
		}
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := r.run(line); err != nil {
			r.t.Errorf("block at line %d: %s: %v", b.line, line, err)
		}
	}
}

var makeTarget = regexp.MustCompile(`(?m)^([a-z-]+):.*## `)

func (r reader) run(line string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	words := strings.Fields(line)
	switch {
	case words[0] == "git" && words[1] == "clone", words[0] == "cd":
		return nil // the checkout exists already
	case words[0] == "make":
		return checkMake(words[1:])
	case words[0] == "go" && words[1] == "install":
		pkg, ok := inModule(strings.TrimSuffix(words[len(words)-1], "@latest"))
		if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(pkg), "main.go")); !ok || err != nil {
			return fmt.Errorf("%s is not a command of this module", pkg)
		}
		return nil
	case words[0] == "griffin" && words[1] == "serve":
		return r.serve(ctx, line)
	}
	out, err := r.command(ctx, line).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

// checkMake does not run targets, because the test itself runs under one.
func checkMake(words []string) error {
	text, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		return err
	}
	var have []string
	for _, m := range makeTarget.FindAllStringSubmatch(string(text), -1) {
		have = append(have, m[1])
	}
	for _, w := range words {
		if !strings.Contains(w, "=") && !slices.Contains(have, w) {
			return fmt.Errorf("no target %s in the Makefile", w)
		}
	}
	return nil
}

// The server gets a free port, prints its address, is interrupted, and must shut down
// gracefully.
func (r reader) serve(ctx context.Context, line string) error {
	cmd := r.command(ctx, "exec "+line+" --addr 127.0.0.1:0")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	cmd.Stdout = cmd.Stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	var said strings.Builder
	lines := bufio.NewScanner(io.TeeReader(stderr, &said))
	for lines.Scan() && !strings.Contains(lines.Text(), "http://127.0.0.1:") {
	}
	interrupted := cmd.Process.Signal(os.Interrupt)
	_, drainErr := io.Copy(&said, stderr)
	err = cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 130 {
		err = nil
	}
	if err = errors.Join(interrupted, drainErr, err); err != nil {
		return fmt.Errorf("%w\n%s", err, said.String())
	}
	if !strings.Contains(said.String(), "http://") {
		return fmt.Errorf("did not print its address:\n%s", said.String())
	}
	return nil
}

func (r reader) program(b block) {
	if !strings.HasPrefix(b.text, "package main") {
		if err := checkFragment(b.text); err != nil {
			r.t.Errorf("block at line %d: %v", b.line, err)
		}
		return
	}
	file := filepath.Join(r.dir, "main.go")
	if err := os.WriteFile(file, []byte(b.text), 0o600); err != nil {
		r.t.Fatal(err)
	}
	program := filepath.Join(r.dir, "program")
	build := exec.Command("go", "build", "-o", program, file)
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		r.t.Errorf("block at line %d: %v\n%s", b.line, err, out)
		return
	}
	if err := r.run(program); err != nil {
		r.t.Errorf("block at line %d: %v", b.line, err)
	}
}

// The tested examples of the guide must contain the code.
func checkFragment(code string) error {
	const examples = "example_guide_test.go"
	source, err := os.ReadFile(filepath.Join(root, examples))
	if err != nil {
		return err
	}
	if strings.TrimSpace(code) == "" || !strings.Contains(withoutIndent(string(source)), withoutIndent(code)) {
		return fmt.Errorf("a go block must be a complete program or part of an example in %s", examples)
	}
	return nil
}

func withoutIndent(code string) string {
	lines := strings.Split(code, "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.Join(lines, "\n")
}

func TestCheckFragment(t *testing.T) {
	if err := checkFragment("ix, remove := library()\n\tdefer remove()\n"); err != nil {
		t.Error(err)
	}
	for _, code := range []string{"", "ix, remove := library()\nremove()\n"} {
		if checkFragment(code) == nil {
			t.Errorf("%q is part of no example", code)
		}
	}
}

func TestBlocks(t *testing.T) {
	got := blocks("a\n```sh\none\n  two\n```\nb\n```text\n```\n")
	want := []block{{3, "sh", "one\n  two\n"}, {8, "text", ""}}
	if !slices.Equal(got, want) {
		t.Errorf("blocks = %v, want %v", got, want)
	}
}

func TestCheckMake(t *testing.T) {
	if err := checkMake([]string{"demo", "test", "FUZZTIME=1m"}); err != nil {
		t.Error(err)
	}
	if checkMake([]string{"nothing"}) == nil {
		t.Error("checkMake found a target that is not there")
	}
}
