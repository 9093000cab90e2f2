// Package timeline draws how long the steps of a query took: a line for each, with
// bars on a common axis of time, in lanes for the processors, for waiting and for the
// bus between them. Beside what a step took stands what was predicted of it.
//
// [Of] makes a Chart of a trace of package exec; [Chart.Text] draws it for a terminal or
// a file. The search page (package server) draws the same Chart as SVG.
//
// A Chart does not change and may be read by several goroutines.
package timeline
