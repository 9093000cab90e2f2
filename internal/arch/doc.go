// Package arch holds no code. Its tests check properties of the repository that no compiler
// checks: imports point only downward (deps_test.go holds the layer table), every package
// has a doc comment, types and files stay small (sizes_test.go has the limits), every fuzz
// target is in the list that CI runs, links in the documents resolve, and the commands and
// the program of the README run.
//
// Tests of one package's behaviour belong to that package.
package arch
