// The running block: its threads as fibers, their meetings (barriers and collectives), and the resulting order of
// accesses.
#pragma once

#include <cstddef>
#include <cstdint>

#include "fiber.hpp"
#include "kernel.hpp"

namespace griffin::emulator {

struct Dim {
    uint32_t axis[3];
    uint64_t volume() const { return uint64_t{axis[0]} * axis[1] * axis[2]; }
};

struct Launch {
    const Kernel* kernel;
    Dim grid, block;
    uint32_t sharedBytes;
    const void* params;
};

constexpr uint32_t maxBlockThreads = 1024;
constexpr uint32_t maxParamBytes = 4096;
// Of compute capability 9.0.
constexpr uint32_t maxSharedBytes = 227 << 10;

struct Thread {
    uint32_t index[3];
    uint32_t number;  // within the block, x first
    bool ended;
    Stack* stack;  // while the thread is started and not ended
    // With its arguments and result.
    Collective waits;
    uint32_t mask, source, width;
    uint64_t value, result;
    Place place;

    uint32_t lane() const { return number & 31; }
    uint32_t warp() const { return number >> 5; }
};

// Lanes that wait for the other lanes of their mask.
struct Meeting {
    uint32_t mask, arrived;
    Collective what;
};

struct Warp {
    uint32_t lanes;  // existing lanes
    uint32_t ready;  // started, not waiting, not running
    uint32_t ended;
    uint32_t numMeetings;
    Meeting meetings[32];
    // When all lanes last met, and when lanes a and b last met: earlier accesses of a are ordered before later ones of
    // b.
    uint64_t met;
    uint64_t metPair[32][32];
};

// One at a time in the process.
struct Block {
    const Launch* launch;
    uint32_t index[3];
    uint32_t numThreads, numWarps;
    uint32_t started, endedThreads;
    uint32_t readyWarps;
    Thread* thread;  // the running thread
    Thread threads[maxBlockThreads];
    Warp warps[maxBlockThreads / 32];
    // The barrier of the block.
    uint32_t arrived;
    Collective barrier;
    Place barrierPlace;
    uint32_t votes;
    int barrierResult;
    // The clock advances at each meeting.
    uint64_t clock, launchStart, start, lastBarrier;
    // After an atomic access to global memory the block may read data written by other blocks of the launch.
    bool acquired;
    uint64_t spins;  // atomic accesses since a thread began or threads met
};

extern Block block;

// Any code other than success is a failure with a report.
int runLaunch(const Launch& launch);

// Whether an access of thread other at clock is ordered before the running thread's current access.
inline bool orderedBefore(uint64_t clock, uint32_t other) {
    if (clock < block.lastBarrier || other == block.thread->number) return true;
    if (other >> 5 != block.thread->warp()) return false;
    const Warp& w = block.warps[other >> 5];
    return clock < w.met || clock < w.metPair[other & 31][block.thread->lane()];
}

// Ends the launch from a running thread; the report begins with the kernel, block and thread.
[[noreturn]] void failThread(int code, const char* format, ...) __attribute__((format(printf, 2, 3)));

}  // namespace griffin::emulator
