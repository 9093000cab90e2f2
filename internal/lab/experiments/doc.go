// Package experiments has one file for each table and figure of the papers that
// Griffin redraws, named after it: ao11_table1.go declares ao11-table1. All lists
// them; a new one is a file and a line.
//
// What an experiment may use, and what it must fill, is the contract of package
// lab. Nothing here is used by the search engine.
package experiments
