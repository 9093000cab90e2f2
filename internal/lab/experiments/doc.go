// Package experiments has one file for each reproduced table and figure of the
// papers: ao11_table1.go declares ao11-table1. All lists them; a new one needs
// a file and a line in All.
//
// Package lab documents the contract of an experiment. The
// search engine does not use this package.
package experiments
