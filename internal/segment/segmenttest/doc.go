// Package segmenttest has documents and sources for tests: a slow, obvious
// picture of an index in memory, to write segments from and to hold them against.
package segmenttest
