// Package devicetest tests the device code that kernels share (internal/gpu/device):
// what stands for CUDA's own functions, the same on a GPU and on the emulator, and
// the primitives over warps and blocks. It has nothing for other packages.
package devicetest
