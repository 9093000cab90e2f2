// Package invertertest makes documents and computes their index by a reference inversion.
//
// Its functions end the test, so only the test's goroutine may call them.
package invertertest
