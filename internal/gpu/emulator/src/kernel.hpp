// Shared by the kernels' objects and the emulator: the registry of kernels, and
// the calls that a running kernel makes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace griffin::emulator {

// A kernel, registered by GRIFFIN_KERNEL when the library is loaded.
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

// The registered kernels, linked by next, unordered.
extern const Kernel* kernels;

// A source location in a kernel.
struct Place {
    const char* file;
    int line;
};

// The kind of a meeting of threads.
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

// The kind of a memory access.
enum class Access : uint8_t { read, write, relaxedRead, relaxedWrite, update };

// Calls of a running kernel. const: the result does not change while a thread's
// function runs, so the compiler may reuse it.
uint32_t threadIndex(int axis) __attribute__((const));
uint32_t blockIndex(int axis) __attribute__((const));
uint32_t blockSize(int axis) __attribute__((const));
uint32_t gridSize(int axis) __attribute__((const));
void* dynamicShared() __attribute__((const));
uint64_t meetWarp(Collective what, uint32_t mask, uint64_t value, uint32_t source, uint32_t width, Place place);
int meetBlock(Collective what, int predicate, Place place);
uint32_t activeMask();
// Checks an access by the running thread, like the compiler's checks of plain
// accesses.
void checkAccess(const void* address, size_t bytes, Access access);

}  // namespace griffin::emulator
