package experiments

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/lab"
)

func griffin18Ratio() lab.Experiment {
	return lab.Experiment{
		Name: "griffin18-ratio", Paper: "griffin18", Shows: "§2.3, §3.2, ratios", Title: "When a query in two parts pays",
		Did: "More than 64 % of the intersections of the log have lists whose lengths differ by a factor of less than 128. " +
			"Griffin moves a query to the CPU from a ratio of 128 on, and is about 1.5 times as fast as Griffin-GPU " +
			"alone. The GPU merges or searches by a ratio that is \"determined empirically\"; the paper shows no sweep of either.",
		Ours: "The engine griffin18 on a collection similar to the paper's part of ClueWeb12, one AND query at a time, " +
			"best 10, with each value of `ratio`, of `crossing` and of `cpu-crossing`, and alone on each processor. CPU alone and GPU alone have the defaults, 128; `cpu-crossing` is ours, because the paper gives no number for its CPU. The classes of " +
			"queries are by the largest ratio of a query's candidates to its next list. " + fmt.Sprintf(griffin18Timed, ratioRounds) +
			"The last table computes other machines from traces of the same queries, each the median of 3 answers one after the other: it scales the steps on the CPU " +
			"and the steps on the GPU, and replaces the time of the copied bytes at the measured bandwidth of a copy " +
			"from page-locked memory by that of another bus. Planning is not in it. There, the CPU alone has its best `cpu-crossing`.",
		Differs: griffin18Differs + "2,500 of the 10,000 queries run, every fourth. Ratios are between the candidates and the next " +
			"list of actual intersections; the paper leaves open whether it counts candidates or whole lists, so the last column has whole lists. A trace waits for the GPU after each step, which makes " +
			"its steps slower than the untraced query. A bandwidth scales only the time of the copied bytes.",
		Findings: ratioFindings, Verdicts: ratioVerdicts,
		Budget: 15 * time.Minute,
		Run:    runGriffin18Ratio,
	}
}

const (
	ratioRounds = 3
	// The ratio from which on the engine's CPU searches faster than it merges, by
	// griffin18-fig8.
	tunedCPUCrossing = 16
)

// The paper's share of intersections with a ratio below paperCrossing, percent.
const paperShare = 64

// ratioRuns are measurements of the engine with each option.
type ratioRuns struct {
	cpu, gpu      []float64 // medians in µs, by query; gpu is nil without a GPU
	cpuTrace      []spent
	gpuTrace      []spent
	cpus          []ratioRun // of on=cpu, by cpu-crossing
	ratios        []ratioRun // of on=both
	crossings     []ratioRun // of on=gpu
	bus           float64    // GB/s from page-locked memory
	busOfGPUAlone float64    // KB per query
}

type ratioRun struct {
	value       int // never: above all ratios
	cpuCrossing int // 0: the default
	us          []float64
	bus         float64 // KB per query
	trace       []spent // nil for crossings
}

func runGriffin18Ratio(ctx context.Context, env *lab.Env) (*lab.Result, error) {
	d, noDevice, err := env.Device()
	if err != nil {
		return nil, err
	}
	c, queries, err := griffin18Log(ctx, env)
	if err != nil {
		return nil, err
	}
	queries = spread(queries, lab.Pick(env, 2500, 12))
	runs, err := measureRatios(ctx, env, d, c, queries)
	if err != nil {
		return nil, err
	}
	shares, sharesFigure := ratioShares(runs.cpuTrace)
	r := &lab.Result{
		Tables: []*lab.Table{
			shares, runs.sweep("ratio", runs.ratios, noDevice), runs.sweep("crossing", runs.crossings, noDevice), runs.sweep("cpu-crossing", runs.cpus, noDevice),
			runs.byClass(noDevice), runs.machines(noDevice),
		},
		Figures: []*lab.Figure{sharesFigure},
	}
	if d != nil {
		best := runs.best()
		r.Figures = append(r.Figures, runs.sweepFigure(), runs.machinesFigure())
		r.Notes = append(r.Notes,
			fmt.Sprintf("The best of the measured values of `ratio` is %s by the mean.", best.name()),
			fmt.Sprintf("The measured bandwidth to the GPU is %.1f GB/s.", runs.bus),
			fmt.Sprintf("The steps of a trace sum to %.1f µs on the CPU alone, %.1f µs on the GPU alone and %.1f µs with `ratio=%s`; untraced queries, with planning, take %.1f, %.1f and %.1f µs.",
				mean(estimate(runs.cpuTrace, runs.here(), runs.bus)), mean(estimate(runs.gpuTrace, runs.here(), runs.bus)), mean(estimate(best.trace, runs.here(), runs.bus)),
				best.name(), mean(runs.cpu), mean(runs.gpu), mean(best.us)))
	}
	return r, nil
}

func measureRatios(ctx context.Context, env *lab.Env, d *lab.Device, c *lab.Collection, queries []lab.Query) (_ *ratioRuns, err error) {
	r := &ratioRuns{}
	for _, v := range lab.Pick(env, []int{8, 16, 32, 64, 128, 256, 512, 1024, 4096}, []int{2, paperCrossing}) {
		r.ratios = append(r.ratios, ratioRun{value: v})
	}
	// From a ratio of paperCrossing on, the CPU searches anyway.
	for _, v := range lab.Pick(env, []int{8, 16, 32, 64}, []int{2}) {
		r.ratios = append(r.ratios, ratioRun{value: v, cpuCrossing: tunedCPUCrossing})
	}
	for _, v := range lab.Pick(env, []int{1, 8, 16, 32, 64, 256}, []int{1}) {
		r.cpus = append(r.cpus, ratioRun{value: v})
	}
	for _, v := range lab.Pick(env, []int{1, 8, 16, 32, 64, 128, 256, 512, 1024, never}, []int{1, never}) {
		r.crossings = append(r.crossings, ratioRun{value: v})
	}
	s, err := newSystems(env, c)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := r.openCPU(s); err != nil {
		return nil, err
	}
	if d != nil {
		if r.bus, err = busBandwidth(ctx, env, d); err != nil {
			return nil, err
		}
		if err := r.open(s); err != nil {
			return nil, err
		}
	}
	us, bus, err := s.measure(ctx, "queries", queries, lab.Pick(env, ratioRounds, 1))
	if err != nil {
		return nil, err
	}
	traced := make([][]spent, len(s.all))
	gpu := 1 + len(r.cpus)
	for k := range s.all[:min(len(s.all), gpu+1+len(r.ratios))] {
		env.Progress("traces", k, len(s.all))
		if traced[k], err = s.trace(ctx, s.all[k], queries, lab.Pick(env, ratioRounds, 1)); err != nil {
			return nil, err
		}
	}
	r.cpu, r.cpuTrace = us[0], traced[0]
	for i := range r.cpus {
		r.cpus[i].us, r.cpus[i].trace = us[1+i], traced[1+i]
	}
	if d == nil {
		return r, nil
	}
	r.gpu, r.gpuTrace, r.busOfGPUAlone = us[gpu], traced[gpu], bus[gpu]
	for i := range r.ratios {
		k := gpu + 1 + i
		r.ratios[i].us, r.ratios[i].bus, r.ratios[i].trace = us[k], bus[k], traced[k]
	}
	for i := range r.crossings {
		k := gpu + 1 + len(r.ratios) + i
		r.crossings[i].us, r.crossings[i].bus = us[k], bus[k]
	}
	return r, nil
}

// openCPU opens the systems that use no GPU.
func (r *ratioRuns) openCPU(s *systems) error {
	err := s.add(openPaper(s.env, s.c, "CPU", "griffin18:on=cpu"))
	for i := range r.cpus {
		if err == nil {
			spec := fmt.Sprintf("griffin18:on=cpu,cpu-crossing=%d", r.cpus[i].value)
			err = s.add(openPaper(s.env, s.c, spec, spec))
		}
	}
	return err
}

// open opens the systems that use the GPU.
func (r *ratioRuns) open(s *systems) error {
	err := s.add(openPaper(s.env, s.c, "Griffin-GPU", "griffin18:on=gpu"))
	for i := range r.ratios {
		if err == nil {
			spec := fmt.Sprintf("griffin18:ratio=%d", r.ratios[i].value)
			if x := r.ratios[i].cpuCrossing; x > 0 {
				spec += fmt.Sprintf(",cpu-crossing=%d", x)
			}
			err = s.add(openPaper(s.env, s.c, spec, spec))
		}
	}
	for i := range r.crossings {
		if err == nil {
			spec := fmt.Sprintf("griffin18:on=gpu,crossing=%d", r.crossings[i].value)
			err = s.add(openPaper(s.env, s.c, spec, spec))
		}
	}
	return err
}

// busBandwidth measures copies from page-locked memory, in GB/s.
func busBandwidth(ctx context.Context, env *lab.Env, d *lab.Device) (speed float64, err error) {
	n := lab.Pick(env, 64<<20, 1<<16) // words
	m := &deviceMemory{device: d}
	defer func() { err = errors.Join(err, m.free()) }()
	dst, err := room[uint32](m, n)
	if err != nil {
		return 0, err
	}
	src, err := cuda.AllocHost[uint32](d.Device, n)
	if err != nil {
		return 0, err
	}
	m.frees = append(m.frees, src.Free)
	t, err := d.Time(ctx, lab.Pick(env, 10, 1), 1, func() error { return cuda.CopyToDevice(d.Stream, dst, src.Data()) })
	return float64(4*n) / 1e9 / max(t.Median.Seconds(), 1e-9), err
}

// The classes of ratios are fig8Groups, and above.
func ratioClass(ratio float64) int {
	for g := len(fig8Groups) - 1; g > 0; g-- {
		if ratio >= float64(fig8Groups[g]) {
			return g
		}
	}
	return 0
}

func ratioClasses() (names []string) {
	for g := range fig8Groups[1:] {
		names = append(names, fmt.Sprintf("[%d,%d)", fig8Groups[g], fig8Groups[g+1]))
	}
	return append(names, fmt.Sprintf("%d and more", fig8Groups[len(fig8Groups)-1]))
}

// ratioShares returns the shares of intersections by ratio.
func ratioShares(traces []spent) (*lab.Table, *lab.Figure) {
	classes := ratioClasses()
	t := lab.NewTable("Intersections by ratio of lengths, %", "ratio", append(slices.Clone(classes), fmt.Sprintf("below %d", paperCrossing)),
		[]string{"all intersections", "first of a query", "later ones", "all, next list to shortest list"})
	counts := [4][]float64{}
	for i := range counts {
		counts[i] = make([]float64, len(classes))
	}
	for i := range traces {
		for k, x := range traces[i].intersections {
			g := ratioClass(x.ratio())
			counts[0][g]++
			counts[1+min(k, 1)][g]++
			counts[3][ratioClass(float64(x.next)/float64(max(x.shortest, 1)))]++
		}
	}
	for column := range counts {
		share(counts[column])
		below := 0.0
		for g, s := range counts[column] {
			if g < len(fig8Groups)-1 && fig8Groups[g+1] <= paperCrossing {
				below += s
			}
		}
		fillShares(t, column, append(slices.Clone(counts[column]), below))
	}
	t.SetPaper(len(classes), 0, paperShare)
	f := &lab.Figure{Title: t.Title, Kind: lab.Bars, X: "ratio", Y: "share of intersections, %", Categories: t.Rows}
	f.Series = append(f.Series, lab.Series{Name: "all intersections", Points: columnOf(t, 0)})
	papers := make([]float64, len(t.Rows))
	papers[len(classes)] = paperShare
	f.Series = append(f.Series, lab.Series{Name: "the paper (total below 128 only)", Paper: true, Points: lab.Heights(papers...)})
	return t, f
}

func (r *ratioRun) name() string {
	switch {
	case r.value == never:
		return "above all"
	case r.cpuCrossing > 0:
		return fmt.Sprintf("%d, cpu-crossing=%d", r.value, r.cpuCrossing)
	}
	return fmt.Sprint(r.value)
}

// sweep returns the latencies by value of an option.
func (r *ratioRuns) sweep(option string, runs []ratioRun, noDevice string) *lab.Table {
	rows := []string{"CPU alone", "GPU alone"}
	for i := range runs {
		rows = append(rows, runs[i].name())
	}
	t := lab.NewTable("Latency of an AND query by `"+option+"`, µs", option, rows,
		[]string{"mean", "50th", "95th", "99th", "99.9th", "KB to the GPU", "migrate, %", "CPU to this, mean", "CPU to this, 99th", "GPU to this, mean", "GPU to this, 99th"})
	r.sweepRow(t, 0, ratioRun{us: r.cpu, trace: r.cpuTrace}, noDevice)
	r.sweepRow(t, 1, ratioRun{us: r.gpu, trace: r.gpuTrace, bus: r.busOfGPUAlone}, noDevice)
	for i, run := range runs {
		r.sweepRow(t, 2+i, run, noDevice)
		if option == "ratio" && run.value == paperCrossing {
			t.SetPaper(2+i, 7, paperOverCPU)
			t.SetPaper(2+i, 8, fig15Percentiles[3].paper)
			t.SetPaper(2+i, 9, paperOverGPU)
		}
	}
	return t
}

func (r *ratioRuns) sweepRow(t *lab.Table, row int, run ratioRun, noDevice string) {
	if run.us == nil {
		t.LeaveRow(row, noDevice)
		return
	}
	migrated := 0.0
	for i := range run.trace {
		if run.trace[i].migrated {
			migrated += 100 / float64(len(run.trace))
		}
	}
	values := []float64{mean(run.us)}
	for _, num := range []int{500, 950, 990, 999} {
		values = append(values, percentileOf(run.us, num))
	}
	for column, v := range append(values, run.bus, migrated, mean(r.cpu)/mean(run.us), percentileOf(r.cpu, 990)/percentileOf(run.us, 990)) {
		t.Set(row, column, v)
	}
	if r.gpu == nil {
		t.Leave(row, 9, noDevice)
		t.Leave(row, 10, noDevice)
		return
	}
	t.Set(row, 9, mean(r.gpu)/mean(run.us))
	t.Set(row, 10, percentileOf(r.gpu, 990)/percentileOf(run.us, 990))
}

// sweepFigure draws the means.
func (r *ratioRuns) sweepFigure() *lab.Figure {
	f := &lab.Figure{Title: "Mean latency by ratio, crossing and cpu-crossing", Kind: lab.Lines, LogX: true, LogY: true, X: "value of the option", Y: "mean latency, µs"}
	ends := func(name string, us []float64, paper bool) lab.Series {
		return lab.Series{Name: name, Paper: paper, Points: []lab.Point{{X: 1, Y: mean(us)}, {X: 4096, Y: mean(us)}}}
	}
	line := func(name string, runs []ratioRun, cpuCrossing int) lab.Series {
		s := lab.Series{Name: name}
		for i := range runs {
			if runs[i].value != never && runs[i].cpuCrossing == cpuCrossing {
				s.Points = append(s.Points, lab.Point{X: float64(runs[i].value), Y: mean(runs[i].us)})
			}
		}
		return s
	}
	f.Series = []lab.Series{
		line("Griffin, by ratio", r.ratios, 0), line(fmt.Sprintf("the same, cpu-crossing=%d", tunedCPUCrossing), r.ratios, tunedCPUCrossing),
		line("Griffin-GPU, by crossing", r.crossings, 0), line("CPU alone, by cpu-crossing", r.cpus, 0), ends("CPU alone", r.cpu, false), ends("GPU alone", r.gpu, false),
	}
	if low, high, ok := rangeOf(f); ok {
		f.Series = append(f.Series, lab.Series{Name: "the paper's value, 128", Paper: true, Points: []lab.Point{{X: paperCrossing, Y: low}, {X: paperCrossing, Y: high}}})
	}
	return f
}

// best returns the run with the least mean.
func (r *ratioRuns) best() *ratioRun {
	return bestOf(r.ratios, func(run *ratioRun) float64 { return mean(run.us) })
}

func bestOf(runs []ratioRun, cost func(*ratioRun) float64) *ratioRun {
	best := &runs[0]
	for i := range runs {
		if cost(&runs[i]) < cost(best) {
			best = &runs[i]
		}
	}
	return best
}

// paperRun returns the run with the paper's ratio.
func (r *ratioRuns) paperRun() *ratioRun {
	return &r.ratios[slices.IndexFunc(r.ratios, func(run ratioRun) bool { return run.value == paperCrossing })]
}

// byClass compares the systems by the largest ratio of a query.
func (r *ratioRuns) byClass(noDevice string) *lab.Table {
	rows := append([]string{"one list"}, ratioClasses()...)
	members := make([][]int, len(rows))
	for i := range r.cpuTrace {
		class := 0
		for _, x := range r.cpuTrace[i].intersections {
			class = max(class, 1+ratioClass(x.ratio()))
		}
		members[class] = append(members[class], i)
	}
	all := slices.Concat(members...)
	rows, members = append(rows, "all"), slices.Concat(members, [][]int{all})
	columns := []string{"queries", "CPU", "Griffin-GPU", "Griffin, ratio 128", "Griffin, best ratio"}
	for _, of := range []string{"ratio 128", "best ratio"} {
		for _, than := range []string{"CPU", "GPU"} {
			columns = append(columns, fmt.Sprintf("%s to Griffin, %s, mean", than, of), "the same, 99th")
		}
	}
	t := lab.NewTable("Mean latency by largest ratio in a query, µs", "ratio", rows, columns)
	for row := range rows {
		t.Set(row, 0, float64(len(members[row])))
		r.classRow(t, row, members[row], noDevice)
	}
	last := len(rows) - 1
	t.SetPaper(last, 5, paperOverCPU)
	t.SetPaper(last, 7, paperOverGPU)
	t.SetPaper(last, 6, fig15Percentiles[3].paper)
	return t
}

func (r *ratioRuns) classRow(t *lab.Table, row int, members []int, noDevice string) {
	if len(members) == 0 {
		for column := 1; column < len(t.Columns); column++ {
			t.Leave(row, column, "The log has no such queries.")
		}
		return
	}
	cpu := pick(r.cpu, members)
	t.Set(row, 1, mean(cpu))
	if r.gpu == nil {
		for column := 2; column < len(t.Columns); column++ {
			t.Leave(row, column, noDevice)
		}
		return
	}
	gpu, hybrids := pick(r.gpu, members), [][]float64{pick(r.paperRun().us, members), pick(r.best().us, members)}
	t.Set(row, 2, mean(gpu))
	for h, us := range hybrids {
		t.Set(row, 3+h, mean(us))
		for a, alone := range [][]float64{cpu, gpu} {
			t.Set(row, 5+4*h+2*a, mean(alone)/mean(us))
			t.Set(row, 6+4*h+2*a, percentileOf(alone, 990)/percentileOf(us, 990))
		}
	}
}
