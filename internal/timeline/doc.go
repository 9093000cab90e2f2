// Package timeline draws the steps of a query as bars on a common time axis, in lanes for the
// processors, for waiting and for the bus: a bar shows the measured time of a step, with its
// prediction beside it.
//
// [Of] creates a Chart from a griffin.Trace; [Chart.Text] draws it for a terminal or a file.
// The search page (package server) draws the same Chart as SVG.
//
// A Chart is immutable and safe for concurrent use.
package timeline
