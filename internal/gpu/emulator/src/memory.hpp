// Allocations of device memory and of page-locked host memory in the arena, and
// other host memory that was registered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace griffin::emulator {

struct Allocation {
    char* low;
    size_t bytes;
    int device;  // -1: page-locked host memory
    uint64_t number;
    const char* made;  // the driver function that made it

    bool holds(const void* address, size_t n) const {
        auto offset = static_cast<size_t>(static_cast<const char*>(address) - low);
        return static_cast<const char*>(address) >= low && offset <= bytes && n <= bytes - offset;
    }
};

// Takes memory, or returns null if limit bytes of the device are in use or there is
// no room. Addresses are not used again soon, so that a stale one is found out.
char* allocate(int device, size_t bytes, size_t limit, const char* made);
// Frees the allocation that begins at address. False: there is none.
bool release(const void* address, int device);
void releaseAll(int device);
size_t usedBytes(int device);

// The live allocation that address lies in, or null.
const Allocation* findAllocation(const void* address);
// In words, where address is with respect to allocations near it.
std::string describeAddress(const void* address);

// Host memory that the device may access.
bool registerHost(void* address, size_t bytes);
bool unregisterHost(void* address);
bool isRegistered(const void* address, size_t bytes);

}  // namespace griffin::emulator
