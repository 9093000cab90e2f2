// Package segmenttest is a simple model of an index in memory, from which tests write and
// verify segments.
package segmenttest
