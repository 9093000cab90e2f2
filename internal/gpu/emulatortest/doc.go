// Package emulatortest has kernels with faults, and tests that the emulator
// finds each fault, and finds none in the same kernel without it. It exports
// nothing.
package emulatortest
