package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/load"
)

// An interrupted measurement ends soon, with exit code 130, and shows what there is. On a
// busy machine it may not have begun by then: it has a second and a third chance.
func TestInterruptedLoad(t *testing.T) {
	dir := t.TempDir()
	makeIndex(t, filepath.Join(dir, "x.idx"))
	queries := filepath.Join(dir, "log.tsv")
	if err := os.WriteFile(queries, []byte("1\talpha\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"load", filepath.Join(dir, "x.idx"), "--queries", queries, "--rate", "200", "--warmup", "0s", "--for", "1h", "--json"}
	for _, soak := range []bool{false, true} {
		if soak {
			args = append(args, "--soak", "--every", "50ms", "--readings", filepath.Join(dir, "soak.jsonl"))
		}
		var err error
		for _, after := range []time.Duration{time.Second, 5 * time.Second, 20 * time.Second} {
			if err = interruptLoad(griffinProcess(t, args...), after, soak); err == nil {
				break
			}
			t.Logf("soak=%t, after %v: %v", soak, after, err)
		}
		if err != nil {
			t.Errorf("soak=%t: %v", soak, err)
		}
	}
	if lines, err := os.ReadFile(filepath.Join(dir, "soak.jsonl")); err != nil || !bytes.HasSuffix(lines, []byte("}\n")) {
		t.Errorf("readings %q, %v", lines, err)
	}
}

// interruptLoad runs griffin load, interrupts it, and says what is wrong with how it ends.
func interruptLoad(cmd *exec.Cmd, after time.Duration, soak bool) error {
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Start(); err != nil {
		return err
	}
	time.Sleep(after)
	began := time.Now()
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	err := cmd.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != exitInterrupted || time.Since(began) > 10*time.Second {
		return fmt.Errorf("it ended after %v with %w\n%s", time.Since(began), err, &errOut)
	}
	var r struct {
		Points  []load.Point
		Samples []load.Sample
		Error   jsonError
	}
	if err := json.Unmarshal(out.Bytes(), &r); err != nil { // one document, error and all
		return err
	}
	if r.Error.ExitCode != exitInterrupted || len(r.Points) != 1 || r.Points[0].Answered == 0 || r.Points[0].Faulty() != 0 || r.Points[0].Took > time.Minute || soak != (len(r.Samples) > 0) {
		return fmt.Errorf("%+v, %d samples", r.Points, len(r.Samples))
	}
	return nil
}
