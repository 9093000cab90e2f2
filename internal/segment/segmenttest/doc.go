// Package segmenttest provides documents and sources for tests: a simple model
// of an index in memory, from which tests write segments and verify them.
package segmenttest
