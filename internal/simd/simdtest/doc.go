// Package simdtest runs tests at each level of vector instructions of the machine. Its
// functions change a process-wide setting.
package simdtest
