// Package base holds the types and sentinel errors that every layer shares: document
// numbers, fixed-point scores, and kinds of error. It is not for helpers. All of it is
// plain data and safe for concurrent use.
package base
