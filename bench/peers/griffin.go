package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// The griffin command, as users run it.
type griffinEngine struct {
	binary  string
	dir     string
	in      subset
	queries string // TSV
	threads int
	search  searchOptions
}

var _ engine = (*griffinEngine)(nil)

// In the main module's folder, because its dependencies are not this module's.
func buildGriffin(ctx context.Context, dir string) (string, error) {
	module, err := runCommand(ctx, 0, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/griffin-search/griffin")
	if err != nil {
		return "", err
	}
	binary := filepath.Join(dir, "griffin")
	_, err = runCommand(ctx, 0, "go", "-C", string(bytes.TrimSpace(module)), "build", "-o", binary, "./cmd/griffin")
	return binary, err
}

func (e *griffinEngine) name(ctx context.Context) (string, error) {
	version, err := runCommand(ctx, 0, e.binary, "version")
	line, _, _ := bytes.Cut(version, []byte("\n"))
	return string(bytes.TrimSpace(line)), err
}

// The whole command, which ends with an index of one segment on disk.
func (e *griffinEngine) build(ctx context.Context) (buildTimes, error) {
	if err := os.RemoveAll(e.dir); err != nil {
		return buildTimes{}, err
	}
	started := time.Now()
	_, err := runCommand(ctx, e.threads, e.binary, "index", "--quiet", "--out", e.dir, "--format", "jsonl", "--no-positions", "--analyzer", "simple", e.in.path)
	elapsed := time.Since(started).Seconds()
	return buildTimes{OnDisk: elapsed, OneSegment: elapsed}, err
}

func (e *griffinEngine) indexBytes() (int64, error) { return folderBytes(e.dir) }

func (e *griffinEngine) close() error { return nil }

func (e *griffinEngine) query(ctx context.Context, mode queryMode) (queryResult, error) {
	traversal := "block-max-maxscore"
	if mode == modeAnd {
		traversal = "svs"
	}
	out, err := runCommand(ctx, 0, e.binary, "bench", e.dir,
		"--queries", e.queries, "--mode", string(mode), "--traversal", traversal,
		"--k", strconv.Itoa(e.search.k), "--runs", strconv.Itoa(e.search.runs), "--threads", "1", "--json")
	if err != nil {
		return queryResult{}, err
	}
	var result queryResult
	if err := json.Unmarshal(out, &result); err != nil {
		return queryResult{}, fmt.Errorf("output of griffin bench: %w", err)
	}
	if result.Latency.Mean <= 0 {
		return queryResult{}, fmt.Errorf("griffin bench reports no latency_us.mean in %q", out)
	}
	return result, nil
}

// runCommand returns standard output and forwards error output; threads above 0
// limits a Go program's CPUs.
func runCommand(ctx context.Context, threads int, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stderr = os.Stderr
	if threads > 0 {
		cmd.Env = append(os.Environ(), "GOMAXPROCS="+strconv.Itoa(threads))
	}
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", cmd, err)
	}
	return out, nil
}

func folderBytes(dir string) (int64, error) {
	var total int64
	err := filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		total += info.Size()
		return nil
	})
	return total, err
}
