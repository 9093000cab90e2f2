// Package base holds the types and sentinel errors that every layer shares: document
// numbers, fixed-point scores, and kinds of error. It is not for helpers; these belong to
// their packages. All of it is plain data and safe for concurrent use.
package base
