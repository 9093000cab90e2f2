// Package lab runs the experiments of the papers that Griffin builds on, and
// writes our results next to the papers' numbers: tables with a ratio in every
// cell, figures as SVG, and the provenance of each number.
//
// An Experiment is one table or figure. Its Run gets an Env, which opens or
// generates collections (package collection), reads query logs, and measures.
// It returns a Result of Tables, Figures and notes. A Table declares its cells
// in advance; a Result with a cell that is neither filled nor omitted with a
// reason is an error, so that no gap goes unnoticed.
//
// The Store keeps a Record (result and provenance) of each experiment as JSON,
// saved when the experiment ends. Render creates the report, Markdown and SVG,
// from the records alone. The experiments are in internal/lab/experiments, one
// per file, named after the table or figure.
//
// For benchmarks against other engines see bench. Correctness is tested
// elsewhere. An Env and everything it returns belong to one goroutine.
package lab
