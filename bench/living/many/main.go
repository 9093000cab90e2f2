// Command many measures an index of many small generated documents, some of which are updated and
// deleted while it grows: rates, the time to show a change, memory, segments and the bytes written;
// then the times to open it after a clean end, and after a kill that leaves a long log. The result is
// JSON.
//
//	go run ./bench/living/many --docs 10000000 --dir /var/tmp --json result.json
//
// Documents have 164 bytes of words in the mean whose frequencies follow Zipf's law. They depend on their
// number and version only. Of 13 writes, 10 add a document, 2 replace one and 1 deletes one.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/bench/living/process"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/living"
	"github.com/griffin-search/griffin/internal/vfs"
)

type options struct {
	dir, json, profiles  string
	docs, clients, batch int
	parts, words         int
	memory, logBytes     int64
	flushBytes           int64
	quiet                time.Duration
	lost, child          bool
}

// report is the result. Sizes and rates are of titles and texts unless they say otherwise.
type report struct {
	Time       time.Time `json:"time"`
	Machine    string    `json:"machine"`
	Processors int       `json:"processors"`
	Command    string    `json:"command"`

	Added         int     `json:"added"`
	Replaced      int     `json:"replaced"`
	Deleted       int     `json:"deleted"`
	Live          int     `json:"live"`
	Seconds       float64 `json:"seconds"` // of writing, with its pauses for the samples
	WritesPerSec  float64 `json:"writes_per_second"`
	MBPerSecond   float64 `json:"mb_per_second"`
	WrittenByByte float64 `json:"written_per_byte"` // to the disk
	IndexBytes    int64   `json:"index_bytes"`

	Samples []sample `json:"samples"`
	Settled sample   `json:"settled"` // when merges have ended

	Open   reopening `json:"open_after_close"`
	Replay reopening `json:"open_with_log"`
}

// reopening is a new process that opens the index for reading and writing.
type reopening struct {
	Millis float64 `json:"ms"` // until it can be searched and written
	// ReadMillis is the part until it can be searched, as of the last commit.
	ReadMillis  float64 `json:"read_ms"`
	LogBytes    int64   `json:"log_bytes"`
	CPUSeconds  float64 `json:"cpu_seconds"` // of the process, which also closes the index
	MBPerSecond float64 `json:"log_mb_per_second,omitempty"`
	PeakRSS     int64   `json:"peak_rss_bytes"` // with mapped files
	Documents   int     `json:"documents"`
}

func main() {
	var o options
	flag.StringVar(&o.dir, "dir", os.TempDir(), "folder for the index")
	flag.StringVar(&o.json, "json", "", "write the result to this file instead of standard output")
	flag.StringVar(&o.profiles, "profiles", "", "write a CPU profile of each part of the writes to this folder")
	flag.IntVar(&o.docs, "docs", 10_000_000, "documents to add")
	flag.IntVar(&o.clients, "clients", 4, "concurrent writers")
	flag.IntVar(&o.batch, "batch", 1000, "writes of a call")
	flag.IntVar(&o.parts, "parts", 10, "samples are taken after equal parts of the writes")
	flag.IntVar(&o.words, "words", 500_000, "distinct words")
	flag.Int64Var(&o.memory, "memory", 0, "bytes of WriterOptions.MemoryBytes")
	flag.DurationVar(&o.quiet, "quiet", 2*time.Second, "merges have ended when the segments stay the same for this time")
	flag.Int64Var(&o.logBytes, "log", 1<<30, "bytes of log to replay; 0: do not measure it")
	flag.Int64Var(&o.flushBytes, "flush", 1<<40, "bytes of WriterOptions.FlushBytes while the log is filled; 0: the default. If less than --log, texts of --log bytes are written")
	flag.BoolVar(&o.lost, "lost", false, "remove the checkpoint before the log is replayed, so that all of it is")
	flag.BoolVar(&o.child, "child", false, "for the program itself: open the index in --dir")
	flag.Parse()
	err := o.check()
	switch {
	case err != nil:
	case o.child:
		err = child(context.Background(), o)
	default:
		err = run(context.Background(), o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "many:", err)
		os.Exit(1)
	}
}

func (o *options) check() error {
	if o.docs < 1 || o.clients < 1 || o.batch < 1 || o.parts < 1 || o.words < 2 || o.memory < 0 || o.logBytes < 0 || o.flushBytes < 0 {
		return errors.New("a number is too small; see --help")
	}
	if o.lost && o.logBytes == 0 {
		return errors.New("--lost needs a log: --log must not be 0")
	}
	return nil
}

// flushes is the size of the log at which it is flushed while it is filled.
func (o *options) flushes() int64 {
	if o.flushBytes == 0 {
		return living.DefaultFlushBytes
	}
	return o.flushBytes
}

func run(ctx context.Context, o options) error {
	r, err := measure(ctx, o)
	if err != nil {
		return err
	}
	out, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if o.json != "" {
		return os.WriteFile(o.json, append(out, '\n'), 0o600)
	}
	fmt.Println(string(out))
	return nil
}

func measure(ctx context.Context, o options) (r *report, err error) {
	dir, err := os.MkdirTemp(o.dir, "many")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "ix")
	r = &report{
		Time: time.Now().UTC().Truncate(time.Second), Machine: runtime.GOOS + "/" + runtime.GOARCH + ", " + runtime.Version(),
		Processors: runtime.GOMAXPROCS(0), Command: command(),
	}
	b := newBench(o)
	if err := b.grow(ctx, path, r); err != nil {
		return nil, err
	}
	if r.Open, err = reopen(ctx, o, path, 0); err != nil {
		return nil, err
	}
	if r.Open.Documents != r.Live {
		return nil, fmt.Errorf("%d documents after it was opened, want %d", r.Open.Documents, r.Live)
	}
	if o.logBytes > 0 {
		if err := fillLog(ctx, o, path); err != nil {
			return nil, err
		}
		if o.lost {
			if err := os.Remove(filepath.Join(path, index.CheckpointName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
		}
		if r.Replay, err = reopen(ctx, o, path, folderBytes(filepath.Join(path, logFolder))); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// reopen opens the index in a new process.
func reopen(ctx context.Context, o options, path string, logBytes int64) (r reopening, err error) {
	cmd, err := childCommand(ctx, o, path, "--log", "0")
	if err != nil {
		return r, err
	}
	out, err := cmd.Output()
	if err != nil {
		return r, fmt.Errorf("%s: %w", cmd, err)
	}
	if err := json.Unmarshal(out, &r); err != nil {
		return r, fmt.Errorf("%s: %w", cmd, err)
	}
	r.CPUSeconds = (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	if r.LogBytes = logBytes; logBytes > 0 {
		r.MBPerSecond = float64(logBytes) / 1e6 / (r.Millis / 1000)
	}
	return r, nil
}

// fillLog makes a new process write until the log has its size, and kills it.
func fillLog(ctx context.Context, o options, path string) (err error) {
	cmd, err := childCommand(ctx, o, path, "--log", fmt.Sprint(o.logBytes))
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	var full string
	_, readErr := fmt.Fscanln(out, &full)
	killErr := cmd.Process.Kill()
	_ = cmd.Wait() // it was killed
	if full != logIsFull {
		return fmt.Errorf("%s: the process that fills the log has failed: %w", cmd, errors.Join(readErr, killErr))
	}
	return killErr
}

const logIsFull = "full"

func childCommand(ctx context.Context, o options, path string, args ...string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args = append([]string{
		"--child", "--dir", path, "--docs", fmt.Sprint(o.docs), "--batch", fmt.Sprint(o.batch), "--clients", fmt.Sprint(o.clients),
		"--words", fmt.Sprint(o.words), "--memory", fmt.Sprint(o.memory), "--flush", fmt.Sprint(o.flushBytes), "--profiles", o.profiles,
	}, args...)
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Stderr = os.Stderr
	return cmd, nil
}

// child opens the index, fills the log or reports the times.
func child(ctx context.Context, o options) (err error) {
	began := time.Now()
	ix, err := griffin.Open(o.dir, griffin.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ix.Close()) }()
	r := reopening{ReadMillis: ms(time.Since(began))}
	stop, err := o.profile("open")
	if err != nil {
		return err
	}
	w, err := ix.Writer(ctx, o.writer(o.flushBytes)) // by default without a flush
	if err := errors.Join(err, stop()); err != nil {
		return err
	}
	r.Millis = ms(time.Since(began))
	defer func() { err = errors.Join(err, w.Close(ctx)) }()
	if o.logBytes > 0 {
		return fill(ctx, o, w)
	}
	stats, err := ix.Stats()
	if err != nil {
		return err
	}
	r.Documents, r.PeakRSS = stats.NumDocs, process.Self().Memory().Peak
	return json.NewEncoder(os.Stdout).Encode(r)
}

// fill writes documents, in the usual mix, until the log has its size; then it waits to be killed.
func fill(ctx context.Context, o options, w *griffin.Writer) error {
	b := newBench(o)
	b.w = w
	for i := range b.streams {
		b.streams[i].skip(o.docs) // new ids
	}
	stop, err := o.profile("log")
	if err != nil {
		return err
	}
	written := func() int64 {
		if o.flushes() <= o.logBytes { // the log does not grow to its size
			return b.bytes.Load()
		}
		return folderBytes(filepath.Join(o.dir, logFolder))
	}
	for written() < o.logBytes && err == nil {
		err = b.write(ctx, o.clients*o.batch*10)
	}
	if err := errors.Join(err, stop()); err != nil {
		return err
	}
	fmt.Println(logIsFull)
	<-ctx.Done()
	select {}
}

func (o *options) writer(flushBytes int64) griffin.WriterOptions {
	return griffin.WriterOptions{
		MemoryBytes: o.memory, FlushBytes: flushBytes,
		OnError: func(err error) { slog.Error("in the background", "error", err) },
	}
}

// command is without folders, which differ between machines.
func command() string {
	words := []string{"many"}
	for _, arg := range os.Args[1:] {
		words = append(words, filepath.Base(arg))
	}
	return strings.Join(words, " ")
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// folderBytes is the size of the files in a folder, 0 if there is none.
func folderBytes(dir string) (total int64) {
	names, err := vfs.OS.ReadDir(dir)
	if err != nil {
		return 0
	}
	for _, name := range names {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil && !info.IsDir() {
			total += info.Size()
		}
	}
	return total
}
