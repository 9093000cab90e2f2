package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/exec"
	"github.com/griffin-search/griffin/internal/index"
)

// deviceFlags say where queries run.
type deviceFlags struct {
	device string
	memory string
	host   string
	policy string
	ratio  float64

	noCalibrate bool
}

func (d *deviceFlags) register(f *pflag.FlagSet, device string) {
	f.StringVar(&d.device, "device", device, "where queries run: `DEVICE` is cpu, gpu (all there are), auto (those, if any), or their numbers, as 0,1 (see griffin devices)")
	d.registerMemory(f)
	f.StringVar(&d.policy, "policy", "", "where the steps of queries run: `NAME` of a policy, cost unless told otherwise (see griffin bench --help)")
	f.BoolVar(&d.noCalibrate, "no-calibrate", false, "do not measure what queries take when an index is first used with a GPU on this machine")
	f.Float64Var(&d.ratio, "ratio", exec.DefaultRatio, "of policy ratio: up to how many times as long the next list may be, to stay on the GPU")
}

// registerMemory adds the flags that say how much memory posting lists may take.
func (d *deviceFlags) registerMemory(f *pflag.FlagSet) {
	f.StringVar(&d.memory, "gpu-memory", "", "most `MEMORY` of each GPU for posting lists: 40GiB, or 10% of the index (default: most of what is free)")
	f.StringVar(&d.host, "gpu-host-memory", "", "most page-locked `MEMORY` of the host for posting lists that GPUs have no room for: 40GiB, 100% of the index, or 0 (default: half of what is available)")
}

// check returns a usage error if a flag cannot be read.
func (d *deviceFlags) check() error {
	if !(d.ratio > 0) { // 0 is the default to exec
		return usagef("--ratio %v: must be more than 0; --policy cpu keeps all steps on the CPU", d.ratio)
	}
	dispatch := d.dispatch()
	return badFlags(errors.Join(d.options().Check(), dispatch.Check()))
}

// dispatch says how places are chosen.
func (d *deviceFlags) dispatch() exec.DispatchOptions {
	return exec.DispatchOptions{Policy: exec.Policy(d.policy), Ratio: d.ratio}
}

// policyNames lists the policies, one a line, for a help text.
func policyNames() string {
	var b strings.Builder
	for _, p := range griffin.Policies() {
		fmt.Fprintf(&b, "\n  %-6s %s", p.Name, p.Doc)
	}
	return b.String()
}

func (d *deviceFlags) options() exec.GPUOptions {
	return exec.GPUOptions{Device: d.device, Memory: d.memory, HostMemory: d.host}
}

// openOptions returns the options that the flags stand for. calibrateIndex does what
// Open then leaves out.
func (d *deviceFlags) openOptions() []griffin.Option {
	return []griffin.Option{griffin.WithDevice(d.device), griffin.WithGPUMemory(d.memory), griffin.WithGPUHostMemory(d.host), griffin.WithPolicy(d.policy), griffin.WithRatio(d.ratio), griffin.WithoutCalibration()}
}

// residentFlag asks for lists to be brought to the GPUs beforehand.
type residentFlag struct{ minDocFreq uint32 } // 0: it does not

func (r *residentFlag) register(f *pflag.FlagSet) {
	f.Uint32Var(&r.minDocFreq, "resident", 0, "bring posting lists to the GPUs first: all, or with =`N` those of at least N documents")
	f.Lookup("resident").NoOptDefVal = "1"
}

// warmer is an Index or a GPU with a snapshot.
type warmer func(ctx context.Context, o exec.WarmOptions) (lists, total int64, err error)

// warmerOf returns the warmer of a GPU with a snapshot.
func warmerOf(gpu *exec.GPU, snapshot *index.Snapshot) warmer {
	return func(ctx context.Context, w exec.WarmOptions) (lists, total int64, err error) {
		return gpu.Warm(ctx, snapshot, w)
	}
}

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
	lists, total, err := a.bring(ctx, r, impacts, warm)
	if exec.IsGPUError(err) {
		a.notef("posting lists were not all brought to the GPU, the CPU answers where it cannot: %v", err)
		return nil
	}
	if err == nil && lists < total {
		a.notef("%s of %s are resident, and GPU memory is full: queries bring the others, or read them where they lie", count(lists), plural(total, "posting list"))
	}
	return err
}

// bring is warm without a word about what is not there: it returns how many lists are, of how
// many.
func (a *app) bring(ctx context.Context, r residentFlag, impacts bool, warm warmer) (lists, total int64, err error) {
	if r.minDocFreq == 0 {
		return 0, 0, nil
	}
	bar := a.newProgress()
	defer bar.close()
	return warm(ctx, exec.WarmOptions{
		MinDocFreq: r.minDocFreq, Impacts: impacts, Progress: bar.items("resident", "postings"),
	})
}
