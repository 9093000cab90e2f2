// Package staging replaces a folder atomically by a new one that is built beside it, and
// removes folders of ended processes. A Folder belongs to one goroutine.
package staging
