package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/dispatch"
	"github.com/griffin-search/griffin/internal/engine"
	"github.com/griffin-search/griffin/internal/index"
)

type deviceFlags struct {
	device string
	memory string
	host   string
	layout string
	policy string
	ratio  float64
	engine string
	// workers is per query; its value before register is the default.
	workers int

	flags *pflag.FlagSet

	noCalibrate bool
}

func (d *deviceFlags) register(f *pflag.FlagSet, device string) {
	f.StringVar(&d.device, "device", device, "processors for queries: `DEVICE` is cpu, gpu (all GPUs), auto (GPUs if there are any), or numbers of GPUs such as 0,1 (see griffin devices)")
	d.registerMemory(f)
	d.flags = f
	f.StringVar(&d.engine, "engine", engine.Default, "system that answers queries: `NAME`, or NAME:OPTION=VALUE,… (see griffin engines)")
	f.IntVar(&d.workers, "workers-per-query", d.workers, "processors that search for a long query on the CPU, beyond the first only idle ones; 0: all, 1: no helpers")
	f.StringVar(&d.policy, "policy", "", "`NAME` of the policy that chooses between CPU and GPU, cost by default (see griffin bench --help)")
	f.BoolVar(&d.noCalibrate, "no-calibrate", false, "do not measure query times when an index is first used with a GPU on this machine")
	f.Float64Var(&d.ratio, "ratio", dispatch.DefaultRatio, "in policy ratio and engine griffin18, stay on the GPU while the next list is less than this many times as long as the candidates")
}

func (d *deviceFlags) registerMemory(f *pflag.FlagSet) {
	f.StringVar(&d.memory, "gpu-memory", "", "limit of `MEMORY` for posting lists on each GPU: 40GiB, or 10% of the index (default: most of the free memory)")
	f.StringVar(&d.layout, "gpu-layout", "", "several GPUs: replicas (each has all documents and answers queries alone) or ranges (each has a range of the documents); by default ranges if only they have room for all posting lists")
	f.StringVar(&d.host, "gpu-host-memory", "", "limit of page-locked host `MEMORY` for posting lists that do not fit on the GPUs: 40GiB, 100% of the index, or 0 (default: half of the available memory)")
}

func (d *deviceFlags) check() error {
	if !(d.ratio > 0) { // 0 selects the default ratio
		return usagef("--ratio %v: must be more than 0; --policy cpu runs everything on the CPU", d.ratio)
	}
	dispatch := d.dispatch()
	return badFlags(errors.Join(d.options().Check(), dispatch.Check(), d.checkEngine()))
}

// spec returns the engine; --ratio is an option of griffin18 too.
func (d *deviceFlags) spec() (engine.Spec, error) {
	s, err := engine.Parse(d.engine)
	if err == nil && d.flags != nil && d.flags.Changed("ratio") && s.Has("ratio") {
		err = s.Set("ratio", strconv.FormatFloat(d.ratio, 'f', -1, 64))
	}
	return s, err
}

// engineName is "" for the default engine, for reports.
func (d *deviceFlags) engineName() string {
	s, err := d.spec()
	if err != nil || s.IsDefault() {
		return ""
	}
	return s.String()
}

func (d *deviceFlags) checkEngine() error {
	s, err := d.spec()
	if err != nil || s.IsDefault() {
		return err
	}
	for _, name := range []string{"policy", "gpu-memory", "gpu-host-memory", "gpu-layout", "traversal", "resident", "workers-per-query"} {
		if f := d.flags.Lookup(name); f != nil && f.Changed {
			return usagef("--%s is for the engine griffin; engine %s has options of its own (see griffin engines %s)", name, s.Info.Name, s.Info.Name)
		}
	}
	if d.flags.Changed("ratio") && (!s.Has("ratio") || strings.Contains(d.engine, "ratio=")) {
		return usagef("--ratio: engine %s has no such option, or --engine gives it too", s.Info.Name)
	}
	if f := d.flags.Lookup("accumulators"); f != nil && f.Changed {
		return usagef("--accumulators is for the engine griffin: use --engine saat:accumulators=NAME")
	}
	if f := d.flags.Lookup("result-cache"); f != nil && f.Changed && !s.Info.ResultCache && f.Value.String() != "0" {
		return usagef("--result-cache: engine %s has none", s.Info.Name)
	}
	return nil
}

// modes returns the modes of the engine.
func (d *deviceFlags) modes() (modes []griffin.Mode) {
	s, err := d.spec()
	if err != nil {
		return nil
	}
	for _, name := range s.Info.Modes {
		if m, err := griffin.ParseMode(name); err == nil {
			modes = append(modes, m)
		}
	}
	return modes
}

// adjustMode replaces the default of --mode by the first mode of an engine that does not have it.
func (d *deviceFlags) adjustMode(mode *string) {
	s, err := d.spec()
	if err == nil && d.flags != nil && !d.flags.Changed("mode") && !slices.Contains(s.Info.Modes, *mode) {
		*mode = s.Info.Modes[0]
	}
}

// openEngine returns nil for the default engine.
func (d *deviceFlags) openEngine() (engine.Engine, error) {
	s, err := d.spec()
	if err != nil || s.IsDefault() {
		return nil, err
	}
	return s.Open(engine.Resources{Device: d.device})
}

func (d *deviceFlags) dispatch() dispatch.Config {
	return dispatch.Config{Policy: dispatch.Policy(d.policy), Ratio: d.ratio, WorkersPerQuery: d.workers}
}

func policyNames() string {
	var b strings.Builder
	for _, p := range griffin.Policies() {
		fmt.Fprintf(&b, "\n  %-6s %s", p.Name, p.Doc)
	}
	return b.String()
}

func (d *deviceFlags) options() dispatch.GPUOptions {
	return dispatch.GPUOptions{Device: d.device, Memory: d.memory, HostMemory: d.host, Layout: d.layout}
}

// openIndex opens an index with its own runtime and its cost model in the index's folder.
// closeBoth closes both.
func (d *deviceFlags) openIndex(dir string, r griffin.RuntimeOptions, o griffin.Options) (ix *griffin.Index, closeBoth func() error, err error) {
	spec, err := d.spec()
	if err != nil {
		return nil, nil, err
	}
	if !spec.Info.ResultCache {
		o.ResultCache = 0
	}
	r.Policy, r.Ratio, r.CostDir, r.Engine, r.WorkersPerQuery = griffin.Policy(d.policy), d.ratio, dir, spec.String(), d.workers
	r.GPU.Device, r.GPU.NoHostMemory, r.GPU.Layout = d.device, d.host == "0", griffin.Layout(d.layout)
	if r.GPU.Memory.Bytes, err = memoryBytes(d.memory, dir); err != nil {
		return nil, nil, err
	}
	if !r.GPU.NoHostMemory {
		if r.GPU.HostMemory.Bytes, err = memoryBytes(d.host, dir); err != nil {
			return nil, nil, err
		}
	}
	if o.Runtime, err = griffin.NewRuntime(r); err != nil {
		return nil, nil, badFlags(err)
	}
	if ix, err = openIndex(dir, o); err != nil {
		return nil, nil, errors.Join(err, o.Runtime.Close())
	}
	return ix, func() error { return errors.Join(ix.Close(), o.Runtime.Close()) }, nil
}

// memoryBytes parses bytes, or a percentage of the posting lists of the index in dir. 0: the
// default.
func memoryBytes(text, dir string) (int64, error) {
	bytes, percent, err := dispatch.ParseMemory(text)
	if err != nil || percent == 0 {
		return bytes, err
	}
	snapshot, err := openSnapshot(dir)
	if err != nil {
		return 0, err
	}
	defer snapshot.Release()
	return max(int64(percent/100*float64(dispatch.ListBytes(snapshot))), 1), nil
}

type residentFlag struct{ minDocFreq uint32 } // 0: it does not

func (r *residentFlag) register(f *pflag.FlagSet) {
	f.Uint32Var(&r.minDocFreq, "resident", 0, "load posting lists into GPU memory first: all, or with =`N` those of at least N documents")
	f.Lookup("resident").NoOptDefVal = "1"
}

// warmer is an Index or a GPU with a snapshot.
type warmer func(ctx context.Context, o dispatch.WarmOptions) (lists, total int64, err error)

func warmerOfIndex(ix *griffin.Index) warmer {
	return func(ctx context.Context, w dispatch.WarmOptions) (lists, total int64, err error) {
		r, err := ix.Warm(ctx, griffin.WarmOptions(w))
		return r.Lists, r.Total, err
	}
}

func warmerOf(gpu *dispatch.GPU, snapshot *index.Snapshot) warmer {
	return func(ctx context.Context, w dispatch.WarmOptions) (lists, total int64, err error) {
		return gpu.Warm(ctx, snapshot, w)
	}
}

func (r residentFlag) check(d *deviceFlags) error {
	if r.minDocFreq > 0 && (d.device == "" || d.device == "cpu") {
		return usagef("--resident loads posting lists into GPU memory: choose a GPU with --device gpu")
	}
	return nil
}

// A GPU failure is not an error: the CPU answers instead.
func (a *app) warm(ctx context.Context, r residentFlag, impacts bool, warm warmer) error {
	lists, total, err := a.bring(ctx, r, impacts, warm)
	if dispatch.IsGPUError(err) {
		a.notef("not all posting lists were loaded into GPU memory; the CPU answers where the GPU cannot: %v", err)
		return nil
	}
	if err == nil && lists < total {
		a.notef("%s of %s are in GPU memory, which is full; queries load the others, or read them from host memory", count(lists), plural(total, "posting list"))
	}
	return err
}

// bring is warm without notes, and returns the numbers of loaded and requested lists.
func (a *app) bring(ctx context.Context, r residentFlag, impacts bool, warm warmer) (lists, total int64, err error) {
	if r.minDocFreq == 0 {
		return 0, 0, nil
	}
	bar := a.newProgress()
	defer bar.close()
	return warm(ctx, dispatch.WarmOptions{
		MinDocFreq: r.minDocFreq, Impacts: impacts, Progress: bar.items("resident", "postings"),
	})
}
