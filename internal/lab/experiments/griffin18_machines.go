package experiments

import (
	"fmt"

	"github.com/griffin-search/griffin/internal/lab"
)

// Other machines than the measured one, computed from traces.

// machine is a machine relative to the measured one.
type machine struct {
	name     string
	cpu, gpu float64 // times the duration of steps
	bus      float64 // GB/s
}

// estimate returns the µs of each query on a machine, from steps that were
// measured with a bus of measured GB/s.
func estimate(traces []spent, m machine, measured float64) []float64 {
	us := make([]float64, len(traces))
	for i, t := range traces {
		kilobytes := float64(t.bytes) / 1e3 // a GB/s is a KB/µs
		us[i] = t.cpu*m.cpu + max(t.gpu-kilobytes/measured, 0)*m.gpu + kilobytes/m.bus
	}
	return us
}

func (r *ratioRuns) here() machine { return machine{"as measured", 1, 1, r.bus} }

var (
	machineBuses = []float64{0, 50, 25, 12, 6, 3} // 0: as measured
	machineCPUs  = []struct {
		name string
		cpu  float64
	}{{"CPU 4 times slower", 4}, {"CPU as measured", 1}, {"CPU 4 times faster", 0.25}, {"CPU 16 times faster", 1. / 16}}
)

func (r *ratioRuns) allMachines() []machine {
	var all []machine
	for _, c := range machineCPUs {
		for _, bus := range machineBuses {
			name := fmt.Sprintf("%s, bus of %g GB/s", c.name, bus)
			if bus == 0 {
				name, bus = c.name+", bus as measured", r.bus
			}
			all = append(all, machine{name, c.cpu, 1, bus})
		}
	}
	// A Tesla K20 has about a sixteenth of the memory bandwidth of an H100, and
	// the paper's bus has 8 GB/s by its specification.
	return append(all, machine{"GPU 16 times slower, bus of 8 GB/s", 1, 16, 8}, machine{"the same, CPU 2 times slower", 2, 16, 8})
}

// machines computes where a query in two parts pays.
func (r *ratioRuns) machines(noDevice string) *lab.Table {
	var rows []string
	all := r.allMachines()
	for _, m := range all {
		rows = append(rows, m.name)
	}
	t := lab.NewTable("Other machines, computed: mean latency, µs", "machine", rows, []string{
		"CPU, best cpu-crossing", "Griffin-GPU", "Griffin, ratio 128", "GPU to Griffin, ratio 128", "best ratio", "Griffin, best ratio",
		"CPU to Griffin, best ratio", "GPU to Griffin, best ratio", "the faster alone to Griffin, best ratio", "the same, 99th",
	})
	for row, m := range all {
		if r.gpu == nil {
			t.LeaveRow(row, noDevice)
			continue
		}
		cpu, gpu := estimate(r.bestCPU().trace, m, r.bus), estimate(r.gpuTrace, m, r.bus)
		fixed := estimate(r.paperRun().trace, m, r.bus)
		best := bestOf(r.ratios, func(run *ratioRun) float64 { return mean(estimate(run.trace, m, r.bus)) })
		hybrid := estimate(best.trace, m, r.bus)
		for column, v := range []float64{
			mean(cpu), mean(gpu), mean(fixed), mean(gpu) / mean(fixed), 0, mean(hybrid),
			mean(cpu) / mean(hybrid), mean(gpu) / mean(hybrid), min(mean(cpu), mean(gpu)) / mean(hybrid),
			min(percentileOf(cpu, 990), percentileOf(gpu, 990)) / percentileOf(hybrid, 990),
		} {
			if column == 4 {
				t.SetText(row, column, best.name())
				continue
			}
			t.Set(row, column, v)
		}
	}
	return t
}

// bestCPU returns the run on the CPU alone with the least mean.
func (r *ratioRuns) bestCPU() *ratioRun {
	all := append([]ratioRun{{value: paperCrossing, us: r.cpu, trace: r.cpuTrace}}, r.cpus...)
	return bestOf(all, func(run *ratioRun) float64 { return mean(run.us) })
}

// machinesFigure draws the gain of Griffin over the faster processor alone.
func (r *ratioRuns) machinesFigure() *lab.Figure {
	f := &lab.Figure{
		Title: "The faster processor alone to Griffin with the best ratio, computed", Kind: lab.Lines, LogX: true, LogY: true, X: "bandwidth of the bus, GB/s", Y: "times",
	}
	for _, c := range machineCPUs {
		s := lab.Series{Name: c.name}
		for _, bus := range machineBuses[1:] {
			m := machine{"", c.cpu, 1, bus}
			least := min(mean(estimate(r.bestCPU().trace, m, r.bus)), mean(estimate(r.gpuTrace, m, r.bus)))
			best := bestOf(r.ratios, func(run *ratioRun) float64 { return mean(estimate(run.trace, m, r.bus)) })
			s.Points = append(s.Points, lab.Point{X: bus, Y: least / mean(estimate(best.trace, m, r.bus))})
		}
		f.Series = append(f.Series, s)
	}
	f.Series = append(f.Series, lab.Series{Name: "the paper, over its GPU", Paper: true, Points: []lab.Point{{X: machineBuses[len(machineBuses)-1], Y: paperOverGPU}, {X: machineBuses[1], Y: paperOverGPU}}})
	return f
}
