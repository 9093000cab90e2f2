// Package indextest makes indexes, which last until the test ends, for tests of packages that
// search them. An error ends the test, so only the test's goroutine may call its functions.
package indextest
