// Device memory and page-locked host memory in the arena, and registered host memory.
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
    const char* made;  // the driver function that allocated it

    bool holds(const void* address, size_t n) const {
        auto offset = static_cast<size_t>(static_cast<const char*>(address) - low);
        return static_cast<const char*>(address) >= low && offset <= bytes && n <= bytes - offset;
    }
};

// Null if limit bytes of the device are in use or there is no room. Addresses are not reused soon, to detect use after
// free.
char* allocate(int device, size_t bytes, size_t limit, const char* made);
// False if no allocation begins at address.
bool release(const void* address, int device);
void releaseAll(int device);
size_t usedBytes(int device);

// The live allocation that contains address, or null.
const Allocation* findAllocation(const void* address);
// Relative to nearby allocations.
std::string describeAddress(const void* address);

// Host memory that the device may access.
bool registerHost(void* address, size_t bytes);
bool unregisterHost(void* address);
bool isRegistered(const void* address, size_t bytes);

}  // namespace griffin::emulator
