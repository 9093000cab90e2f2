// Package postingstest builds posting lists in memory for tests. Its values are safe for
// concurrent reads.
package postingstest
