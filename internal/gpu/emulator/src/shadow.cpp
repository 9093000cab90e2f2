#include "shadow.hpp"

#include <sys/mman.h>

#include <cstring>

#include "block.hpp"
#include "codes.hpp"
#include "memory.hpp"
#include "report.hpp"

// The section of kernels' shared variables.
extern "C" char __start_griffin_shared[] __attribute__((weak, visibility("hidden")));
extern "C" char __stop_griffin_shared[] __attribute__((weak, visibility("hidden")));

namespace griffin::emulator {

char* arena;
uint8_t* written;

namespace {

// The last accesses to a word. write: clock << 16 | thread << 5 | atomic << 4 | bytes; read: clock << 16 | thread << 6
// | others << 4 | bytes. others: more threads have read it since the last ordering, of the warp (1) or of the block
// (2).
struct Cell {
    uint64_t write, read;
};

// With the bytes written by the block that began at clock start: start << 4 | bytes.
struct SharedCell {
    Cell cell;
    uint64_t written;
};

Cell* cells;
SharedCell* sharedCells;
uintptr_t sharedLow;
size_t sharedSpan;
uintptr_t usedLow;  // of the device in use
// The last allocation found, which is live.
uint64_t knownNumber;

__attribute__((section("griffin_shared"), aligned(1024))) char dynamicBytes[maxSharedBytes];

template <class T>
T* mapSpan(size_t bytes) {
    void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) return nullptr;
    madvise(p, bytes, MADV_NOHUGEPAGE);
    return static_cast<T*>(p);
}

const char* accessName(Access access) {
    switch (access) {
        case Access::read:
            return "read";
        case Access::write:
            return "write";
        case Access::relaxedRead:
            return "relaxed read";
        case Access::relaxedWrite:
            return "relaxed write";
        case Access::update:
            return "atomic update";
    }
    return "";
}

bool writes(Access access) {
    return access != Access::read && access != Access::relaxedRead;
}
bool atomic(Access access) {
    return access != Access::read && access != Access::write;
}
bool reads(Access access) {
    return access != Access::write && access != Access::relaxedWrite;
}

struct Check {
    uintptr_t address;
    size_t bytes;
    Access access;
    const void* pc;

    [[noreturn]] void fail(int code, const char* what, const std::string& where) const {
        failThread(code, "%s: %s of %zu bytes at %#zx, %s\n  at %s", what, accessName(access), bytes, address,
                   where.c_str(), codePlace(pc).c_str());
    }
    std::string place() const {
        uintptr_t offset = address - sharedLow;
        if (offset >= sharedSpan) return describeAddress(reinterpret_cast<const void*>(address));
        uintptr_t dynamic = address - reinterpret_cast<uintptr_t>(dynamicBytes);
        if (dynamic < sizeof dynamicBytes) return format("byte %zu of dynamic shared memory", dynamic);
        return "in shared memory";
    }
    [[noreturn]] void failRace(const char* what, uint32_t other) const {
        const Thread& t = block.threads[other];
        failThread(
            launchFailed,
            "data race: %s of %zu bytes at %#zx, %s, which thread (%u,%u,%u) %s with no barrier between\n  at %s",
            accessName(access), bytes, address, place().c_str(), t.index[0], t.index[1], t.index[2], what,
            codePlace(pc).c_str());
    }
    [[noreturn]] void failBlocks(const char* what) const {
        failThread(launchFailed,
                   "data race: %s of %zu bytes at %#zx, %s, which another block of the launch %s: blocks have no "
                   "order\n  at %s",
                   accessName(access), bytes, address, place().c_str(), what, codePlace(pc).c_str());
    }
};

// A race: one of two accesses writes, at least one is not atomic, and no ordering exists between them.
template <bool global>
inline void accessCell(Cell& cell, uint64_t mask, const Check& c) {
    const uint32_t self = block.thread->number;
    const uint64_t now = block.clock;
    uint64_t w = cell.write;
    if ((w & mask) && !(atomic(c.access) && (w & 0x10))) {
        uint64_t clock = w >> 16;
        auto other = static_cast<uint32_t>(w >> 5 & 0x3ff);
        if (clock >= block.start) {
            if (!orderedBefore(clock, other)) c.failRace(w & 0x10 ? "updated" : "wrote", other);
        } else if (global && clock >= block.launchStart && !block.acquired && reads(c.access)) {
            c.failBlocks("wrote");
        }
    }
    uint64_t r = cell.read;
    if (writes(c.access)) {
        uint64_t clock = r >> 16;
        auto other = static_cast<uint32_t>(r >> 6 & 0x3ff);
        if ((r & mask) && clock >= block.lastBarrier) {
            uint64_t others = r >> 4 & 3;
            bool ordered = others == 0 ? orderedBefore(clock, other)
                           : others == 1 && other >> 5 == block.thread->warp()
                               ? clock < block.warps[other >> 5].met ||
                                     clock < block.warps[other >> 5].metPair[other & 31][self & 31]
                               : false;
            if (!ordered) c.failRace("reads", other);
        } else if (global && (r & mask) && clock >= block.launchStart && clock < block.start && !block.acquired &&
                   !atomic(c.access)) {
            c.failBlocks("reads");
        }
        auto writer = static_cast<uint32_t>(w >> 5 & 0x3ff);
        bool mine = writer == self && w >> 16 >= block.lastBarrier;
        if (mine && atomic(c.access) && !(w & 0x10)) {
            cell.write |= mask;  // the earlier plain write is stricter
            return;
        }
        cell.write = now << 16 | uint64_t{self} << 5 | (atomic(c.access) ? 0x10 : 0) | mask;
        if (mine && w >> 16 == now && (w & 0x10) == (cell.write & 0x10)) cell.write |= w & 0xf;
        return;
    }
    if (c.access != Access::read) return;
    // The word's readers since the last ordering between them and this thread.
    uint64_t clock = r >> 16;
    auto other = static_cast<uint32_t>(r >> 6 & 0x3ff);
    uint64_t others = r >> 4 & 3, bytes = mask;
    if (clock < block.lastBarrier) {
        others = 0;
    } else if (others == 2 || other >> 5 != block.thread->warp()) {
        others = 2;
        bytes |= r & 0xf;
    } else if (others == 0 && other == self) {
        bytes |= r & 0xf;
    } else if (clock < block.warps[other >> 5].met) {
        others = 0;
    } else {
        others = 1;
        bytes |= r & 0xf;
    }
    cell.read = now << 16 | uint64_t{self} << 6 | others << 4 | bytes;
}

inline uint64_t byteMask(size_t bytes, uintptr_t address) {
    return ((1u << bytes) - 1) << (address & 3);
}

// For each word of the access.
template <class F>
inline void eachWord(uintptr_t offset, size_t bytes, F f) {
    if (((offset | bytes) & 3) == 0) {
        for (size_t i = 0; i < bytes; i += 4) f((offset + i) >> 2, 0xf);
        return;
    }
    while (bytes > 0) {
        size_t here = 4 - (offset & 3) < bytes ? 4 - (offset & 3) : bytes;
        f(offset >> 2, byteMask(here, offset));
        offset += here;
        bytes -= here;
    }
}

bool allWritten(const uint8_t* marks, size_t bytes) {
    if (bytes == 4) {
        uint32_t v;
        memcpy(&v, marks, 4);
        return v == 0x01010101u;
    }
    if (bytes == 16) {
        uint64_t v[2];
        memcpy(v, marks, 16);
        return (v[0] & v[1]) == 0x0101010101010101u;
    }
    if (bytes == 8) {
        uint64_t v;
        memcpy(&v, marks, 8);
        return v == 0x0101010101010101u;
    }
    return memchr(marks, 0, bytes) == nullptr;
}

void checkDevice(const Check& c) {
    auto* address = reinterpret_cast<const void*>(c.address);
    uint8_t* marks = written + (c.address - reinterpret_cast<uintptr_t>(arena));
    if (!allWritten(marks, c.bytes)) {
        static Allocation known;
        if (!known.holds(address, c.bytes) || knownNumber != known.number) {
            const Allocation* a = findAllocation(address);
            if (!a || !a->holds(address, c.bytes)) c.fail(illegalAddress, "out of bounds", c.place());
            known = *a;
            knownNumber = a->number;
        }
        if (reads(c.access)) c.fail(launchFailed, "uninitialised memory", c.place());
        memset(marks, 1, c.bytes);
    }
    if (atomic(c.access) && reads(c.access)) block.acquired = true;
    uintptr_t offset = c.address - reinterpret_cast<uintptr_t>(arena);
    eachWord(offset, c.bytes, [&](size_t word, uint64_t mask) { accessCell<true>(cells[word], mask, c); });
}

void checkShared(const Check& c) {
    uintptr_t dynamic = c.address - reinterpret_cast<uintptr_t>(dynamicBytes);
    if (dynamic < sizeof dynamicBytes && dynamic + c.bytes > block.launch->sharedBytes) {
        c.fail(illegalAddress, "out of bounds",
               format("byte %zu of %u of dynamic shared memory", dynamic, block.launch->sharedBytes));
    }
    eachWord(c.address - sharedLow, c.bytes, [&](size_t word, uint64_t mask) {
        SharedCell& s = sharedCells[word];
        bool current = s.written >> 4 == block.start;
        if (reads(c.access) && (!current || (s.written & mask) != mask)) {
            c.fail(launchFailed, "uninitialised memory", c.place());
        }
        if (writes(c.access)) s.written = (current ? s.written : block.start << 4) | mask;
        accessCell<false>(s.cell, mask, c);
    });
}

void checkOther(const Check& c) {
    auto* address = reinterpret_cast<const void*>(c.address);
    auto low = reinterpret_cast<uintptr_t>(block.thread->stack->low);
    if (c.address - low < stackBytes && c.address - low + c.bytes <= stackBytes) return;
    if (inImage(address)) return;
    if (const Allocation* a = findAllocation(address)) {
        if (a->device < 0 && a->holds(address, c.bytes)) return;
        if (a->device >= 0) c.fail(illegalAddress, "memory of another device", c.place());
    }
    if (isRegistered(address, c.bytes)) return;
    c.fail(illegalAddress, c.address < 4096 ? "null pointer" : "out of bounds", c.place());
}

// Ends a kernel whose thread polls memory until another thread changes it: no other thread runs meanwhile here, and a
// GPU does not guarantee it either.
void countSpin(Access access) {
    if (access == Access::read || access == Access::write || !block.thread) return;
    constexpr uint64_t most = 1 << 26;
    if (++block.spins > most) {
        failThread(launchFailed, "endless: %llu atomic accesses since threads last met; does it wait for another?",
                   static_cast<unsigned long long>(most));
    }
}

void checkAligned(const Check& c, size_t size) {
    if (c.address & (size - 1)) c.fail(misalignedAddress, "misaligned", c.place());
}

inline void check(const Check& c) {
    if (!checked || !block.thread) return;                     // before any kernel runs
    if (c.access == Access::relaxedRead) countSpin(c.access);  // of a volatile word
    if (c.address - usedLow < deviceSpan) return checkDevice(c);
    if (c.address - sharedLow < sharedSpan) return checkShared(c);
    checkOther(c);
}

}  // namespace

bool mapArena() {
    arena = mapSpan<char>(arenaSpan);
    written = mapSpan<uint8_t>(devicesSpan);
    cells = mapSpan<Cell>(devicesSpan / 4 * sizeof(Cell));
    sharedLow = reinterpret_cast<uintptr_t>(__start_griffin_shared);
    sharedSpan = static_cast<size_t>(__stop_griffin_shared - __start_griffin_shared);
    sharedCells = mapSpan<SharedCell>((sharedSpan / 4 + 1) * sizeof(SharedCell));
    useDevice(0);
    return arena && written && cells && sharedCells;
}

void useDevice(int device) {
    usedLow = reinterpret_cast<uintptr_t>(arena) + static_cast<size_t>(device) * deviceSpan;
    knownNumber = 0;
}

void markWritten(const void* address, size_t bytes) {
    memset(written + (static_cast<const char*>(address) - arena), 1, bytes);
}

void forgetWritten(const void* address, size_t bytes) {
    uint8_t* marks = written + (static_cast<const char*>(address) - arena);
    constexpr size_t page = 4096;
    size_t pages = 0;
    if (bytes >= 16 * page) {  // large allocations begin at pages
        pages = bytes & ~(page - 1);
        if (madvise(marks, pages, MADV_DONTNEED) != 0) pages = 0;  // page size larger than usual
        madvise(cells + (static_cast<const char*>(address) - arena) / 4, pages / 4 * sizeof(Cell), MADV_DONTNEED);
    }
    memset(marks + pages, 0, bytes - pages);
}

void copyWritten(const void* target, const void* source, size_t bytes) {
    memmove(written + (static_cast<const char*>(target) - arena), written + (static_cast<const char*>(source) - arena),
            bytes);
}

void* dynamicShared() {
    return dynamicBytes;
}

void checkAccess(const void* address, size_t bytes, Access access) {
    countSpin(access);
    Check c{reinterpret_cast<uintptr_t>(address), bytes, access, __builtin_return_address(0)};
    if (block.thread && bytes <= 16) checkAligned(c, bytes);
    check(c);
}

}  // namespace griffin::emulator

// Inserted by the compiler before every load and store of a kernel (-fsanitize=thread).

using griffin::emulator::Access;
using griffin::emulator::Check;

#define GRIFFIN_CHECKED(name, size, kind)                                                                  \
    extern "C" void name(void* address) {                                                                  \
        griffin::emulator::check(                                                                          \
            Check{reinterpret_cast<uintptr_t>(address), size, Access::kind, __builtin_return_address(0)}); \
    }
#define GRIFFIN_CHECKED_SIZE(size)                                 \
    GRIFFIN_CHECKED(__tsan_read##size, size, read)                 \
    GRIFFIN_CHECKED(__tsan_write##size, size, write)               \
    GRIFFIN_CHECKED(__tsan_volatile_read##size, size, relaxedRead) \
    GRIFFIN_CHECKED(__tsan_volatile_write##size, size, relaxedWrite)
#define GRIFFIN_CHECKED_UNALIGNED(size)                                      \
    GRIFFIN_CHECKED(__tsan_unaligned_read##size, size, read)                 \
    GRIFFIN_CHECKED(__tsan_unaligned_write##size, size, write)               \
    GRIFFIN_CHECKED(__tsan_unaligned_volatile_read##size, size, relaxedRead) \
    GRIFFIN_CHECKED(__tsan_unaligned_volatile_write##size, size, relaxedWrite)

GRIFFIN_CHECKED_SIZE(1)
GRIFFIN_CHECKED_SIZE(2)
GRIFFIN_CHECKED_SIZE(4)
GRIFFIN_CHECKED_SIZE(8)
GRIFFIN_CHECKED_SIZE(16)
GRIFFIN_CHECKED_UNALIGNED(2)
GRIFFIN_CHECKED_UNALIGNED(4)
GRIFFIN_CHECKED_UNALIGNED(8)
GRIFFIN_CHECKED_UNALIGNED(16)

extern "C" void __tsan_init() {}

extern "C" void* __tsan_memcpy(void* target, const void* source, size_t bytes) {
    const void* pc = __builtin_return_address(0);
    if (bytes) {
        griffin::emulator::check(Check{reinterpret_cast<uintptr_t>(source), bytes, Access::read, pc});
        griffin::emulator::check(Check{reinterpret_cast<uintptr_t>(target), bytes, Access::write, pc});
    }
    return memcpy(target, source, bytes);
}

extern "C" void* __tsan_memmove(void* target, const void* source, size_t bytes) {
    const void* pc = __builtin_return_address(0);
    if (bytes) {
        griffin::emulator::check(Check{reinterpret_cast<uintptr_t>(source), bytes, Access::read, pc});
        griffin::emulator::check(Check{reinterpret_cast<uintptr_t>(target), bytes, Access::write, pc});
    }
    return memmove(target, source, bytes);
}

extern "C" void* __tsan_memset(void* target, int value, size_t bytes) {
    if (bytes) {
        griffin::emulator::check(
            Check{reinterpret_cast<uintptr_t>(target), bytes, Access::write, __builtin_return_address(0)});
    }
    return memset(target, value, bytes);
}
