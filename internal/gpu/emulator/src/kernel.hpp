// The registry of kernels, and the calls that a running kernel makes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace griffin::emulator {

// Registered by GRIFFIN_KERNEL when the library is loaded.
struct Kernel {
    const char* name;
    size_t paramBytes;
    uint32_t maxThreads;
    void (*run)(const void* params);  // runs one thread
    const char* file;
    int line;
    const Kernel* next;

    Kernel(const char* name, size_t paramBytes, uint32_t maxThreads, void (*run)(const void*), const char* file,
           int line);
};

// Linked by next, unordered.
extern const Kernel* kernels;

struct Place {
    const char* file;
    int line;
};

enum class Collective : uint8_t {
    none,
    syncWarp,
    all,
    any,
    ballot,
    shuffle,
    shuffleUp,
    shuffleDown,
    shuffleXor,
    matchAny,
    reduceAdd,
    reduceMin,
    reduceMax,
    reduceMinSigned,
    reduceMaxSigned,
    reduceOr,
    reduceAnd,
    reduceXor,
    syncBlock,
    syncBlockOr,
    syncBlockAnd,
    syncBlockCount,
};

enum class Access : uint8_t { read, write, relaxedRead, relaxedWrite, update };

// const: the result does not change while a thread's function runs, so the compiler may reuse it.
uint32_t threadIndex(int axis) __attribute__((const));
uint32_t blockIndex(int axis) __attribute__((const));
uint32_t blockSize(int axis) __attribute__((const));
uint32_t gridSize(int axis) __attribute__((const));
void* dynamicShared() __attribute__((const));
uint64_t meetWarp(Collective what, uint32_t mask, uint64_t value, uint32_t source, uint32_t width, Place place);
int meetBlock(Collective what, int predicate, Place place);
uint32_t activeMask();
// Like the compiler's checks of plain accesses.
void checkAccess(const void* address, size_t bytes, Access access);

}  // namespace griffin::emulator
