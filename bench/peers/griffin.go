package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// Griffin is measured through its command, as users have it.

// buildGriffin compiles the command of the module that this one replaces.
func buildGriffin(ctx context.Context, dir string) (string, error) {
	binary := filepath.Join(dir, "griffin")
	_, err := runCommand(ctx, 0, "go", "build", "-o", binary, "github.com/griffin-search/griffin/cmd/griffin")
	return binary, err
}

// measureGriffin indexes the passages into dir and times the queries.
func measureGriffin(ctx context.Context, binary, dir string, in subset, queries string, threads int, search searchOptions) (engineResult, error) {
	version, err := runCommand(ctx, 0, binary, "version")
	if err != nil {
		return engineResult{}, err
	}
	result := engineResult{Engine: string(bytes.TrimSpace(firstLine(version)))}

	started := time.Now()
	_, err = runCommand(ctx, threads, binary, "index", "--out", dir, "--format", "jsonl", "--analyzer", "simple", in.path)
	if err != nil {
		return engineResult{}, err
	}
	result.IndexSeconds = time.Since(started).Seconds()
	if result.IndexBytes, err = folderBytes(dir); err != nil {
		return engineResult{}, err
	}
	if result.Or, err = griffinBench(ctx, binary, dir, queries, "or", "block-max-maxscore", search); err != nil {
		return engineResult{}, err
	}
	result.And, err = griffinBench(ctx, binary, dir, queries, "and", "svs", search)
	return result, err
}

// griffinBench runs griffin bench and reads its figures.
func griffinBench(ctx context.Context, binary, dir, queries, mode, traversal string, search searchOptions) (queryResult, error) {
	out, err := runCommand(ctx, 0, binary, "bench", dir,
		"--queries", queries, "--mode", mode, "--traversal", traversal,
		"--k", strconv.Itoa(search.k), "--runs", strconv.Itoa(search.runs), "--threads", "1", "--json")
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

// runCommand returns what a command prints; threads above 0 bounds a Go
// program's processors. Its error output is shown as it comes.
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

func firstLine(text []byte) []byte {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	return line
}
