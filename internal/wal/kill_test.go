package wal

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/sampletest"
	"github.com/griffin-search/griffin/internal/selftest"
	"github.com/griffin-search/griffin/internal/vfs"
)

const (
	childVariable = "GRIFFIN_WAL_CHILD" // the folder of a child process that is killed
	killsVariable = "GRIFFIN_WAL_KILLS" // how often TestKill kills
)

// TestKill kills processes that append, with SIGKILL, again and again on the same log.
func TestKill(t *testing.T) {
	if dir := os.Getenv(childVariable); dir != "" {
		if err := appendUntilKilled(dir, os.Stdout); err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
	}
	kills := 3
	if sampletest.All() {
		kills = 100
	}
	if n, err := strconv.Atoi(os.Getenv(killsVariable)); err == nil {
		kills = n
	}
	dir := filepath.Join(t.TempDir(), testDir)
	h := newHistory()
	for range kills {
		killOnce(t, dir, h)
		l, err := Open(vfs.OS, dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		h.check(t, l, true)
		mustClose(t, l)
	}
	if len(h.acked) == 0 {
		t.Error("no child acknowledged anything")
	}
}

// killOnce runs a child until it is killed, and adds its output to h.
func killOnce(t *testing.T, dir string, h *history) {
	t.Helper()
	child := selftest.Command(t, "wal", "-test.run=^TestKill$")
	child.Env = append(os.Environ(), childVariable+"="+dir, "GRIFFIN_WAL_NEXT="+strconv.FormatUint(h.next, 10))
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	kill := sync.OnceFunc(func() {
		time.AfterFunc(time.Duration(rand.IntN(150))*time.Millisecond, func() { _ = child.Process.Kill() })
	})
	for lines.Scan() {
		if len(h.acked) > 0 { // a child before has acknowledged something, or this one
			kill()
		}
		var what string
		var batch, first uint64
		if _, err := fmt.Sscan(lines.Text(), &what, &batch, &first); err != nil {
			continue // cut off
		}
		switch what {
		case "try":
			h.tried[batch] = int(first)
			h.next = max(h.next, batch+1)
		case "ack":
			h.acked[batch] = Seq(first)
			kill()
		case "keep":
			h.kept = max(h.kept, Seq(batch))
		case "error":
			t.Fatal(lines.Text())
		}
	}
	if err := child.Wait(); err == nil {
		t.Fatal("the child ended before it was killed")
	}
}

func appendUntilKilled(dir string, out io.Writer) error {
	l, err := Open(vfs.OS, dir, Options{FileBytes: 1 << 20})
	if err != nil {
		return err
	}
	next, err := strconv.ParseUint(os.Getenv("GRIFFIN_WAL_NEXT"), 10, 64)
	if err != nil {
		return err
	}
	errs := make(chan error)
	for g := range uint64(4) {
		go func() {
			for batch := next + g; ; batch += 4 {
				n := 1 + int(batch%5)
				fmt.Fprintln(out, "try", batch, n)
				records := make([]Record, n)
				for i := range records {
					records[i] = Record{Type: byte(batch), Payload: payload(nil, batch, i, n, 10+int(batch*7919%4000))}
				}
				first, err := l.Append(records)
				if err != nil {
					errs <- err
					return
				}
				fmt.Fprintln(out, "ack", batch, first)
				if batch%100 == 0 {
					keep := first - min(first-1, 50)
					fmt.Fprintln(out, "keep", uint64(keep), 0)
					if err := l.TruncateFront(keep); err != nil {
						errs <- err
						return
					}
				}
			}
		}()
	}
	return <-errs
}
