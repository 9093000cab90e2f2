// Package base holds the few types and sentinel errors that every layer of
// Griffin shares: document numbers, fixed-point scores, and the kinds of error.
//
// It is not a home for helpers: what belongs to one package lives in that
// package. All of it is plain data and safe for concurrent use.
package base
