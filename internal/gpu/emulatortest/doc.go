// Package emulatortest holds kernels with faults, and tests that the emulator finds
// each of them and nothing in the same kernel without it. It has nothing for other
// packages.
package emulatortest
