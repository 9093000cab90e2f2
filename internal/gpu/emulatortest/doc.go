// Package emulatortest has kernels with faults, and tests that the emulator
// finds each fault, and none in the same kernel without it.
package emulatortest
