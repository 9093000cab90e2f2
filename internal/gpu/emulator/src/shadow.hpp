// Whether a byte is allocated and was written, and which thread accessed it last.
//
//	arena     | device 0 | device 1 | device 2 | device 3 | page-locked host memory |
//	written   one byte per byte of the devices' parts: 1 once it was written
//	cells     16 bytes per word of the devices' parts: its last write and reads
//
// All three reserve address space; pages use memory only when touched.
//
// Under the address sanitizer, which checks the same accesses with other gaps,
// these checks are off.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernel.hpp"

namespace griffin::emulator {

constexpr bool checked = !__has_feature(address_sanitizer);

constexpr int maxDevices = 4;
constexpr size_t deviceSpan = size_t{4} << 30;
constexpr size_t hostSpan = size_t{8} << 30;
constexpr size_t devicesSpan = maxDevices * deviceSpan;
constexpr size_t arenaSpan = devicesSpan + hostSpan;

extern char* arena;
extern uint8_t* written;

// False if there is no address space.
bool mapArena();

// Whose memory running kernels may access.
void useDevice(int device);

// Device memory.
void markWritten(const void* address, size_t bytes);
void forgetWritten(const void* address, size_t bytes);
// Between ranges of device memory.
void copyWritten(const void* target, const void* source, size_t bytes);

}  // namespace griffin::emulator
