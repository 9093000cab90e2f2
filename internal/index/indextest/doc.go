// Package indextest makes indexes for tests, which last until the test ends. An error ends the
// test, so only its goroutine may call functions.
package indextest
