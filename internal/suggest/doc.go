// Package suggest finds the known name that a user most likely meant. It compares with every
// known name, so it is not a spelling corrector for query words. Its functions are safe for
// concurrent use.
package suggest
