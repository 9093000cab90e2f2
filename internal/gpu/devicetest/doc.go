// Package devicetest tests the device code that kernels share
// (internal/gpu/device): the replacements of CUDA's functions, on a GPU and on
// the emulator, and the warp and block primitives.
package devicetest
