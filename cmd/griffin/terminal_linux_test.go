package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// console is a command at a terminal of its own: what a person types and sees.
type console struct {
	t    *testing.T
	cmd  *exec.Cmd
	keys *os.File

	mu   sync.Mutex
	seen bytes.Buffer
	done chan struct{} // closed when all output has been seen
}

// newConsole starts a command at a new terminal with 100 columns.
func newConsole(t *testing.T, cmd *exec.Cmd) *console {
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
	screen, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
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
	c := &console{t: t, cmd: cmd, keys: keys, done: make(chan struct{})}
	go c.watch()
	return c
}

func (c *console) watch() {
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

func (c *console) screen() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen.String()
}

// waitFor waits until the text has been written n times.
func (c *console) waitFor(text string, n int) {
	c.t.Helper()
	for range 1000 {
		if strings.Count(c.screen(), text) >= n {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	c.t.Fatalf("%q is not there %d times:\n%q", text, n, c.screen())
}

func (c *console) press(keys string) {
	c.t.Helper()
	if _, err := io.WriteString(c.keys, keys); err != nil {
		c.t.Fatal(err)
	}
}

// exitCode waits for the command to end.
func (c *console) exitCode() int {
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

// The prompt edits lines, tells faults and goes on, and keeps its history for
// the next time.
func TestPrompt(t *testing.T) {
	dir := t.TempDir()
	index := filepath.Join(dir, "x.idx")
	makeIndex(t, index)
	prompt := func() *console {
		cmd := griffinProcess(t, "search", index)
		cmd.Env = append(cmd.Env, "XDG_CACHE_HOME="+dir)
		c := newConsole(t, cmd)
		c.waitFor("griffin> ", 1)
		return c
	}
	c := prompt()
	c.press("alphxa" + keyLeft + keyBackspace + "\r")
	c.waitFor("1 hit of 1 document", 1)
	c.press("(alpha\r")
	c.waitFor("is not closed", 1)
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
	c.waitFor("1 hit of 1 document", 1)
	c.press("half a que" + keyCtrlC)
	if code := c.exitCode(); code != exitInterrupted {
		t.Errorf("after Ctrl-C: exit code %d, want %d", code, exitInterrupted)
	}
}

// At a terminal the timeline of --trace is as wide as that.
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
	// Of 99 columns: 4 and a blank, "predicted" and a blank, a blank and 8 for a time, 2 ends.
	if want := strings.Repeat("─", 99-4-1-9-1-1-8-2); axis != want {
		t.Errorf("the axis is %q, want %q", axis, want)
	}
	if !strings.Contains(c.screen(), "█") {
		t.Errorf("no bars:\n%s", c.screen())
	}
}

// At a terminal long work shows a bar, which Ctrl-C removes with all the rest.
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
	c.waitFor("MB/s", 1)
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

// A command that waits for someone to type ends with Ctrl-C.
func TestInterruptedInput(t *testing.T) {
	dir := t.TempDir()
	index := filepath.Join(dir, "x.idx")
	makeIndex(t, index)
	cmd := griffinProcess(t, "run", index, "--topics", "-")
	c := newConsole(t, cmd)
	c.press("1\talpha\n")
	c.waitFor("alpha", 1)
	time.Sleep(100 * time.Millisecond) // the signal handler is not to be seen from here
	c.press(keyCtrlC)
	if code := c.exitCode(); code != exitInterrupted {
		t.Errorf("exit code %d, want %d\n%q", code, exitInterrupted, c.screen())
	}
}
