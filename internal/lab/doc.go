// Package lab runs the experiments of the papers that Griffin builds on, and
// writes our results next to the papers' numbers.
//
// An Experiment is one table or figure. Its Run gets an Env, which opens or
// generates collections (package collection), reads query logs, and measures,
// and returns a Result of Tables, Figures and notes. A Table declares its cells
// in advance; a cell that is neither filled nor omitted with a reason is an
// error.
//
// The Store keeps a Record (result and provenance) of each experiment as JSON.
// A Report creates the pages, Markdown and SVG, from the records, with the texts
// of the experiments: Findings state numbers of a record, and Verdicts compare
// some with the paper's. The experiments are in package experiments.
//
// For benchmarks against other engines see bench. An Env and everything it
// returns belong to one goroutine.
package lab
