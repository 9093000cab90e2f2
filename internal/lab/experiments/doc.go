// Package experiments has one file for each reproduced table and figure of the
// papers: ao11_table1.go declares ao11-table1. A new one also needs a line in
// All. Package lab documents the contract of an experiment.
package experiments
