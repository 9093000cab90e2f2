// Package arch holds no code: its tests keep the shape of the repository.
//
// They check what no compiler checks: that an import points only downward
// (deps_test.go holds the layer table), that every package says what it is
// for, that every fuzz target is in the list that CI runs, that links in the
// documents resolve, and that the commands and the program of the README run.
//
// It is not the place for tests of one package's behaviour: those stand beside
// that package.
package arch
