package experiments

import (
	"fmt"

	"github.com/griffin-search/griffin/internal/lab"
)

// The findings of the measurements of griffin18. Numbers come from the records.

// column returns the cells of a column by row.
func column(title, name string) func(row string) lab.Value {
	return func(row string) lab.Value { return lab.At(title, row, name) }
}

// cellsOf returns the cells of a table by row and column.
func cellsOf(title string) func(row, column string) lab.Value {
	return func(row, column string) lab.Value { return lab.At(title, row, column) }
}

var (
	fig7Times   = cellsOf("Time to select the best 10 results of a query, µs")
	fig8Times   = cellsOf("Time of a pair of lists, µs")
	fig8Cross   = column("Ratio of lengths from which on one system is faster", "ratio")
	table1Cells = cellsOf("Compression ratio")
	fig12Times  = cellsOf("Time to decompress a list by the engine griffin18, µs")
	fig13Times  = cellsOf("Time of an intersection, µs")
	fig13Ratios = cellsOf("Time of an intersection on the GPU with a list of 4000000 elements, µs")
	fig14Times  = cellsOf("Mean latency of an AND query, µs")
	fig15Times  = cellsOf("Latency of an AND query, µs")
	sweepRatio  = cellsOf("Latency of an AND query by `ratio`, µs")
	sweepGPU    = cellsOf("Latency of an AND query by `crossing`, µs")
	sweepCPU    = cellsOf("Latency of an AND query by `cpu-crossing`, µs")
	byClass     = cellsOf("Mean latency by largest ratio in a query, µs")
	onMachine   = column("Other machines, computed: mean latency, µs", "the faster alone to Griffin, best ratio")
	tailOn      = column("Other machines, computed: mean latency, µs", "the same, 99th")
	regretHere  = cellsOf("Policies one query at a time: lists resident")
	regretHost  = cellsOf("Policies one query at a time: lists in host memory")
)

// Names of columns and rows that several findings read.
const (
	gpuToGriffin = "Griffin-GPU to Griffin"
	cpuToGriffin = "CPU to Griffin"
	gpuToThis    = "GPU to this, mean"
	gpuToThis99  = "GPU to this, 99th"
	cpuToThis    = "CPU to this, mean"
	aloneRatio   = "the same, intersection alone"
)

var fig7Findings = []lab.Finding{
	lab.Say("As in the paper, the CPU is fastest by the mean over all queries: bucket select takes %s times its time, radix sort %s times. "+
		"Each is several launches, whose time hardly depends on the number of results.",
		fig7Times("all", "bucket select").Over(fig7Times("all", "partial sort, CPU")), fig7Times("all", "radix sort").Over(fig7Times("all", "partial sort, CPU"))).
		If(fig7Times("all", "partial sort, CPU"), fig7Times("all", "Griffin")),
	lab.Say("Beyond the paper: from 1,000 results on, one-launch selection on the GPU is faster than the CPU, which copies all scores first: %s µs and %s µs.",
		fig7Times("1,000 to 9,999", "Griffin"), fig7Times("1,000 to 9,999", "partial sort, CPU")).
		If(fig7Times("1,000 to 9,999", "Griffin"), fig7Times("1,000 to 9,999", "partial sort, CPU")),
}

var fig7Verdicts = []lab.Verdict{
	{
		Compares: "bucket select on the GPU to partial sort on the CPU, mean", Value: fig7Times("all", "bucket select").Over(fig7Times("all", "partial sort, CPU")).Stated(1),
		Claim: lab.Above, Why: "Few results: the launches of a selection cost more than sorting on the CPU",
	},
	{
		Compares: "radix sort on the GPU to partial sort on the CPU, mean", Value: fig7Times("all", "radix sort").Over(fig7Times("all", "partial sort, CPU")).Stated(1),
		Claim: lab.Above, Why: "As before, with more launches",
	},
}

var fig8Findings = []lab.Finding{
	lab.Say("Below a ratio of 128 the direction is the paper's: the CPU takes %s times the time of Griffin-GPU at ratios [1,16) and %s times at [64,128).",
		fig8Times("[1,16)", "CPU to Griffin-GPU"), fig8Times("[64,128)", "CPU to Griffin-GPU")),
	lab.Say("From 128 on, whole queries take about the same time on both: CPU to Griffin-GPU is %s, %s and %s in the three groups, so there is no ratio from which the CPU is faster. "+
		"Of the intersections alone, which the paper times, the CPU is faster from 256 on (%s at [128,256), %s at [256,512), %s at [512,1024)); the paper's crossing is 128. "+
		"A trace waits for the GPU after each step, and repeats a query, so that the CPU finds its lists in the caches; both favour the CPU.",
		fig8Times("[128,256)", "CPU to Griffin-GPU"), fig8Times("[256,512)", "CPU to Griffin-GPU"), fig8Times("[512,1024)", "CPU to Griffin-GPU"),
		fig8Times("[128,256)", aloneRatio), fig8Times("[256,512)", aloneRatio), fig8Times("[512,1024)", aloneRatio)).
		If(fig8Times("[256,512)", aloneRatio), lab.Is(1)).If(lab.Is(1), fig8Times("[128,256)", aloneRatio)),
	lab.Say("The approach of both at 128 is a loss of the GPU, not a gain of the CPU: there Griffin-GPU changes from merging to searching, and its time rises from %s µs to %s µs. "+
		"Had it continued to merge, it would take %s µs and be faster than the CPU at all measured ratios. "+
		"Searching copies less (%s KB of %s KB a pair), but it waits for the numbers of the blocks, and the host gathers thousands of blocks from its memory, which are probably not in its caches.",
		fig8Times("[64,128)", "Griffin-GPU"), fig8Times("[128,256)", "Griffin-GPU"), fig8Times("[128,256)", "Griffin-GPU, merging"),
		fig8Times("[128,256)", "KB to Griffin-GPU"), fig8Times("[64,128)", "KB to Griffin-GPU")).
		If(fig8Times("[128,256)", "Griffin-GPU, merging"), fig8Times("[128,256)", "Griffin-GPU")),
	lab.Say("The CPU searches faster than it merges from a ratio of %s on.", fig8Cross("CPU searches faster than it merges")),
	lab.Say("Griffin's own engine is faster on the GPU at all ratios: %s µs and %s µs at [512,1024).",
		fig8Times("[512,1024)", "Griffin's own engine"), fig8Times("[512,1024)", "Griffin's own engine, CPU")).
		If(fig8Times("[512,1024)", "Griffin's own engine"), fig8Times("[512,1024)", "Griffin's own engine, CPU")),
}

var fig8Verdicts = []lab.Verdict{
	{
		Compares: "CPU to Griffin-GPU, ratios [64,128)", Value: fig8Times("[64,128)", "CPU to Griffin-GPU").Stated(1), Claim: lab.Above,
		Why: "The GPU decodes and merges both lists in parallel",
	},
	{
		Compares: "ratio from which the CPU is faster, whole queries", Value: fig8Cross("CPU is faster than Griffin-GPU"), Plain: true,
		Why: "From 128 on both take about the same time, and both also score",
	},
	{
		Compares: "CPU to Griffin-GPU, intersection alone, ratios [128,256)", Value: fig8Times("[128,256)", aloneRatio).Stated(1), Claim: lab.Below,
		Why: "The crossing is at 256, because our GPU and bus are faster relative to the CPU",
	},
	{
		Compares: "CPU to Griffin-GPU, intersection alone, ratios [256,512)", Value: fig8Times("[256,512)", aloneRatio).Stated(1), Claim: lab.Below,
		Why: "The CPU reads few blocks; the GPU pays launches, waits and copies",
	},
}

var fig10Verdicts = []lab.Verdict{{
	Compares: "lists of 1 K to 1 M elements, %", Value: lab.At("Share of lists in percent", "1 K to 1 M (paper: most)", "like ClueWeb12").Stated(50), Claim: lab.Above, Plain: true,
	Why: "The generated lists follow the wiki passages; the paper says \"most\"",
}}

var fig10Findings = []lab.Finding{
	lab.Say("Of the lists of the generated collection, %s %% have 1 K to 1 M elements, as the paper says of most; of the passages alone %s %%, because there are few documents.",
		lab.At("Share of lists in percent", "1 K to 1 M (paper: most)", "like ClueWeb12"), lab.At("Share of lists in percent", "1 K to 1 M (paper: most)", "wiki")),
}

var fig11Verdicts = fig11Shares("The logs have other shares than the paper's selection, which it does not describe; the experiments select queries by the paper's shares")

func fig11Shares(why string) (verdicts []lab.Verdict) {
	for _, n := range []string{"2", "3", "4"} {
		verdicts = append(verdicts, lab.Verdict{Compares: "queries of " + n + " terms, % of both logs", Value: lab.At("Share of queries in percent", n, "both"), Plain: true, Why: why})
	}
	return verdicts
}

var fig11Findings = []lab.Finding{
	lab.Say("The order is the paper's: three terms are most frequent (%s %% of both logs), then two (%s %%), then four (%s %%). All three shares are smaller, because "+
		"the logs also have queries of one term and of five and more.",
		lab.At("Share of queries in percent", "3", "both"), lab.At("Share of queries in percent", "2", "both"), lab.At("Share of queries in percent", "4", "both")),
}

var griffin18Table1Findings = []lab.Finding{
	lab.Say("The ratio of EF is %s times PForDelta's over all lists together and %s times by the mean of each list's ratio; the paper has 1.39. The direction is the same. "+
		"PForDelta is %s (paper 3.3) and EF %s (paper 4.6): both compress our lists better.",
		table1Cells("all lists together", "EF to PForDelta"), table1Cells("mean of each list's", "EF to PForDelta"),
		table1Cells("all lists together", "PForDelta"), table1Cells("all lists together", "EF")),
	lab.Say("Griffin's PForDelta, with shorter exceptions, closes most of the gap: the ratio of Griffin's EF is %s times its PForDelta's.",
		table1Cells("all lists together", "Griffin's EF to its PForDelta")),
}

var griffin18Table1Verdicts = []lab.Verdict{
	{Compares: "compression ratio of EF to PForDelta's", Value: table1Cells("all lists together", "EF to PForDelta"), Why: "Exceptions cost the paper's PForDelta most; with Griffin's shorter ones the two differ little"},
	{Compares: "compression ratio of PForDelta", Value: table1Cells("all lists together", "PForDelta"), Plain: true, Why: "Depends on the gaps of the collection"},
	{Compares: "compression ratio of EF", Value: table1Cells("all lists together", "EF"), Plain: true, Why: "Depends on the gaps of the collection"},
}

const withAllocation = "speed-up with transfer and allocation"

var fig12Findings = []lab.Finding{
	lab.Say("The speed-up grows with the length, as in the paper: %s at 1 K, %s at 10 K, %s at 100 K, %s at 1 M and %s at 10 M elements, with transfer and allocation. "+
		"The paper has less than 2 for the first two, then 11 to 29.6.",
		fig12Times("1 K", withAllocation), fig12Times("10 K", withAllocation), fig12Times("100 K", withAllocation), fig12Times("1 M", withAllocation), fig12Times("10 M", withAllocation)),
	lab.Say("Up to 10 K elements the CPU is faster here: a launch, a wait, a copy and an allocation cost %s µs before any work, in which the CPU decodes 1 K elements %s times.",
		fig12Times("1 K", "Para-EF with transfer and allocation"), fig12Times("1 K", "Para-EF with transfer and allocation").Over(fig12Times("1 K", "PForDelta, CPU"))).
		If(fig12Times("10 K", withAllocation), lab.Is(1)),
	lab.Say("Decoding alone takes %s µs of %s µs at 10 M elements; the rest is transfer and allocation.",
		fig12Times("10 M", "Para-EF alone"), fig12Times("10 M", "Para-EF with transfer and allocation")),
}

var fig12Verdicts = []lab.Verdict{
	{Compares: "CPU to GPU, lists of 1 K", Value: fig12Times("1 K", withAllocation), Claim: lab.Below, Why: "A launch and a copy dominate; our GPU is even slower than the CPU"},
	{Compares: "CPU to GPU, lists of 10 K", Value: fig12Times("10 K", withAllocation), Claim: lab.Below, Why: "As for 1 K"},
	{Compares: "CPU to GPU, lists of 100 K", Value: fig12Times("100 K", withAllocation), Why: "The CPU decodes such a list in the time of a few launches and allocations"},
	{Compares: "CPU to GPU, lists of 10 M", Value: fig12Times("10 M", withAllocation), Why: "Transfer and allocation take most of the GPU's time"},
}

var fig13Findings = []lab.Finding{
	lab.Say("All directions are the paper's. On the CPU, merging is up to %s times as fast as binary search. On the GPU, MergePath is up to %s times as fast as binary search (paper 2.29), "+
		"but only from 1 M elements on; below, both take the time of a few launches.",
		fig13Times("greatest", "binary to merge"), fig13Times("greatest", "GPU, binary to MergePath")),
	lab.Say("The GPU's advantage is larger than the paper's: up to %s times for merging (paper 87) and %s times for binary search (paper 102). Device times exclude transfers, "+
		"and an H100 has about 16 times the memory bandwidth of a K20. At 1 K elements MergePath is not faster than the CPU: %s.",
		fig13Times("greatest", "merge, CPU to MergePath"), fig13Times("greatest", "binary, CPU to GPU"), fig13Times("1 K", "merge, CPU to MergePath")),
	lab.Say("With uncompressed lists in device memory, the GPU's binary search overtakes MergePath at a ratio of 8 (%s at 4, %s at 8), far below the 128 of compressed lists in host memory.",
		fig13Ratios("4", "binary search to MergePath"), fig13Ratios("8", "binary search to MergePath")).If(fig13Ratios("8", "binary search to MergePath"), lab.Is(1)),
}

var fig13Verdicts = []lab.Verdict{
	{Compares: "binary search to MergePath on the GPU, greatest", Value: fig13Times("greatest", "GPU, binary to MergePath"), Why: "Lists of 10 M do not fit into the L2 cache, where binary search jumps"},
	{Compares: "merge on the CPU to MergePath, greatest", Value: fig13Times("greatest", "merge, CPU to MergePath"), Why: "The GPU has become faster relative to one core; device times without transfers"},
	{Compares: "binary search, CPU to GPU, greatest", Value: fig13Times("greatest", "binary, CPU to GPU"), Why: "As before"},
	{Compares: "binary search to merge on the CPU, greatest", Value: fig13Times("greatest", "binary to merge").Stated(1), Claim: lab.Above, Why: "Lists of equal length: merging reads in order"},
}

var fig14Findings = []lab.Finding{
	lab.Say("**Does a query in two parts pay?** Over the CPU alone, yes: %s times as fast by the mean over all queries (paper 10). Over the GPU alone, by the mean hardly: %s times (paper 1.5).",
		fig14Times("all", cpuToGriffin), fig14Times("all", gpuToGriffin)),
	lab.Say("The gain over the GPU alone depends on the number of terms: %s with 2, %s with 3, %s with 4, %s with 5 and %s with 6 and more. With 2 and 3 terms Griffin is not faster, "+
		"unlike the paper's \"consistently\". A later list meets fewer candidates; with few of them the CPU reads a few blocks, while each step on the GPU costs launches and a wait.",
		fig14Times("2", gpuToGriffin), fig14Times("3", gpuToGriffin), fig14Times("4", gpuToGriffin), fig14Times("5", gpuToGriffin), fig14Times("6 and more", gpuToGriffin)).
		If(fig14Times("3", gpuToGriffin), lab.Is(1)),
	lab.Say("The mean over the GPU alone is within the spread between runs: [griffin18-ratio](griffin18-ratio.md) has a ratio below 1 for the same two systems. "+
		"[griffin18-fig15](griffin18-fig15.md) shows why: most queries gain, and the slowest lose. Our GPU takes %s µs a query and our CPU %s µs, a factor of %s; the paper's factor is about 6.7.",
		fig14Times("all", "Griffin-GPU"), fig14Times("all", "CPU"), fig14Times("all", "CPU").Over(fig14Times("all", "Griffin-GPU"))),
	lab.Say("Griffin's own engine with resident lists is %s times as fast as the paper's system; it answers a query in one or two launches and does not split queries.",
		fig14Times("all", "Griffin to Griffin's own engine")),
}

var fig14Verdicts = []lab.Verdict{
	{Compares: "CPU to Griffin, mean", Value: fig14Times("all", cpuToGriffin), Why: "Our GPU alone leads our CPU alone by less than the paper's does, and queries gain less by moving"},
	{Compares: "GPU alone to Griffin, mean", Value: fig14Times("all", gpuToGriffin), Why: "The slowest queries lose by moving to the CPU; not significant, griffin18-ratio has the opposite direction"},
	{Compares: "GPU alone to Griffin, 3 terms", Value: fig14Times("3", gpuToGriffin).Stated(1), Claim: lab.Above, Why: "Queries with largest ratios from 128 to 1024 lose by moving (griffin18-ratio)"},
	{Compares: "GPU alone to Griffin, 5 terms", Value: fig14Times("5", gpuToGriffin).Stated(1), Claim: lab.Above, Why: "Few candidates are left for the later lists"},
}

var fig15Findings = []lab.Finding{
	lab.Say("**Tail.** Over the CPU alone, Griffin is %s, %s, %s, %s and %s times as fast at the five percentiles. The first is close to the paper's 6.6; then ours fall and the paper's rise to 26.8.",
		fig15Times("80", cpuToGriffin), fig15Times("90", cpuToGriffin), fig15Times("95", cpuToGriffin), fig15Times("99", cpuToGriffin), fig15Times("99.9", cpuToGriffin)).
		If(fig15Times("99.9", cpuToGriffin), fig15Times("80", cpuToGriffin)),
	lab.Say("Over the GPU alone, Griffin gains up to the 95th percentile (%s, %s and %s) and loses behind it (%s at the 99th, %s at the 99.9th): "+
		"at a ratio of 128, a block of 128 postings has one candidate on average, so the CPU decodes most blocks of the next list, one after the other. "+
		"With many candidates that is a long list. A rule by the ratio alone does not see their number.",
		fig15Times("80", gpuToGriffin), fig15Times("90", gpuToGriffin), fig15Times("95", gpuToGriffin), fig15Times("99", gpuToGriffin), fig15Times("99.9", gpuToGriffin)).
		If(fig15Times("99", gpuToGriffin), lab.Is(1)),
	lab.Say("Griffin's own engine has %s µs at the 99.9th percentile with resident lists, the paper's system %s µs.", fig15Times("99.9", "Griffin's own engine"), fig15Times("99.9", "Griffin")),
}

var fig15Verdicts = func() (verdicts []lab.Verdict) {
	for _, p := range fig15Percentiles {
		why := "Slow queries move to the CPU with many candidates left"
		if p.num == 800 {
			why = "Typical queries stay on the GPU or leave few candidates"
		}
		verdicts = append(verdicts, lab.Verdict{Compares: "CPU to Griffin, " + p.name + "th percentile", Value: fig15Times(p.name, cpuToGriffin), Why: why})
	}
	return verdicts
}()

var ratioFindings = []lab.Finding{
	lab.Say("**When does a query in two parts pay?** Over the CPU alone always: with the paper's `ratio=128`, the mean is %s times and the 99th percentile %s times as fast. "+
		"Over the GPU alone not with that value: %s times by the mean, %s times by the 99th percentile. With the best of the measured values, 4096, it is %s times and %s times.",
		sweepRatio("128", cpuToThis), sweepRatio("128", "CPU to this, 99th"), sweepRatio("128", gpuToThis), sweepRatio("128", gpuToThis99),
		sweepRatio("4096", gpuToThis), sweepRatio("4096", gpuToThis99)),
	lab.Say("The typical query gains: the median is %s µs with `ratio=128`, %s µs on the GPU alone and %s µs on the CPU alone. The slow ones lose. No measured value of `ratio` has a better 99th percentile than the GPU alone.",
		sweepRatio("128", "50th"), sweepRatio("GPU alone", "50th"), sweepRatio("CPU alone", "50th")).
		If(sweepRatio("4096", gpuToThis99), lab.Is(1)).If(sweepRatio("512", gpuToThis99), lab.Is(1)).If(sweepRatio("1024", gpuToThis99), lab.Is(1)),
	lab.Say("By class of the largest ratio in a query, Griffin with `ratio=128` over the GPU alone: %s at [128,256), %s at [256,512), %s at [512,1024), and %s from 1024 on, where few candidates are left. "+
		"Below 128, where queries do not move, it is %s to %s: both do the same there. Over the CPU alone it is %s at [1,16) and %s from 1024 on.",
		byClass("[128,256)", "GPU to Griffin, ratio 128, mean"), byClass("[256,512)", "GPU to Griffin, ratio 128, mean"), byClass("[512,1024)", "GPU to Griffin, ratio 128, mean"),
		byClass("1024 and more", "GPU to Griffin, ratio 128, mean"), byClass("[64,128)", "GPU to Griffin, ratio 128, mean"), byClass("[16,32)", "GPU to Griffin, ratio 128, mean"),
		byClass("[1,16)", "CPU to Griffin, ratio 128, mean"), byClass("1024 and more", "CPU to Griffin, ratio 128, mean")).
		If(byClass("[256,512)", "GPU to Griffin, ratio 128, mean"), lab.Is(1)),
	lab.Say("**Spread.** `crossing=128` is the configuration of \"GPU alone\" once more, and has a mean of %s µs instead of %s µs and a 99th percentile of %s µs instead of %s µs. "+
		"Queries whose largest ratio is below 4096 take the same steps with `ratio=4096` as on the GPU alone; the gains of the classes from 128 to 1024 in the columns of the best ratio are therefore spread, too. "+
		"Differences of less than a third in a class, or of a quarter in a 99th percentile, say nothing here.",
		sweepGPU("128", "mean"), sweepGPU("GPU alone", "mean"), sweepGPU("128", "99th"), sweepGPU("GPU alone", "99th")),
	lab.Say("**Crossings.** The GPU alone is fastest with `crossing=1024` (%s µs; always merging %s µs, which copies %s KB a query): merging pays up to far larger ratios than the paper's 128. "+
		"So tuned, the GPU alone is as fast as the best Griffin (%s µs, `ratio=4096`). The CPU alone is fastest with `cpu-crossing=8` (%s µs; %s µs with 128, %s µs if it always searches).",
		sweepGPU("1024", "mean"), sweepGPU("above all", "mean"), sweepGPU("above all", "KB to the GPU"), sweepRatio("4096", "mean"),
		sweepCPU("8", "mean"), sweepCPU("CPU alone", "mean"), sweepCPU("1", "mean")).
		If(sweepGPU("1024", "mean"), sweepGPU("above all", "mean")).If(sweepCPU("8", "mean"), sweepCPU("16", "mean")),
	lab.Say("**Other machines**, from traces, the best `ratio` over the faster processor alone, by the mean: with our CPU %s at the measured bandwidth, %s at 12 GB/s and %s at 3 GB/s; "+
		"with a CPU 4 times as fast %s at the measured bandwidth and %s at 3 GB/s; with one 4 times slower %s and %s; with one 16 times as fast %s and %s. "+
		"In this table two parts pay where the CPU alone takes between about half and three times the time of the GPU alone. A slower bus makes them pay more where the GPU is the faster one, because a move saves copies, and less where the CPU is.",
		onMachine("CPU as measured, bus as measured"), onMachine("CPU as measured, bus of 12 GB/s"), onMachine("CPU as measured, bus of 3 GB/s"),
		onMachine("CPU 4 times faster, bus as measured"), onMachine("CPU 4 times faster, bus of 3 GB/s"),
		onMachine("CPU 4 times slower, bus as measured"), onMachine("CPU 4 times slower, bus of 3 GB/s"),
		onMachine("CPU 16 times faster, bus as measured"), onMachine("CPU 16 times faster, bus of 3 GB/s")).
		If(lab.Is(1), onMachine("CPU as measured, bus as measured")).If(onMachine("CPU 16 times faster, bus of 3 GB/s"), lab.Is(1)),
	lab.Say("The 99th percentile pays with our CPU only at 6 GB/s and less (%s at 12 GB/s, %s at 6 GB/s), and with a CPU 4 times as fast at all bandwidths (%s at 3 GB/s). "+
		"Traces wait after each step on the GPU, and the CPU has the lists of a repeated query in its caches, so these gains are upper bounds: untraced, `ratio=512` gains %s over the GPU alone.",
		tailOn("CPU as measured, bus of 12 GB/s"), tailOn("CPU as measured, bus of 6 GB/s"), tailOn("CPU 4 times faster, bus of 3 GB/s"), sweepRatio("512", gpuToThis)).
		If(tailOn("CPU as measured, bus of 12 GB/s"), lab.Is(1)).If(lab.Is(1), tailOn("CPU as measured, bus of 6 GB/s")),
	lab.Say("With a GPU of about the paper's memory bandwidth and its bus, `ratio=128` is %s times as fast as the GPU alone (paper 1.5), but our CPU alone is faster still: %s. "+
		"By its ratio of 10, the paper's CPU is slower relative to its GPU than ours is there.",
		lab.At("Other machines, computed: mean latency, µs", "GPU 16 times slower, bus of 8 GB/s", "GPU to Griffin, ratio 128"), onMachine("GPU 16 times slower, bus of 8 GB/s")),
}

var ratioVerdicts = []lab.Verdict{
	{
		Compares: "intersections with a ratio below 128, %", Value: lab.At("Intersections by ratio of lengths, %", fmt.Sprintf("below %d", paperCrossing), "all intersections"), Plain: true,
		Claim: lab.Above, Why: "Fewer candidates are left for later lists: terms occur together as in the wiki passages",
	},
	{Compares: "CPU alone to `ratio=128`, mean", Value: sweepRatio("128", cpuToThis), Why: "As griffin18-fig14, with every fourth query"},
	{Compares: "GPU alone to `ratio=128`, mean", Value: sweepRatio("128", gpuToThis), Why: "Queries with largest ratios from 128 to 1024 lose by moving; those above gain"},
	{Compares: "GPU alone to the best ratio, mean", Value: sweepRatio("4096", gpuToThis).Stated(paperOverGPU), Why: "Only queries with few candidates move; a GPU with `crossing=1024` is as fast without moving"},
	{Compares: "CPU alone to `ratio=128`, 99th percentile", Value: sweepRatio("128", "CPU to this, 99th"), Why: "Slow queries move to the CPU with many candidates left"},
}

var regretFindings = []lab.Finding{
	lab.Say("**Two parts and Griffin's own engine.** The rule `ratio` splits %s %% of the queries and takes %s µs by the mean with resident lists, where the GPU alone takes %s µs and the best of all placements, "+
		"which include every split, %s µs: a regret of %s %%. With lists in host memory it is %s %%.",
		regretHere("ratio", "on both, %"), regretHere("ratio", "mean, µs"), regretHere("gpu", "mean, µs"), regretHere("oracle", "mean, µs"), regretHere("ratio", "regret, %"), regretHost("ratio", "regret, %")).
		If(regretHere("gpu", "mean, µs"), regretHere("ratio", "mean, µs")),
	lab.Say("So for kernels that answer a query in one or two launches and lists that are resident or read over the bus by block, splitting does not pay: a split needs launches of its own, a copy and a wait. "+
		"Policy `cost` never splits, and has a regret of %s %% with resident lists and %s %% with lists in host memory, at most %s %% and %s %%.",
		regretHere("cost", "regret, %"), regretHost("cost", "regret, %"), regretHere("cost", "at most, %"), regretHost("cost", "at most, %")).
		If(regretHere("cost", "on both, %"), lab.Is(1)),
	lab.Say("The regret of the GPU alone, %s %% (at most %s %%) with resident lists, shows how little the best placement gains over it.",
		regretHere("gpu", "regret, %"), regretHere("gpu", "at most, %")),
}

var regretVerdicts = []lab.Verdict{
	{Compares: "regret of the rule at 128, %, lists resident", Value: regretHere("ratio", "regret, %"), Plain: true, Why: "Not in the paper, which shows no loss of its rule; on Griffin's GPU engine a whole query takes one or two launches"},
	{Compares: "regret of the rule at 128, %, lists in host memory", Value: regretHost("ratio", "regret, %"), Plain: true, Why: "As before"},
}
