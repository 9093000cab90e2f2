package main

import (
	"context"

	"github.com/spf13/pflag"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/exec"
)

// deviceFlags say where queries run.
type deviceFlags struct {
	device string
	memory string
}

func (d *deviceFlags) register(f *pflag.FlagSet, device string) {
	f.StringVar(&d.device, "device", device, "where queries run: cpu, gpu (all there are), auto (those, if any), or their `NUMBERS`, as 0,1 (see griffin devices)")
	f.StringVar(&d.memory, "gpu-memory", "", "most `MEMORY` of each GPU for posting lists: 40GiB, or 10% of the index (default: most of what is free)")
}

// check returns a usage error if a flag cannot be read.
func (d *deviceFlags) check() error { return badFlags(d.options().Check()) }

func (d *deviceFlags) options() exec.GPUOptions {
	return exec.GPUOptions{Device: d.device, Memory: d.memory}
}

// openOptions returns the options that the flags stand for.
func (d *deviceFlags) openOptions() []griffin.Option {
	return []griffin.Option{griffin.WithDevice(d.device), griffin.WithGPUMemory(d.memory)}
}

// residentFlag asks for lists to be brought to the GPUs beforehand.
type residentFlag struct{ minDocFreq uint32 } // 0: it does not

func (r *residentFlag) register(f *pflag.FlagSet) {
	f.Uint32Var(&r.minDocFreq, "resident", 0, "bring posting lists to the GPUs first: all, or with =`N` those of at least N documents")
	f.Lookup("resident").NoOptDefVal = "1"
}

// warmer is an Index or a GPU with a snapshot.
type warmer func(ctx context.Context, o exec.WarmOptions) (lists, total int64, err error)

// check returns a usage error if lists are to be brought to GPUs where the flags want
// none.
func (r residentFlag) check(d *deviceFlags) error {
	if r.minDocFreq > 0 && (d.device == "" || d.device == "cpu") {
		return usagef("--resident brings posting lists to a GPU: name one with --device gpu")
	}
	return nil
}

// warm brings lists to the GPUs with a progress bar. A GPU that fails at it is no error:
// the CPU answers where it cannot.
func (a *app) warm(ctx context.Context, r residentFlag, impacts bool, warm warmer) error {
	if r.minDocFreq == 0 {
		return nil
	}
	bar := a.newProgress()
	lists, total, err := warm(ctx, exec.WarmOptions{
		MinDocFreq: r.minDocFreq, Impacts: impacts, Progress: bar.items("resident", "postings"),
	})
	bar.close()
	if exec.IsGPUError(err) {
		a.notef("posting lists were not all brought to the GPU, the CPU answers where it cannot: %v", err)
		return nil
	}
	if err == nil && lists < total {
		a.notef("%s of %s are resident: GPU memory is full", count(lists), plural(total, "posting list"))
	}
	return err
}
