// Package simdtest runs tests at each level of vector instructions. It changes a process-wide
// setting.
package simdtest
