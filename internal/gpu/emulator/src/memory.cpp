#include "memory.hpp"

#include <sys/mman.h>

#include <cstring>
#include <map>

#include "report.hpp"
#include "shadow.hpp"

#if __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(low, bytes) ((void)(low))
#define ASAN_UNPOISON_MEMORY_REGION(low, bytes) ((void)(low))
#endif

namespace griffin::emulator {

namespace {

constexpr size_t pageBytes = 4096;
constexpr size_t gapBytes = 256;         // minimum on both sides of an allocation
constexpr size_t largeBytes = 64 << 10;  // from this size, memory is returned in pages

// Of one device, or of the host.
struct Part {
    char* low;
    size_t span;
    size_t used = 0;
    std::map<char*, Allocation> live;
    char* cursor;  // where the search for the next allocation begins
};

Part& part(int device) {
    static Part parts[maxDevices + 1];
    static bool made = [] {
        for (int i = 0; i <= maxDevices; i++) {
            parts[i].low = parts[i].cursor = arena + i * deviceSpan;
            parts[i].span = i == maxDevices ? hostSpan : deviceSpan;
        }
        return true;
    }();
    (void)made;
    return parts[device < 0 ? maxDevices : device];
}

uint64_t numMade;
std::map<char*, size_t> registered;

char* roundUp(char* address, size_t to) {
    return reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(address) + to - 1) & ~(to - 1));
}

// At or after from, with a gap on both sides; null if there is no room.
char* findRoom(Part& p, char* from, size_t bytes) {
    size_t unit = bytes >= largeBytes ? pageBytes : gapBytes;
    auto next = p.live.lower_bound(from);
    if (next != p.live.begin()) {
        const Allocation& before = std::prev(next)->second;
        char* end = before.low + before.bytes;
        from = end > from ? end : from;
    }
    for (;; ++next) {
        char* at = roundUp(from + unit, unit);
        char* end = next == p.live.end() ? p.low + p.span : next->first;
        if (at < end && static_cast<size_t>(end - at) >= bytes + unit) return at;
        if (next == p.live.end()) return nullptr;
        from = next->first + next->second.bytes;
    }
}

}  // namespace

char* allocate(int device, size_t bytes, size_t limit, const char* made) {
    Part& p = part(device);
    if (bytes > limit || p.used > limit - bytes || bytes > p.span) return nullptr;
    char* at = findRoom(p, p.cursor, bytes);
    if (!at) at = findRoom(p, p.low, bytes);
    if (!at) return nullptr;
    p.live[at] = Allocation{at, bytes, device, ++numMade, made};
    p.used += bytes;
    p.cursor = at + bytes;
    ASAN_UNPOISON_MEMORY_REGION(at, bytes);
    ASAN_POISON_MEMORY_REGION(at - gapBytes, gapBytes);
    ASAN_POISON_MEMORY_REGION(at + bytes, gapBytes);
    return at;
}

bool release(const void* address, int device) {
    Part& p = part(device);
    auto found = p.live.find(static_cast<char*>(const_cast<void*>(address)));
    if (found == p.live.end()) return false;
    const Allocation a = found->second;
    p.live.erase(found);
    p.used -= a.bytes;
    if (device >= 0) forgetWritten(a.low, a.bytes);
    if (a.bytes >= largeBytes) {
        madvise(a.low, a.bytes & ~(pageBytes - 1), MADV_DONTNEED);
    } else {
        memset(a.low, 0xdd, a.bytes);
    }
    ASAN_POISON_MEMORY_REGION(a.low, a.bytes);
    return true;
}

void releaseAll(int device) {
    Part& p = part(device);
    while (!p.live.empty()) release(p.live.begin()->first, device);
}

size_t usedBytes(int device) {
    return part(device).used;
}
const Allocation* findAllocation(const void* address) {
    auto offset = static_cast<size_t>(static_cast<const char*>(address) - arena);
    if (offset >= arenaSpan) return nullptr;
    Part& p = part(offset < devicesSpan ? static_cast<int>(offset / deviceSpan) : -1);
    auto next = p.live.upper_bound(static_cast<char*>(const_cast<void*>(address)));
    if (next == p.live.begin()) return nullptr;
    const Allocation& a = std::prev(next)->second;
    return a.holds(address, 1) ? &a : nullptr;
}

std::string describeAddress(const void* address) {
    auto* at = static_cast<const char*>(address);
    auto offset = static_cast<size_t>(at - arena);
    if (offset >= arenaSpan) return "in no memory of the device";
    Part& p = part(offset < devicesSpan ? static_cast<int>(offset / deviceSpan) : -1);
    auto next = p.live.upper_bound(const_cast<char*>(at));
    const Allocation* before = next == p.live.begin() ? nullptr : &std::prev(next)->second;
    const Allocation* after = next == p.live.end() ? nullptr : &next->second;
    auto name = [](const Allocation& a) {
        return format("allocation %llu (%zu bytes, %s)", static_cast<unsigned long long>(a.number), a.bytes, a.made);
    };
    if (before && before->holds(at, 1)) return format("%zu bytes into ", size_t(at - before->low)) + name(*before);
    size_t past = before ? static_cast<size_t>(at - (before->low + before->bytes)) : ~size_t{0};
    size_t ahead = after ? static_cast<size_t>(after->low - at) : ~size_t{0};
    if (!before && !after) return "while nothing is allocated";
    if (past <= ahead) return format("%zu bytes after the end of ", past) + name(*before);
    return format("%zu bytes before ", ahead) + name(*after);
}

bool registerHost(void* address, size_t bytes) {
    auto* at = static_cast<char*>(address);
    auto next = registered.lower_bound(at + bytes);
    if (next != registered.begin() && std::prev(next)->first + std::prev(next)->second > at) return false;
    registered[at] = bytes;
    return true;
}

bool unregisterHost(void* address) {
    return registered.erase(static_cast<char*>(address)) == 1;
}

bool isRegistered(const void* address, size_t bytes) {
    auto* at = static_cast<char*>(const_cast<void*>(address));
    auto next = registered.upper_bound(at);
    if (next == registered.begin()) return false;
    auto [low, size] = *std::prev(next);
    return at + bytes <= low + size;
}

}  // namespace griffin::emulator
