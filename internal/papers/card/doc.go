// Package card opens the GPU of an engine of a paper: the papers' systems have one.
package card
