// Gpu compares the speed of the GPU's search on images
// (internal/gpu/imagesearch) with the CPU engine, and writes JSON.
//
//	go run ./bench/gpu -base wiki.idx -queries tb06.tsv -json gpu.json
//
// # Measurements
//
// There are three collections, all resident on the device. gov2 (25.2 million documents) and
// gov (1.05 million) are generated from the base index and the query log by the method of
// griffin lab generate (docs/lab/collections.md). sparse has 8.8 million vectors of 120
// weights (sparse.go). Decoding lists on the CPU and building images on the device are not
// part of the times.
//
// Queries per second of batches are wall-clock figures with two alternating
// batches. Device time is between two events around one batch. Single queries
// are timed from the call to the hits in the caller's memory. The CPU runs the
// same queries with the planner's traversal, on one thread and on all.
// Different hits are an error.
//
// With -packed, single queries run on compressed lists
// (internal/gpu/packedsearch) in device memory and in page-locked host memory.
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

type options struct {
	base, queries, json, commit string
	collections                 []string
	docs                        int
	seconds                     float64
	cpuQueries                  int
	batches, first              int
	only                        string
	packed, compact             bool
}

func parseOptions(args []string) (o options, err error) {
	flags := flag.NewFlagSet("gpu", flag.ContinueOnError)
	flags.StringVar(&o.base, "base", "", "index to generate collections from; existing collections next to it are reused")
	flags.StringVar(&o.queries, "queries", "", "query log")
	flags.StringVar(&o.json, "json", "", "write the result to this file")
	flags.StringVar(&o.commit, "commit", "", "commit to record in the result")
	names := flags.String("collections", "gov2,gov,sparse", "collections to measure")
	flags.IntVar(&o.docs, "docs", 0, "documents of each collection; 0: the published number")
	flags.Float64Var(&o.seconds, "seconds", 0.5, "time for each figure")
	flags.IntVar(&o.cpuQueries, "cpu", 200, "queries to run on the CPU and to compare")
	flags.IntVar(&o.batches, "batches", 0, "maximum runs of each batch, without other measurements, for a profiler; 0: no limit")
	flags.StringVar(&o.only, "only", "", "prefix of the kinds of query to measure")
	flags.BoolVar(&o.packed, "packed", false, "measure queries on compressed lists instead of images")
	flags.BoolVar(&o.compact, "compact", false, "make compact images")
	flags.IntVar(&o.first, "first", 0, "number of queries to use, and maximum batch size; 0: all")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	o.collections = strings.Split(*names, ",")
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	return o, nil
}

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

// each writes the result after each collection, so that a failure keeps the figures of the
// others, and returns the errors joined.
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
	if o.packed {
		stats = &collectionStats{Name: c.name, Documents: c.numDocs, Lists: len(c.lists)}
		stats.Packed, err = measurePacked(ctx, o, device, c)
	} else {
		stats, err = measure(ctx, o, device, copyGBs, c)
	}
	if err == nil {
		fmt.Printf("%s took %.1f s\n", name, time.Since(began).Seconds())
	}
	return stats, err
}

// In GB/s of bytes read and written within device memory.
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
