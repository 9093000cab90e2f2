// Package postingstest builds posting lists in memory for tests: Write encodes
// lists into the bytes of one segment's files, and RandomList generates lists
// of several shapes. Its values are safe for concurrent reads.
package postingstest
