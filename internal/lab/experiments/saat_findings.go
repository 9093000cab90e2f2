package experiments

import "github.com/griffin-search/griffin/internal/lab"

// Findings of the measurements of saat.

var (
	saatTimes   = cellsOf("")
	saatClauses = cellsOf("Algorithm 1")
	saatSecond  = cellsOf("Algorithm 2")
)

var saatTable1Verdicts = []lab.Verdict{
	{Compares: "reduction by all optimizations, %", Value: saatTimes("Array, 2, inline", "reduction, %"), Why: "Inlining gains more here"},
	{Compares: "reduction against JASS, %", Value: saatTimes("Array, 2, inline", "against JASS, %"), Why: "As before"},
	{Compares: "reduction by arrays alone, %", Value: saatTimes("Array, 1", "reduction, %"), Why: "An address less per access"},
	{Compares: "reduction by Algorithm 2 alone, %", Value: saatTimes("Dynamic, 2", "reduction, %"), Why: "The gain depends on the processor: on a 2-core AMD EPYC it was 1 %"},
}

var saatTable2Verdicts = []lab.Verdict{
	{Compares: "third clause, else, %", Value: saatClauses("third clause, else of if", "share, %"), Plain: true, Why: "Nearly all additions leave the heap unchanged"},
}

var saatTable3Verdicts = []lab.Verdict{
	{Compares: "one comparison, false, %", Value: saatSecond("one comparison, false (line 2)", "share, %"), Plain: true, Why: "As Table 2; the other numbers are unreadable in the available text"},
}

var saatFig2Verdicts = []lab.Verdict{
	{
		Compares: "reduction by 4 threads, all optimizations, %", Plain: true, Why: "Today's memory bandwidth is not the limit at 4 threads",
		Value: lab.At("Time of all queries; a linear speed-up would be a reduction by 50 % with 2 threads and 75 % with 4", "4", "reduction, %"),
	},
}
