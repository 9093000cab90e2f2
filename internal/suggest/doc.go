// Package suggest finds the known name that a user most likely meant by an
// unknown one. It is not a spelling corrector for query words: it compares with
// every known name. Its functions are safe for concurrent use.
package suggest
