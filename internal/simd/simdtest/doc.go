// Package simdtest runs tests at each level of vector instructions that the
// machine has. It is for tests only; its functions change a process-wide setting.
package simdtest
