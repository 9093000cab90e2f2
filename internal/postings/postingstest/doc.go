// Package postingstest builds posting lists in memory for tests of the packages
// that read them: Write compresses uncompressed lists into the bytes of one
// segment's files, RandomList draws lists of different shapes.
//
// It is for tests only; its values may be read by several goroutines.
package postingstest
