// Gpu times the fast path of the GPU engine (internal/gpu/fastpath) against the CPU
// engine, on one machine and in one run, and writes the result as JSON.
//
//	go run ./bench/gpu -base wiki.idx -queries tb06.tsv -json gpu.json
//
// # What is measured
//
// Three collections, all resident on the device: gov2, 25.2 million documents, and gov,
// 1.05 million, generated from the base index and the log of queries as griffin lab
// generate does (docs/lab/collections.md), and sparse, 8.8 million vectors of 120
// weights, made here (sparse.go). Lists are decoded on the CPU and made into images on
// the device; that is not timed.
//
// Queries per second of batches are by the wall clock, with two batches taking turns:
// the host writes one while the device answers the other, and all hits are read. Device
// time is that of one batch between two events. Single queries are timed one by one,
// from the call to the hits in the caller's memory. The CPU answers the same queries
// with the traversal that the planner would choose, on one thread and on all. Before
// anything is timed, answers are compared: a difference is an error.
//
// With -direct, single queries run on compressed lists where they lie (internal/gpu/direct),
// in device memory and in page-locked host memory, and are compared in the same way.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"time"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "gpu:", err)
		os.Exit(1)
	}
}

// options are the program's flags.
type options struct {
	base, queries, json, commit string
	collections                 []string
	docs                        int
	seconds                     float64
	cpuQueries                  int
	batches, first              int
	only                        string
	direct                      bool
}

func parseOptions(args []string) (o options, err error) {
	flags := flag.NewFlagSet("gpu", flag.ContinueOnError)
	flags.StringVar(&o.base, "base", "", "index to generate collections of, or folder of generated ones (gov2.idx beside gov2.idx.queries.tsv)")
	flags.StringVar(&o.queries, "queries", "", "log of queries")
	flags.StringVar(&o.json, "json", "", "write the result to this file")
	flags.StringVar(&o.commit, "commit", "", "what is measured, for the result")
	names := flags.String("collections", "gov2,gov,sparse", "what to measure")
	flags.IntVar(&o.docs, "docs", 0, "documents of each collection, 0 for as many as it has")
	flags.Float64Var(&o.seconds, "seconds", 0.5, "time for each figure")
	flags.IntVar(&o.cpuQueries, "cpu", 200, "queries that the CPU answers, and that are compared")
	flags.IntVar(&o.batches, "batches", 0, "only run each batch so many times, for a profiler")
	flags.StringVar(&o.only, "only", "", "only the kinds of query whose names begin so")
	flags.BoolVar(&o.direct, "direct", false, "measure queries on compressed lists where they lie in place of the fast path")
	flags.IntVar(&o.first, "first", 0, "only the first so many queries, in batches of at most as many")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	o.collections = strings.Split(*names, ",")
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	return o, nil
}

// result is what is written.
type result struct {
	Program     string             `json:"program"`
	Commit      string             `json:"commit"`
	Date        string             `json:"date"`
	Device      string             `json:"device"`
	Driver      int                `json:"driver"`
	Processors  int                `json:"processors"`
	CopyGBs     float64            `json:"copy_gb_s"`
	Collections []*collectionStats `json:"collections"`
}

func run(ctx context.Context, args []string) error {
	o, err := parseOptions(args)
	if err != nil {
		return err
	}
	library, err := cuda.Load("")
	if err != nil {
		return err
	}
	device, err := library.Open(0)
	if err != nil {
		return err
	}
	info := device.Info()
	r := &result{
		Program: "bench/gpu", Commit: o.commit, Date: time.Now().UTC().Format(time.RFC3339),
		Device: info.Name, Driver: info.DriverVersion, Processors: runtime.NumCPU(),
	}
	if r.CopyGBs, err = copyBandwidth(device); err != nil {
		return err
	}
	fmt.Printf("%s, %d processors, copies %.0f GB/s\n", r.Device, r.Processors, r.CopyGBs)
	return r.each(&o, func(name string) (*collectionStats, error) {
		return measureCollection(ctx, &o, device, r.CopyGBs, name)
	})
}

// each measures the collections, and writes the result after each, so that one that fails, or
// ends the program, leaves the others'.
func (r *result) each(o *options, measure func(name string) (*collectionStats, error)) error {
	var errs []error
	for _, name := range o.collections {
		stats, err := measure(name)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
			fmt.Printf("%s failed: %v\n", name, err)
			continue
		}
		r.Collections = append(r.Collections, stats)
		if o.json == "" {
			continue
		}
		data, err := json.MarshalIndent(r, "", "  ")
		if err == nil {
			err = os.WriteFile(o.json, append(data, '\n'), 0o644)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// measureCollection makes or opens a collection, and measures it.
func measureCollection(ctx context.Context, o *options, device *cuda.Device, copyGBs float64, name string) (stats *collectionStats, err error) {
	began := time.Now()
	c, err := open(ctx, o, name)
	if err != nil {
		return nil, err
	}
	defer runtime.GC()
	defer c.close()
	if o.first > 0 {
		c.queries = c.queries[:min(o.first, len(c.queries))]
	}
	fmt.Printf("\n%s: %d documents, %d lists, %d queries in %.1f s\n", name, c.numDocs, len(c.lists), len(c.queries), time.Since(began).Seconds())
	began = time.Now()
	if o.direct {
		stats = &collectionStats{Name: c.name, Documents: c.numDocs, Lists: len(c.lists)}
		stats.Direct, err = measureDirect(ctx, o, device, c)
	} else {
		stats, err = measure(ctx, o, device, copyGBs, c)
	}
	if err == nil {
		fmt.Printf("%s took %.1f s\n", name, time.Since(began).Seconds())
	}
	return stats, err
}

// copyBandwidth is what copies in device memory move, bytes read and written, in GB/s.
func copyBandwidth(d *cuda.Device) (float64, error) {
	free, _, err := d.MemInfo()
	if err != nil {
		return 0, err
	}
	size := int(min(free/8, 1<<30))
	s, err := d.NewStream()
	if err != nil {
		return 0, err
	}
	from, err := cuda.Alloc[byte](d, size)
	if err != nil {
		return 0, err
	}
	to, err := cuda.Alloc[byte](d, size)
	if err != nil {
		return 0, err
	}
	begun, err := d.NewEvent(true)
	if err != nil {
		return 0, err
	}
	ended, err := d.NewEvent(true)
	if err != nil {
		return 0, err
	}
	errs := []error{cuda.Fill(s, from, 1), cuda.CopyDevice(s, to, from), s.Record(begun)}
	const times = 10
	for range times {
		errs = append(errs, cuda.CopyDevice(s, to, from))
	}
	errs = append(errs, s.Record(ended), s.Synchronize())
	took, err := ended.Elapsed(begun)
	errs = append(errs, err, from.Free(), to.Free(), begun.Close(), ended.Close(), s.Close())
	return 2 * float64(size) * times / took.Seconds() / 1e9, errors.Join(errs...)
}
