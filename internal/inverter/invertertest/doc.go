// Package invertertest makes documents and computes the expected content of their index by a
// reference inversion, for tests of packages inverter and index.
//
// Its functions end the test, so only the test's goroutine may call them.
package invertertest
