package dispatch

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/cost"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/invariant"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/sched"
	"github.com/griffin-search/griffin/internal/vfs"
)

// Saved predictions are read for their machine only, and only if there is something to decide.
func TestSavedCosts(t *testing.T) {
	dir := t.TempDir()
	g := testGPU(t, pipeline.Options{})
	measured := cost.New(g.machine())
	var samples []cost.Measured
	for i := range 60 {
		samples = append(samples, cost.Measured{Kind: cost.CPUOr, Features: cost.Features{Lists: 2, K: 10, Sum: int64(100 + i)}, Took: 12345})
	}
	measured.Calibrate(samples)
	d, err := NewDispatcher(g, Config{Costs: measured})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.SaveCosts(vfs.OS, dir); err != nil {
		t.Fatal(err)
	}
	f := cost.Features{Lists: 2, K: 10, Sum: 130}
	for name, c := range map[string]struct {
		o    Config
		g    *GPU
		want bool
	}{
		"its machine":                 {Config{CostsErr: errors.New("former")}, g, true},
		"another machine with limits": {Config{Admit: true}, nil, false},
		"nothing to decide":           {Config{}, nil, false},
	} {
		got := c.o.LoadCosts(vfs.OS, dir, c.g)
		if got != c.want || c.o.Costs == nil || c.o.CostsErr != nil || (c.o.Costs.Predict(cost.CPUOr, &f) == measured.Predict(cost.CPUOr, &f)) != c.want {
			t.Errorf("%s: %v, %v", name, got, c.o.CostsErr)
		}
		if !c.o.Costs.Machine().Equal(c.g.machine()) {
			t.Errorf("%s: a model of %+v", name, c.o.Costs.Machine())
		}
	}
	if gpus := g.Stats().Devices; len(gpus) != 1 || !g.machine().Equal(cost.Here([]string{fmt.Sprintf("%s, CUDA %s", gpus[0].GPU, gpus[0].Driver)})) {
		t.Errorf("the machine is %+v", g.machine())
	}
	o := Config{Admit: true}
	if o.LoadCosts(vfs.OS, filepath.Join(dir, "missing"), nil) || o.CostsErr != nil {
		t.Errorf("no file: %v", o.CostsErr)
	}
}

// The model of a machine without a GPU is read if there are limits, since only these leave something
// to decide.
func TestSavedCostsWithoutGPU(t *testing.T) {
	dir := t.TempDir()
	measured := cost.New(cost.Here(nil))
	var samples []cost.Measured
	for i := range 60 {
		samples = append(samples, cost.Measured{Kind: cost.CPUOr, Features: cost.Features{Lists: 2, K: 10, Sum: int64(100 + i)}, Took: 12345})
	}
	measured.Calibrate(samples)
	d := &Dispatcher{costs: measured}
	if err := d.SaveCosts(vfs.OS, dir); err != nil {
		t.Fatal(err)
	}
	for _, limits := range []bool{false, true} {
		o := Config{Admit: limits}
		if got := o.LoadCosts(vfs.OS, dir, nil); got != limits || o.Costs.Calibrated() != limits || o.CostsErr != nil {
			t.Errorf("limits %v: measured %v, %v", limits, got, o.CostsErr)
		}
	}
}

// Predictions are worth saving after 1000 observations, if a measured model decides on a GPU.
func TestCostsChanged(t *testing.T) {
	f := cost.Features{Lists: 2, K: 10, Sum: 100}
	observed := func(n int, calibrated bool) *cost.Model {
		m := cost.New(cost.Machine{})
		if calibrated {
			var samples []cost.Measured
			for i := range 60 {
				samples = append(samples, cost.Measured{Kind: cost.CPUOr, Features: cost.Features{Lists: 2, K: 10, Sum: int64(100 + i)}, Took: 12345})
			}
			m.Calibrate(samples)
		}
		for range n {
			m.Observe(cost.CPUOr, &f, time.Microsecond)
		}
		return m
	}
	for name, c := range map[string]struct {
		d    *Dispatcher
		want bool
	}{
		"none":           {nil, false},
		"enough":         {&Dispatcher{gpu: &GPU{}, costs: observed(1000, true)}, true},
		"one too few":    {&Dispatcher{gpu: &GPU{}, costs: observed(999, true)}, false},
		"without a GPU":  {&Dispatcher{costs: observed(1000, true)}, false},
		"not calibrated": {&Dispatcher{gpu: &GPU{}, costs: observed(1000, false)}, false},
	} {
		if got := c.d.CostsChanged(); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestDevices(t *testing.T) {
	library := gputest.Library(t)
	infos, err := library.Devices()
	if err != nil || len(infos) == 0 {
		t.Fatalf("%d devices, %v", len(infos), err)
	}
	t.Setenv(cuda.LibraryVariable, library.Path())
	report := Devices()
	if report.Reason != "" || report.Library != library.Path() || report.Driver != cuda.Version(library.DriverVersion()) || len(report.Devices) != len(infos) {
		t.Fatalf("%+v", report)
	}
	for i, d := range report.Devices {
		info := infos[i]
		if !d.Usable || d.Reason != "" || d.FreeBytes == 0 || d.FreeBytes > d.MemoryBytes {
			t.Errorf("device %d: %+v", i, d)
		}
		u := fmt.Sprintf("%x", info.UUID)
		want := DeviceInfo{
			Ordinal: info.Ordinal, Name: info.Name, UUID: "GPU-" + strings.Join([]string{u[:8], u[8:12], u[12:16], u[16:20], u[20:]}, "-"), Bus: info.BusID,
			MemoryBytes: info.TotalBytes, FreeBytes: d.FreeBytes, Multiprocessors: info.Multiprocessors,
			Capability: fmt.Sprint(info.Major, ".", info.Minor), L2Bytes: info.L2Bytes, SharedBytes: info.MaxSharedBytes, Usable: true,
		}
		if want.Capability = strings.ReplaceAll(want.Capability, " ", ""); d != want {
			t.Errorf("device %d is %+v, want %+v", i, d, want)
		}
	}
	old := infos[0]
	old.Major = 1
	if d := examine(library, old); d.Usable || d.Reason != old.Unusable() || d.Reason == "" || d.FreeBytes != 0 {
		t.Errorf("an old device: %+v", d)
	}
	gone := infos[0]
	gone.Ordinal = 1000
	if d := examine(library, gone); d.Usable || !strings.HasPrefix(d.Reason, "it does not open: ") || d.FreeBytes != 0 {
		t.Errorf("a device that does not open: %+v", d)
	}
	t.Setenv(cuda.LibraryVariable, "no-such-library.so")
	if report := Devices(); report.Reason == "" || report.Library != "" || report.Devices == nil || len(report.Devices) != 0 {
		t.Errorf("without a driver: %+v", report)
	}
}

// Without devices, the report has the reason.
func TestNoDevices(t *testing.T) {
	library := gputest.Configure(t, gputest.Config{})
	t.Setenv(cuda.LibraryVariable, library.Path())
	want := "the driver has no devices (CUDA_VISIBLE_DEVICES can hide them)"
	if report := Devices(); report.Reason != want || report.Library != library.Path() || report.Devices == nil || len(report.Devices) != 0 {
		t.Errorf("%+v", report)
	}
}

func TestConfigLimits(t *testing.T) {
	for _, c := range []struct {
		o    Config
		want bool
	}{
		{Config{}, false},
		{Config{Policy: PolicyGPU, Ratio: 3, Window: 5, Pin: true}, false},
		{Config{Admit: true}, true},
		{Config{CPUs: 1}, true},
		{Config{MaxQueue: -1}, true},
		{Config{Deadline: 1}, true},
	} {
		d, err := NewDispatcher(nil, c.o)
		if err != nil || d.active() != c.want || (d.pool != nil) != c.want || c.o.limited() != c.want {
			t.Errorf("%+v: active %v, %v", c.o, d.active(), err)
		}
		if slots := cap(d.slots); c.want && slots != max(c.o.CPUs, 1) && slots != runtime.GOMAXPROCS(0) || !c.want && d.slots != nil {
			t.Errorf("%+v: %d slots", c.o, slots)
		}
		if d.costs == nil || d.overrunFactor != defaultOverrunFactor || d.partQueries != defaultPartQueries || d.start.IsZero() {
			t.Errorf("%+v: %+v", c.o, d)
		}
		if want := max(c.o.Ratio, 3); c.o.Ratio > 0 && d.ratio != want || c.o.Ratio == 0 && d.ratio != DefaultRatio {
			t.Errorf("%+v: ratio %g", c.o, d.ratio)
		}
	}
	for text, o := range map[string]Config{
		"ratio -1: it cannot be negative":                               {Ratio: -1},
		"ratio NaN: it cannot be negative":                              {Ratio: math.NaN()},
		"-1 CPUs, deadline 0s, window 0s: none can be negative":         {CPUs: -1},
		"0 CPUs, deadline -1ns, window 0s: none can be negative":        {Deadline: -1},
		"0 CPUs, deadline 0s, window -1ns: none can be negative":        {Window: -1},
		`bad input: policy "best"; there are: cpu, gpu`:                 {Policy: "best"},
		"-1 CPUs, deadline -1ns, window 0s: none can be negative: bad ": {CPUs: -1, Deadline: -1},
	} {
		if err := o.Check(); !errors.Is(err, base.ErrBadInput) || !strings.HasPrefix(err.Error(), text) {
			t.Errorf("%+v: %v, want %s", o, err, text)
		}
	}
	costs := cost.New(cost.Machine{})
	if d, err := NewDispatcher(nil, Config{Costs: costs}); err != nil || d.Costs() != costs {
		t.Errorf("the model is not the one given: %v", err)
	}
}

// Only these properties of a policy matter to others.
func TestPolicyTraits(t *testing.T) {
	for name, want := range map[Policy]traits{
		PolicyCPU:   {noGPU: true},
		PolicyGPU:   {prefersGPU: true},
		PolicyRatio: {prefersGPU: true},
		PolicyQuery: {stays: true, predicts: true, trees: true},
		PolicyBatch: {prefersGPU: true},
		PolicyCost:  {restarts: true, predicts: true},
	} {
		p, err := findPolicy(name)
		if err != nil || p.traits() != want || Predicts(name) != want.predicts {
			t.Errorf("%s: %+v, %v, want %+v", name, p.traits(), err, want)
		}
	}
	if p := (&Placement{}); p.traits() != (traits{}) || p.info().Name != PolicyCost {
		t.Errorf("a placement: %+v, %+v", p.traits(), p.info())
	}
}

// The trace copies the work of each device; only the first device's step has the lists.
func TestDeviceSteps(t *testing.T) {
	devices := []pipeline.DeviceTrace{
		{
			Device: "gpu0", Kernels: []pipeline.KernelTrace{{Name: "or", Launches: 2}, {Name: "and", Launches: 1}}, ListsHit: 1, ListsMissed: 2, ListBytes: 3000,
			BytesLocked: 4, Bringing: 5, Forms: pipeline.FormStats{File: 6, Host: 7, Device: 8, Image: 9}, BytesInPlace: 100, BytesTo: 20, BytesFrom: 1, Took: 13,
		},
		{Device: "gpu1", BytesTo: 7},
	}
	want := []plan.DeviceTrace{
		{
			Device: "gpu0", Kernels: []plan.KernelTrace{{Name: "or", Launches: 2}, {Name: "and", Launches: 1}}, ListsHit: 1, ListsMissed: 2, ListBytes: 3000,
			BytesLocked: 4, Bringing: 5, Forms: plan.ListForms{File: 6, Host: 7, Device: 8, Image: 9}, BytesInPlace: 100, BytesTo: 20, BytesFrom: 1, Took: 13,
		},
		{Device: "gpu1", BytesTo: 7},
	}
	tr := tracer{Trace: new(plan.Trace), device: pipeline.Trace{Devices: devices}}
	tr.Begin()
	tr.addGPU(time.Now(), plan.Step{Name: plan.StepGPU, Place: sched.GPU, Lists: []plan.ListTrace{{Term: "a"}}})
	if len(tr.Steps) != 2 || len(tr.Steps[0].Lists) != 1 || tr.Steps[1].Lists != nil {
		t.Fatalf("steps %+v", tr.Steps)
	}
	for i, s := range tr.Steps {
		if s.Processor != want[i].Device || !reflect.DeepEqual(*s.Device, want[i]) || s.Name != plan.StepGPU {
			t.Errorf("step %d: %+v with %+v, want %+v", i, s, *s.Device, want[i])
		}
	}
	if tr.Steps[0].BusBytes != 3121 || tr.Steps[1].BusBytes != 7 {
		t.Errorf("%d and %d bytes over the bus, want 3121 and 7", tr.Steps[0].BusBytes, tr.Steps[1].BusBytes)
	}
	if tr.forDevice() != &tr.device || (&tracer{}).forDevice() != nil {
		t.Error("the device has another trace, or one of a run without")
	}
}

// The step of an overrun has the work of the segments since, and replaces them.
func TestOverrunStep(t *testing.T) {
	p, d := dispatched(t, indextest.Snapshot(t, segmentedIndex(t, 100, 1, 2)), nil, Config{Admit: true})
	r := describedQuery(t, p, d, "e1 e2", plan.ModeOr)
	defer r.end()
	tr := tracer{Trace: &plan.Trace{Began: time.Now().Add(-time.Second)}}
	for _, s := range []struct {
		name  string
		start time.Duration
		work  int64
	}{{plan.StepSegment, 10, 1}, {plan.StepGPU, 20, 2}, {plan.StepSegment, 29, 4}, {plan.StepSegment, 30, 8}, {plan.StepSegment, 40, 16}} {
		tr.Steps = append(tr.Steps, plan.Step{Name: s.name, Start: s.start, Work: plan.Work{PostingsDecoded: s.work}})
	}
	tr.addOverrun(tr.Began.Add(30), r.plan.Stage(0), 77)
	if len(tr.Steps) != 4 {
		t.Fatalf("%d steps, want 4", len(tr.Steps))
	}
	s := tr.Steps[3]
	if s.Start != 30 || s.Took < time.Second-30 || s.Predicted != 77 || s.PostingsDecoded != 24 || s.Name != plan.StepOverrun || s.Processor != plan.CPUName || s.Mode != plan.ModeOr || s.Traversal != r.plan.Stage(0).Traversal() {
		t.Errorf("the step is %+v", s)
	}
}

// A wait that the trace has not seen is one step, none without a queue or a wait.
func TestTracedWaits(t *testing.T) {
	d, err := NewDispatcher(nil, Config{Admit: true})
	if err != nil {
		t.Fatal(err)
	}
	tr := tracer{Trace: &plan.Trace{Mode: plan.ModeAnd}}
	tr.Begin()
	j := &sched.Job{Place: sched.GPU, Queued: 5 * time.Millisecond, Began: time.Hour}
	if tr.addWait(nil, j); len(tr.Steps) != 0 || tr.waited != 0 {
		t.Errorf("without a pool: %+v", tr.Steps)
	}
	tr.addWait(d.pool, j)
	tr.addWait(d.pool, j)
	j.Queued += 2 * time.Millisecond
	tr.addWait(d.pool, j)
	if len(tr.Steps) != 2 || tr.Steps[0].Took != 5*time.Millisecond || tr.Steps[1].Took != 2*time.Millisecond {
		t.Fatalf("steps %+v", tr.Steps)
	}
	if s := tr.Steps[0]; s.Name != plan.StepWait || s.Processor != "gpu" || s.Place != sched.GPU || s.Mode != plan.ModeAnd || s.Start != d.pool.TimeOf(time.Hour-5*time.Millisecond).Sub(tr.Began) {
		t.Errorf("the step is %+v", s)
	}
	none := tracer{}
	if none.addWait(d.pool, j); none.waited != 0 {
		t.Errorf("a run that is not traced notes a wait of %v", none.waited)
	}
}

func TestOnBug(t *testing.T) {
	var got *invariant.Caught
	d := &Dispatcher{onBug: func(c *invariant.Caught) { got = c }}
	c := &invariant.Caught{Value: "x"}
	if d.reportBug("testing", c); got != c || d.bugs.Load() != 1 {
		t.Errorf("reported %v, %d bugs", got, d.bugs.Load())
	}
}
