// Package indextest makes indexes for tests of the packages that search them: Write
// lets a test write documents, Create makes one without any, Snapshot pins what is
// committed. All last until the test ends.
//
// It is for tests only; its functions end the test, so that they are called by its own
// goroutine.
package indextest
