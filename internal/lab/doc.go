// Package lab runs the experiments of the papers that Griffin builds on, and
// writes what came out beside what the papers printed: tables with a ratio in
// every cell, figures as SVG, and how each number was obtained.
//
// An Experiment is one table or figure. Its Run gets an Env, which opens or
// makes collections (package collection), reads query logs, and measures; it
// returns a Result of Tables, Figures and notes. A Table declares its cells
// when it is made, and a Result in which one is neither filled nor left out
// with a reason is an error: what is missing is said, never silently absent.
//
// The Store keeps a Record (result and provenance) of each experiment as JSON,
// written as soon as it is there; Render makes the report, Markdown and SVG, of
// the records alone. The experiments themselves are in internal/lab/experiments,
// one a file, named after what they redraw.
//
// The package is not for benchmarks of Griffin against other engines (see
// bench) nor for tests of correctness. An Env and all it returns are for one
// goroutine.
package lab
