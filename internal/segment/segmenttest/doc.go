// Package segmenttest is a simple model of an index, from which tests write and verify
// segments.
package segmenttest
