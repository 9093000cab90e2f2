package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

type pseudoTerminal struct {
	t    *testing.T
	cmd  *exec.Cmd
	keys *os.File
	name string

	mu   sync.Mutex
	seen bytes.Buffer
	done chan struct{} // closed after the last output
}

// newConsole has a new terminal with 100 columns.
func newConsole(t *testing.T, cmd *exec.Cmd) *pseudoTerminal {
	t.Helper()
	keys, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("no terminals to be had: ", err)
		}
		t.Skip("no terminals to be had: ", err)
	}
	t.Cleanup(func() { keys.Close() })
	fd := int(keys.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0 /* unlocked */)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 30, Col: 100})
	}
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("/dev/pts/%d", number)
	screen, err := os.OpenFile(name, os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer screen.Close()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = screen, screen, screen
	cmd.Env = append(cmd.Env, "TERM=xterm")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	c := &pseudoTerminal{t: t, cmd: cmd, keys: keys, name: name, done: make(chan struct{})}
	go c.watch()
	return c
}

func (c *pseudoTerminal) watch() {
	defer close(c.done)
	buf := make([]byte, 4096)
	for {
		n, err := c.keys.Read(buf)
		c.mu.Lock()
		c.seen.Write(buf[:n])
		c.mu.Unlock()
		if err != nil { // EIO: the last user of the terminal has ended
			return
		}
	}
}

func (c *pseudoTerminal) screen() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen.String()
}

func (c *pseudoTerminal) waitFor(text string) {
	c.t.Helper()
	waitUntil(c.t, func() error {
		if screen := c.screen(); !strings.Contains(screen, text) {
			return fmt.Errorf("%q is not there:\n%q", text, screen)
		}
		return nil
	})
}

// waitUntilRead waits until the command has read all input.
func (c *pseudoTerminal) waitUntilRead() {
	c.t.Helper()
	waitUntil(c.t, func() error {
		f, err := os.OpenFile(c.name, os.O_RDWR|syscall.O_NOCTTY, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		n, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCINQ)
		if n > 0 {
			err = fmt.Errorf("%d bytes are not read", n)
		}
		return err
	})
}

func (c *pseudoTerminal) press(keys string) {
	c.t.Helper()
	if _, err := io.WriteString(c.keys, keys); err != nil {
		c.t.Fatal(err)
	}
}

func (c *pseudoTerminal) exitCode() int {
	c.t.Helper()
	err := c.cmd.Wait()
	<-c.done
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		c.t.Fatal(err)
	}
	return c.cmd.ProcessState.ExitCode()
}

const (
	keyCtrlC, keyCtrlD, keyBackspace = "\x03", "\x04", "\x7f"
	keyLeft, keyUp                   = "\x1b[D", "\x1b[A"
)

// The prompt edits lines, continues after errors and keeps its history.
func TestPrompt(t *testing.T) {
	dir := t.TempDir()
	index := filepath.Join(dir, "x.idx")
	makeIndex(t, index)
	prompt := func() *pseudoTerminal {
		cmd := griffinProcess(t, "search", index)
		cmd.Env = append(cmd.Env, "XDG_CACHE_HOME="+dir)
		c := newConsole(t, cmd)
		c.waitFor("griffin> ")
		return c
	}
	c := prompt()
	c.press("alphxa" + keyLeft + keyBackspace + "\r")
	c.waitFor("1 hit shown, 1 document searched")
	c.press("(alpha\r")
	c.waitFor("is not closed")
	c.press(keyCtrlD)
	if code := c.exitCode(); code != exitOK {
		t.Errorf("after Ctrl-D: exit code %d", code)
	}
	history, err := os.ReadFile(filepath.Join(dir, "griffin", "history"))
	if err != nil || string(history) != "alpha\n(alpha\n" {
		t.Errorf("history %q, %v", history, err)
	}

	c = prompt()
	c.press(keyUp + keyUp + "\r")
	c.waitFor("1 hit shown, 1 document searched")
	c.press("half a que")
	c.waitFor("half a que") // else Ctrl-C may reach the search
	c.press(keyCtrlC)
	if code := c.exitCode(); code != exitInterrupted {
		t.Errorf("after Ctrl-C: exit code %d, want %d", code, exitInterrupted)
	}
}

func TestTimelineWidth(t *testing.T) {
	index := filepath.Join(t.TempDir(), "x.idx")
	makeIndex(t, index)
	c := newConsole(t, griffinProcess(t, "search", index, "alpha", "--trace", "--color", "never"))
	if code := c.exitCode(); code != exitOK {
		t.Fatalf("exit code %d\n%q", code, c.screen())
	}
	_, text, found := strings.Cut(c.screen(), "├")
	axis, _, end := strings.Cut(text, "┤")
	if !found || !end {
		t.Fatalf("no axis:\n%s", c.screen())
	}
	// 99 columns: 4 and a space, "predicted" and a space, a space and 8 for a time, 2 ends.
	if want := strings.Repeat("─", 99-4-1-9-1-1-8-2); axis != want {
		t.Errorf("the axis is %q, want %q", axis, want)
	}
	if !strings.Contains(c.screen(), "█") {
		t.Errorf("no bars:\n%s", c.screen())
	}
}

func TestProgressBarInterrupted(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "docs.jsonl")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	feedFile, err := os.OpenFile(fifo, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	fed := make(chan struct{})
	go func() { defer close(fed); feed(t.Context(), feedFile) }()
	c := newConsole(t, griffinProcess(t, "index", "--format", "jsonl", "--out", filepath.Join(dir, "x.idx"), fifo))
	c.waitFor("MB/s")
	c.press(keyCtrlC)
	if code := c.exitCode(); code != exitInterrupted {
		t.Errorf("exit code %d, want %d\n%q", code, exitInterrupted, c.screen())
	}
	feedFile.Close()
	<-fed
	if !strings.HasSuffix(c.screen(), "griffin: interrupted\r\n") {
		t.Errorf("the last line is not the message: %q", c.screen())
	}
	if exists(filepath.Join(dir, "x.idx")) {
		t.Error("an index was left behind")
	}
}

func TestInterruptedInput(t *testing.T) {
	dir := t.TempDir()
	index := filepath.Join(dir, "x.idx")
	makeIndex(t, index)
	cmd := griffinProcess(t, "run", index, "--topics", "-")
	c := newConsole(t, cmd)
	c.press("1\talpha\n")
	c.waitFor("alpha") // the terminal echoes it; a command that reads handles signals
	c.waitUntilRead()
	c.press(keyCtrlC)
	if code := c.exitCode(); code != exitInterrupted {
		t.Errorf("exit code %d, want %d\n%q", code, exitInterrupted, c.screen())
	}
}

// The earlier results are printed.
func TestInterruptedLoadInProcess(t *testing.T) {
	dir := t.TempDir()
	index, queries := filepath.Join(dir, "x.idx"), filepath.Join(dir, "log.tsv")
	makeIndex(t, index)
	if err := os.WriteFile(queries, []byte("1\talpha\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := newConsole(t, griffinProcess(t, "load", index, "--queries", queries, "--rate", "200", "--warmup", "0s", "--for", "1h", "--soak", "--every", "50ms", "--wait", patience.String()))
	c.waitFor(" answered")
	c.press(keyCtrlC)
	if code := c.exitCode(); code != exitInterrupted {
		t.Errorf("exit code %d, want %d\n%q", code, exitInterrupted, c.screen())
	}
	if _, shown, _ := strings.Cut(c.screen(), "goodput/s"); !regexp.MustCompile(`(?m)^ +200 `).MatchString(shown) {
		t.Errorf("what there is is not shown:\n%s", c.screen())
	}
}

// A query is asked about before documents are deleted.
func TestDeleteAsks(t *testing.T) {
	index := filepath.Join(t.TempDir(), "x.idx")
	makeIndex(t, index)
	for _, c := range []struct {
		answer, want string
		code         int
	}{
		{"n\r", "0 documents deleted", exitOK},
		{"\r", "0 documents deleted", exitOK},
		{keyCtrlC, "interrupted", exitInterrupted},
		{"y\r", "1 document deleted", exitOK},
		{"", "0 documents deleted", exitOK}, // nothing to ask about
	} {
		console := newConsole(t, griffinProcess(t, "delete", index, "--query", "alpha"))
		if c.answer != "" {
			console.waitFor("Delete 1 document of " + index + "? [y/N] ")
			console.press(c.answer)
		}
		console.waitFor(c.want)
		if code := console.exitCode(); code != c.code {
			t.Errorf("answer %q: exit code %d, want %d\n%q", c.answer, code, c.code, console.screen())
		}
	}
}
