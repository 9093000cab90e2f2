package experiments

import "github.com/griffin-search/griffin/internal/lab"

// The findings of the measurements of ding09 and ding08.

var (
	ding09Sizes      = cellsOf("Bytes per DocID")
	ding09Speeds     = cellsOf("Millions of integers a second")
	ding09SameLength = cellsOf("Nanoseconds an element of one list, both of the same length")
	ding09Unlike     = cellsOf("Nanoseconds an element of the shorter list, of 200000")
	ding09Faster     = cellsOf("How many times faster the GPU is")
	ding09Dearer     = column("How much dearer than AND", "OR")
	ding09Queries    = cellsOf("Milliseconds a query, top 10")
	ding09AndShares  = cellsOf("AND, percent of the time")
	ding09OrShares   = cellsOf("OR, percent of the time")
	ding08Times      = column("Milliseconds a query", "speed-up")
)

const (
	byBlock       = "to PForDelta by block"
	byBlockRandom = "random, to PForDelta by block"
)

var ding09Fig3Findings = []lab.Finding{
	lab.Say("As in the paper, Rice is the smallest (%s of PForDelta by block), no recursion is the largest (%s), and levels after the first gain little (%s with one, %s with two).",
		ding09Sizes("Rice", byBlock), ding09Sizes("one b, 0 levels", byBlock), ding09Sizes("one b, 1 levels", byBlock), ding09Sizes("one b, 2 levels", byBlock)).
		If(ding09Sizes("Rice", byBlock), lab.Is(1)),
	lab.Say("One direction deviates: with one level, the paper's lists are slightly smaller than by block, ours are not (%s). On random DocIDs they are (%s). "+
		"The reason is the density, which varies along the lists of our collection: b adapts to it by block, but not by list.",
		ding09Sizes("one b, 1 levels", byBlock), ding09Sizes("one b, 1 levels", byBlockRandom)).
		If(lab.Is(1), ding09Sizes("one b, 1 levels", byBlock)).If(ding09Sizes("one b, 1 levels", byBlockRandom), lab.Is(1)),
}

var ding09Fig3Verdicts = []lab.Verdict{
	{Compares: "Rice to PForDelta by block, size", Value: ding09Sizes("Rice", byBlock).Stated(1), Claim: lab.Below, Why: "Rice adapts to every gap"},
	{Compares: "one b, no recursion, to PForDelta by block", Value: ding09Sizes("one b, 0 levels", byBlock).Stated(1), Claim: lab.Above, Why: "Exceptions are stored in full"},
	{Compares: "one level to PForDelta by block", Value: ding09Sizes("one b, 1 levels", byBlock).Stated(1), Claim: lab.Below, Why: "The density varies along our lists, to which b by block adapts"},
	{Compares: "one level to PForDelta by block, random DocIDs", Value: ding09Sizes("one b, 1 levels", byBlockRandom).Stated(1), Claim: lab.Below, Why: "Even density, as the paper's result suggests of its lists"},
}

var ding09Table1Verdicts = []lab.Verdict{
	{
		Compares: "PForDelta, GPU to CPU", Value: ding09Speeds("PForDelta", "GPU").Over(ding09Speeds("PForDelta", "CPU")),
		Why: "The GPU has become faster relative to one core",
	},
	{
		Compares: "Rice, GPU to CPU", Value: ding09Speeds("Rice", "GPU").Over(ding09Speeds("Rice", "CPU")),
		Why: "As before; the paper's GPU is slightly slower than its CPU",
	},
	{
		Compares: "PForDelta to Rice on the CPU", Value: ding09Speeds("PForDelta", "CPU").Over(ding09Speeds("Rice", "CPU")),
		Why: "Our Rice decodes its unary part with bit-count instructions",
	},
}

var ding09Fig4Verdicts = []lab.Verdict{
	{
		Compares: "GPU to CPU, DocIDs, lists of 1 K", Value: ding09Speeds("1 K", "GPU+LPS, DocIDs").Over(ding09Speeds("1 K", "CPU")).Stated(1), Claim: lab.Below,
		Why: "A launch for each list",
	},
	{
		Compares: "GPU to CPU, DocIDs, lists of 8192 K", Value: ding09Speeds("8192 K", "GPU+LPS, DocIDs").Over(ding09Speeds("8192 K", "CPU")).Stated(1), Claim: lab.Above,
		Why: "Long lists fill the GPU",
	},
	{
		Compares: "GPU, gaps to DocIDs, lists of 8192 K", Value: ding09Speeds("8192 K", "GPU, gaps").Over(ding09Speeds("8192 K", "GPU+LPS, DocIDs")).Stated(1), Claim: lab.Above,
		Why: "The paper's prefix sum costs much, ours nearly nothing",
	},
}

var ding09Fig6Verdicts = []lab.Verdict{
	{
		Compares: "ns per element with 2 levels, lists of 16 million", Value: ding09SameLength("16000000", "2 levels").Stated(ding09Nanoseconds), Claim: lab.Below, Plain: true,
		Why: "A faster GPU",
	},
	{
		Compares: "no level to 2 levels, lists of 16 million", Value: ding09SameLength("16000000", "0 levels").Over(ding09SameLength("16000000", "2 levels")).Stated(1), Claim: lab.Above,
		Why: "Splitters keep searches near each other; one level is best here, two or three in the paper",
	},
	{
		Compares: "3 levels, 12.8 million to 200,000 elements in the longer list", Value: ding09Unlike("12800000", "3 levels").Over(ding09Unlike("200000", "3 levels")).
				Stated(float64(ding09NanosecondsUnlike) / ding09Nanoseconds), Why: "The cache holds the upper part of the longer list",
	},
}

var ding09Table2Verdicts = []lab.Verdict{
	{
		Compares: "CPU to GPU, AND", Why: "The GPU has become faster relative to one core",
		Value: ding09Faster("engine ding09", "AND").Or(ding09Queries("CPU, as the paper", "AND").Over(ding09Queries("GPU, as the paper", "AND"))),
	},
	{
		Compares: "CPU to GPU, OR", Why: "As before",
		Value: ding09Faster("engine ding09", "OR").Or(ding09Queries("CPU, as the paper", "OR").Over(ding09Queries("GPU, as the paper", "OR"))),
	},
	{
		Compares: "OR to AND on the CPU", Value: ding09Dearer("CPU, engine ding09").Or(ding09Dearer("CPU, as the paper")),
		Why: "More documents match an AND in the generated collection, so that it spends more on scores",
	},
}

var ding09Table3Verdicts = []lab.Verdict{
	{Compares: "AND: top-k scoring, %", Value: ding09Share(ding09AndShares, "top-k scoring"), Plain: true, Why: "Steps take a few microseconds of launches each, whatever their work"},
	{Compares: "AND: intersection, %", Value: ding09Share(ding09AndShares, "intersection"), Plain: true, Why: "As before"},
	{Compares: "AND: decompression, %", Value: ding09Share(ding09AndShares, "decompression"), Plain: true, Why: "As before"},
	{Compares: "OR: scoring, %", Value: ding09Share(ding09OrShares, "scoring"), Plain: true, Why: "The step with most accesses to memory, as in the paper"},
}

// ding09Share reads the first row of a table of shares.
func ding09Share(of func(row, column string) lab.Value, step string) lab.Value {
	return of("all queries", step).Or(of("share", step))
}

// ding09Rates are the highest rates, also of records of an earlier method.
func ding09Rates(row string) lab.Value {
	const at = "500 ms, one core"
	return lab.At("Simulated with times of engine ding09: highest rate at which no query is late, queries/s", row, at).
		Or(lab.At("Highest rate at which no query is late, queries/s", row, at))
}

func ding09Error(row string) lab.Value {
	const at = "mean relative error, %"
	return lab.At("Prediction of times of engine ding09 by model trees", row, at).Or(lab.At("Prediction of times by model trees", row, at))
}

var ding09Fig7Verdicts = []lab.Verdict{
	{
		Compares: "both in parallel to CPU only, highest rate", Value: ding09Rates("both in parallel").Over(ding09Rates("CPU only")), Claim: lab.Above,
		Why: "The GPU is faster relative to one core; the paper's ratio is of its bounds, more than 300 and less than 100",
	},
	{
		Compares: "both in parallel to GPU only, highest rate", Value: ding09Rates("both in parallel").Over(ding09Rates("GPU only")).Stated(1), Claim: lab.Above,
		Why: "The CPU takes a part of the load",
	},
	{Compares: "error of predictions, GPU, %", Value: ding09Error("GPU"), Plain: true, Why: "Depends on the engine whose times are predicted"},
	{Compares: "error of predictions, CPU, %", Value: ding09Error("CPU"), Plain: true, Why: "As before"},
}

var ding08Table1Verdicts = []lab.Verdict{
	{Compares: "CPU to GPU, decompression", Value: ding08Times("decompression"), Why: "The GPU has become faster relative to one core"},
	{Compares: "CPU to GPU, intersection", Value: ding08Times("intersection"), Why: "As before"},
	{Compares: "CPU to GPU, total", Value: ding08Times("total"), Why: "As before"},
}
