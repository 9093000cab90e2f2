// Package indextest makes indexes for tests of packages that search them. The indexes and snapshots
// last until the test ends. Its functions end the test on an error, so only the test's goroutine
// may call them.
package indextest
