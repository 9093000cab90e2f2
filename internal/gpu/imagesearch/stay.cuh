/* A kernel that stays on the device for more single queries: stay.go is the host's side.
 *
 * The host writes the next query into page-locked memory, the mailbox. Each word has the query's number in its high
 * half, by which the first block sees that all have arrived: one crossing of the bus, and no order of the writes, is
 * needed. The first block passes the query on in device memory, and ends the stay in the same way. All blocks take
 * part in each query, so none can still read the last one's parameters when the next one is passed on: the host has the
 * answer of all. */
#pragma once

#include "alone.cuh"

constexpr uint32_t kMailHead = kMailWords;     /* {number, words} of the query */
constexpr uint32_t kMailLeave = kMailHead + 1; /* generation of a kernel that shall leave */
constexpr uint32_t kCommandLeave = 0;          /* no query has this number */
constexpr uint32_t kStayAhead = 16;            /* the next query has the next number but 0 */
constexpr long long kStayMost = 1LL << 32;     /* cycles that a block waits for the first one */
#ifdef GRIFFIN_EMULATOR
constexpr bool kStays = false; /* the blocks run one after another */
#else
constexpr bool kStays = true;
#endif

/* stayParams in params.go. */
struct ImageStay {
    const uint64_t* mailbox; /* words with the number of their query in the high half */
    uint64_t* left;          /* written when the kernel leaves: generation, number of its last query */
    uint32_t* command;       /* for all blocks: generation and number, then ImageFew, kCommandParams words on */
    uint64_t idle, most;     /* cycles without a query, and since it came, after which it leaves */
    uint32_t generation, padding;
    ImageFew first;
};

__device__ __forceinline__ uint64_t stay_load(const uint64_t* address) {
#ifdef GRIFFIN_EMULATOR
    return ld_relaxed(address);
#else
    uint64_t value;
    asm volatile("ld.relaxed.sys.u64 %0, [%1];" : "=l"(value) : "l"(address) : "memory");
    return value;
#endif
}

/* Waits for the query after number seen, and passes it on to the other blocks. Returns its number, or kCommandLeave. By
 * the first warp of the first block. */
__device__ __forceinline__ uint32_t stay_receive(const ImageStay& p, uint32_t seen, long long came) {
    constexpr uint32_t perLane = kMailWords / 32;
    const uint32_t lane = threadIdx.x % 32;
    const long long began = clock64();
    uint32_t number = kCommandLeave;
    uint64_t words[perLane];
    for (;;) {
        const uint64_t head = stay_load(p.mailbox + kMailHead);
        const uint64_t leave = stay_load(p.mailbox + kMailLeave);
#pragma unroll
        for (uint32_t i = 0; i < perLane; i++) {
            words[i] = stay_load(p.mailbox + i * 32 + lane);
        }
        number = static_cast<uint32_t>(head >> 32);
        bool all = number - seen - 1 < kStayAhead;
#pragma unroll
        for (uint32_t i = 0; i < perLane; i++) {
            all = all &&
                  (i * 32 + lane >= static_cast<uint32_t>(head) || static_cast<uint32_t>(words[i] >> 32) == number);
        }
        if (__ballot_sync(kAll, all) == kAll) {
            break;
        }
        const long long now = clock64();
        const bool late =
            !kStays || static_cast<uint64_t>(now - began) >= p.idle || static_cast<uint64_t>(now - came) >= p.most;
        if (__ballot_sync(kAll, late || static_cast<uint32_t>(leave) == p.generation) != 0) {
            number = kCommandLeave;
            break;
        }
    }
    if (number != kCommandLeave) {
#pragma unroll
        for (uint32_t i = 0; i < perLane; i++) {
            st_relaxed(p.command + kCommandParams + i * 32 + lane, static_cast<uint32_t>(words[i]));
        }
        __threadfence_system(); /* what the host knows to be in device memory is seen, too */
    }
    __syncwarp();
    if (lane == 0) {
        st_release(reinterpret_cast<uint64_t*>(p.command), static_cast<uint64_t>(p.generation) << 32 | number);
        if (number == kCommandLeave) {
            st_relaxed_system(p.left, static_cast<uint64_t>(p.generation) << 32 | seen);
        }
    }
    return number;
}

/* What the first block has received after number seen. */
__device__ __forceinline__ uint32_t stay_heard(const ImageStay& p, uint32_t seen) {
    const long long began = clock64();
    while (kStays && clock64() - began < kStayMost) {
        /* Without acquiring, which would empty the cache of blocks that are still searching. */
        const uint64_t command = ld_relaxed(reinterpret_cast<const uint64_t*>(p.command));
        if (static_cast<uint32_t>(command >> 32) == p.generation && static_cast<uint32_t>(command) != seen) {
            return static_cast<uint32_t>(ld_acquire(reinterpret_cast<const uint64_t*>(p.command)));
        }
    }
    return kCommandLeave;
}
