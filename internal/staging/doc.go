// Package staging replaces a folder atomically by a new one that is built beside it.
// It removes folders that ended processes left behind. It knows nothing of indexes.
// A Folder belongs to one goroutine.
package staging
