// Package enginetest compares engines of the papers with the default engine on the CPU, on random
// indexes and on collections. Its functions end the test on an error, so only the goroutine of the test
// may call them.
package enginetest
