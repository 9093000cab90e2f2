// What the kernels' objects and the rest of the emulator have in common: the
// registry of kernels, and the calls that a running kernel makes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace griffin::emulator {

// A kernel, registered by GRIFFIN_KERNEL when the library is loaded.
struct Kernel {
    const char* name;
    size_t paramBytes;
    uint32_t maxThreads;
    void (*run)(const void* params);  // what one thread does
    const char* file;
    int line;
    const Kernel* next;

    Kernel(const char* name, size_t paramBytes, uint32_t maxThreads, void (*run)(const void*), const char* file,
           int line);
};

// The registered kernels, linked by next, in no order.
extern const Kernel* kernels;

// A place in a kernel's source.
struct Place {
    const char* file;
    int line;
};

// What a thread does when it meets others.
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

// How memory is accessed.
enum class Access : uint8_t { read, write, relaxedRead, relaxedWrite, update };

// The calls of a running kernel. Where the compiler may keep a result, it is
// because the result is the same for as long as a thread's function runs.
uint32_t threadIndex(int axis) __attribute__((const));
uint32_t blockIndex(int axis) __attribute__((const));
uint32_t blockSize(int axis) __attribute__((const));
uint32_t gridSize(int axis) __attribute__((const));
void* dynamicShared() __attribute__((const));
uint64_t meetWarp(Collective what, uint32_t mask, uint64_t value, uint32_t source, uint32_t width, Place place);
int meetBlock(Collective what, int predicate, Place place);
uint32_t activeMask();
// Checks an access of bytes at address by the running thread, as the checks that
// the compiler puts in for plain accesses do.
void checkAccess(const void* address, size_t bytes, Access access);

}  // namespace griffin::emulator
