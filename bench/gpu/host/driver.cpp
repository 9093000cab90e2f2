// A driver library without a GPU, to measure the processor time of the host for a query. It answers searches by images
// at once with invented hits, and models the time at which a GPU would have ended a launch. The script run uses it.
//
//   GRIFFIN_CUDA_LIBRARY=libhost.so griffin load INDEX --queries FILE --device gpu --resident=1 --no-calibrate
//
// Device memory has addresses, and no contents: searches of compressed lists, columns and counts have no answers.
// Environment variables set the model, in µs (struct Settings).

#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <unordered_map>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using Nanos = int64_t;

Nanos now() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1'000'000'000LL + t.tv_nsec;
}

void spinUntil(Nanos t) {
    while (now() < t) __builtin_ia32_pause();
}

void sleepUntil(Nanos t) {
    timespec at{t / 1'000'000'000, t % 1'000'000'000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr) != 0) {
    }
}

Nanos setting(const char* name, double micros) {
    const char* text = getenv(name);
    return static_cast<Nanos>(1000 * (text ? atof(text) : micros));
}

constexpr int success = 0, invalidValue = 1, notReady = 600;
constexpr int maxDevices = 8;
constexpr size_t arenaBytes = size_t{256} << 30;

struct Device {
    std::mutex lock;
    Nanos busyUntil = 0;
    std::atomic<uint64_t> used{0};
};

Device devices[maxDevices];
std::atomic<char*> arena{nullptr};  // addresses of device memory, which nothing reads
std::atomic<uint64_t> arenaUsed{0};
std::mutex sizesLock;
std::unordered_map<uint64_t, std::pair<size_t, int>> sizes;
thread_local int current = 0;

struct Settings {
    Nanos fixed = setting("HOST_FIXED_US", 20);  // of a launch, beside others
    Nanos ranges = setting("HOST_OR_US", 4.2);   // of a query, after others
    Nanos probe = setting("HOST_AND_US", 1.8);
    Nanos launchCall = setting("HOST_LAUNCH_CALL_US", 2.5);  // processor time of driver calls
    Nanos recordCall = setting("HOST_RECORD_CALL_US", 0.7);
    Nanos wake = setting("HOST_WAKE_US", 8);    // from the end of a launch to a thread that sleeps
    bool logs = getenv("HOST_LOG") != nullptr;  // of allocations, on standard error
    int count = getenv("HOST_DEVICES") ? atoi(getenv("HOST_DEVICES")) : 1;
} settings;

enum class Work { none, batchRanges, batchProbe, oneAnswer, oneResult, stay };

struct Kernel {
    std::string name;
    Work work;
};

struct Stream {
    int device;
    Nanos end = 0;
};

struct Event {
    bool blocking;
    std::atomic<Nanos> at{0};
};

// The kernels' parameters (internal/gpu/imagesearch/params.go).
struct QueryParams {
    uint64_t filter;
    uint32_t keyShift, scoreShift, firstTerm, numTerms, k, flags, threshold, bucketShift, firstHit, result, numDense,
        splits, firstKey, numBounded;
};
static_assert(sizeof(QueryParams) == 64);

struct Result {
    uint32_t numHits, done;
    uint64_t count;
    uint32_t work[4];
};
static_assert(sizeof(Result) == 32);

struct SearchParams {
    QueryParams* queries;
    void* terms;
    uint32_t (*blocks)[2];
    Result* results;
    uint64_t* hits;
    void *live, *states, *keys;
    uint64_t* answer;
    uint32_t numDocs, maxTerms, capacity, window, unused, launch;
};
static_assert(sizeof(SearchParams) == 96);

struct OneParams {
    SearchParams search;
    QueryParams query;
};

struct StayParams {
    uint64_t *mailbox, *left;
    void* command;
    uint64_t idle, most;
    uint32_t generation, unused;
    OneParams first;
};
static_assert(offsetof(StayParams, first) == 48);

constexpr int answerHead = 5;
constexpr uint32_t scoreStep = 1000;

// The hits have falling scores above the threshold, and DocIDs anywhere in the segment.
uint32_t numHits(const SearchParams& p, const QueryParams& q) {
    return std::min(q.k, p.numDocs);
}

uint32_t hitScore(const QueryParams& q, uint32_t i) {
    return q.threshold + (q.k - i) * scoreStep;
}

uint32_t hitDoc(const SearchParams& p, const QueryParams& q, uint32_t i) {
    uint64_t stride = std::max(p.numDocs / std::max(q.k, 1u), 1u),
             from = (q.firstTerm * 2654435761u ^ q.bucketShift * 40503u) % stride;
    return static_cast<uint32_t>(i * stride + from) % p.numDocs;
}

void answer(const SearchParams& p, const QueryParams& q) {
    Result& r = p.results[q.result];
    uint32_t n = numHits(p, q);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t doc = hitDoc(p, q, i);
        if (q.keyShift > 0) {
            uint64_t mask = (uint64_t{1} << q.keyShift) - 1;
            p.hits[q.firstHit + i] = uint64_t{hitScore(q, i)} << q.keyShift | (~doc & mask);
        } else {
            p.hits[q.firstHit + i] = uint64_t{hitScore(q, i)} << 32 | static_cast<uint32_t>(~doc);
        }
    }
    r.numHits = n;
    r.count = n;
}

uint64_t word(const SearchParams& p, uint32_t v) {
    return uint64_t{p.launch} << 32 | v;
}

void answerInWords(const SearchParams& p, const QueryParams& q) {
    uint32_t n = numHits(p, q);
    for (uint32_t i = 0; i < n; i++) {
        p.answer[answerHead + 2 * i] = word(p, hitScore(q, i));
        p.answer[answerHead + 2 * i + 1] = word(p, ~hitDoc(p, q, i));
    }
    for (int i = 1; i < answerHead; i++) p.answer[i] = word(p, 0);
    __atomic_store_n(&p.answer[0], word(p, n), __ATOMIC_RELEASE);
}

Nanos occupy(Stream* s, Nanos took) {
    Device& d = devices[s->device];
    std::lock_guard guard(d.lock);
    Nanos from = std::max({now(), s->end, d.busyUntil});
    d.busyUntil = from + took;
    return s->end = from + took + settings.fixed;
}

void launch(Kernel* k, Stream* s, unsigned blocks, const void* params) {
    const auto& p = *static_cast<const SearchParams*>(params);
    switch (k->work) {
        case Work::none:
            return;
        case Work::batchRanges:
        case Work::batchProbe: {
            unsigned queries = 0;
            for (unsigned i = 0; i < blocks; i++) {
                if (p.blocks[i][1] != 0) continue;
                answer(p, p.queries[p.blocks[i][0]]);
                queries++;
            }
            Nanos end = occupy(s, queries * (k->work == Work::batchProbe ? settings.probe : settings.ranges));
            if (p.launch != 0) {
                spinUntil(end);
                __atomic_store_n(&p.results[0].done, p.launch, __ATOMIC_RELEASE);
            }
            return;
        }
        case Work::oneAnswer:
        case Work::oneResult: {
            const QueryParams& q = static_cast<const OneParams*>(params)->query;
            spinUntil(occupy(s, settings.ranges));  // as its caller would, who polls
            if (p.answer) return answerInWords(p, q);
            answer(p, q);
            __atomic_store_n(&p.results[q.result].done, p.launch, __ATOMIC_RELEASE);
            return;
        }
        case Work::stay: {  // leaves at once
            const StayParams& stays = *static_cast<const StayParams*>(params);
            const OneParams& one = stays.first;
            spinUntil(occupy(s, settings.ranges));
            answerInWords(one.search, one.query);
            __atomic_store_n(stays.left, uint64_t{stays.generation} << 32 | one.search.launch, __ATOMIC_RELEASE);
            return;
        }
    }
}

Work workOf(const std::string& name) {
    for (const char* one : {"imagesearch_ranges_one", "imagesearch_ranges_few"}) {
        if (name.starts_with(one)) return Work::oneAnswer;  // with and without a filter
    }
    if (name.starts_with("imagesearch_ranges_stay")) return Work::stay;
    if (name == "imagesearch_probe_one") return Work::oneResult;
    if (name.starts_with("imagesearch_probe")) return Work::batchProbe;
    if (name.starts_with("imagesearch_ranges") || name.starts_with("imagesearch_count")) return Work::batchRanges;
    return Work::none;
}

int allocate(uint64_t* address, size_t bytes) {
    char* base = arena.load();
    if (!base) return invalidValue;
    size_t rounded = (bytes + 511) / 512 * 512;
    uint64_t at = arenaUsed.fetch_add(rounded);
    if (at + rounded > arenaBytes) return 2;  // out of memory
    *address = reinterpret_cast<uint64_t>(base) + at;
    devices[current].used += rounded;
    std::lock_guard guard(sizesLock);
    sizes[*address] = {rounded, current};
    return success;
}

int release(uint64_t address) {
    std::lock_guard guard(sizesLock);
    auto found = sizes.find(address);
    if (found == sizes.end()) return invalidValue;
    devices[found->second.second].used -= found->second.first;
    sizes.erase(found);
    return success;
}

void log(const char* call, size_t bytes) {
    static const Nanos begun = now();
    if (settings.logs) fprintf(stderr, "%.1f ms: %s %zu\n", static_cast<double>(now() - begun) / 1e6, call, bytes);
}

constexpr size_t totalBytes = size_t{80} << 30;

int attribute(int number) {
    switch (number) {
        case 1:
            return 1024;
        case 8:
            return 48 << 10;
        case 10:
            return 32;
        case 16:
            return 132;
        case 19:
            return 1;
        case 38:
            return 50 << 20;
        case 75:
            return 9;
        case 97:
            return 227 << 10;
        case 115:
            return 1;
    }
    return 0;
}

}  // namespace

EXPORT int cuInit(unsigned) {
    if (!arena.load()) {
        void* m = mmap(nullptr, arenaBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (m == MAP_FAILED) return 2;
        arena = static_cast<char*>(m);
    }
    return success;
}
EXPORT int cuDriverGetVersion(int* v) {
    return *v = 12040, success;
}
EXPORT int cuGetErrorName(int, const char** s) {
    return *s = "HOST", success;
}
EXPORT int cuGetErrorString(int, const char** s) {
    return *s = "an error of bench/gpu/host", success;
}
EXPORT int cuDeviceGetCount(int* n) {
    return *n = settings.count, success;
}
EXPORT int cuDeviceGet(int* d, int ordinal) {
    return *d = ordinal, success;
}
EXPORT int cuDeviceGetName(char* s, int n, int) {
    return strncpy(s, "no GPU (bench/gpu/host)", static_cast<size_t>(n)), success;
}
EXPORT int cuDeviceGetUuid_v2(void* u, int d) {
    return memset(u, d + 1, 16), success;
}
EXPORT int cuDeviceGetPCIBusId(char* s, int n, int d) {
    return snprintf(s, static_cast<size_t>(n), "0000:%02x:00.0", d), success;
}
EXPORT int cuDeviceTotalMem_v2(size_t* n, int) {
    return *n = totalBytes, success;
}
EXPORT int cuDeviceGetAttribute(int* v, int number, int) {
    return *v = attribute(number), success;
}
EXPORT int cuDevicePrimaryCtxRetain(void** c, int d) {
    return *c = &devices[d], success;
}
EXPORT int cuDevicePrimaryCtxRelease_v2(int) {
    return success;
}
EXPORT int cuCtxSetCurrent(void* c) {
    return current = static_cast<int>(static_cast<Device*>(c) - devices), success;
}
EXPORT int cuCtxSynchronize() {
    return success;
}
EXPORT int cuMemGetInfo_v2(size_t* free, size_t* total) {
    return *total = totalBytes, *free = totalBytes - devices[current].used, success;
}

EXPORT int cuModuleLoadDataEx(void** m, const void*, unsigned, int*, void**) {
    return *m = new char, success;
}
EXPORT int cuModuleUnload(void*) {
    return success;
}
EXPORT int cuModuleGetFunction(void** f, void*, const char* name) {
    return *f = new Kernel{name, workOf(name)}, success;
}
EXPORT int cuFuncGetAttribute(int* v, int number, void*) {
    return *v = number == 0 ? 1024 : number == 8 ? 226 << 10 : 0, success;
}
EXPORT int cuFuncSetAttribute(void*, int, int) {
    return success;
}
EXPORT int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* n, void*, int, size_t) {
    return *n = 2, success;
}
EXPORT int cuLaunchKernel(void* f, unsigned x, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void* s,
                          void** params, void**) {
    Nanos from = now();
    launch(static_cast<Kernel*>(f), static_cast<Stream*>(s), x, params[0]);
    spinUntil(from + settings.launchCall);
    return success;
}

EXPORT int cuMemAlloc_v2(uint64_t* p, size_t n) {
    log("cuMemAlloc", n);
    return allocate(p, n);
}
EXPORT int cuMemFree_v2(uint64_t p) {
    return release(p);
}
EXPORT int cuMemAllocAsync(uint64_t* p, size_t n, void*) {
    log("cuMemAllocAsync", n);
    return allocate(p, n);
}
EXPORT int cuMemFreeAsync(uint64_t p, void*) {
    return release(p);
}
EXPORT int cuDeviceGetDefaultMemPool(void** p, int) {
    return *p = &settings, success;
}
EXPORT int cuMemPoolSetAttribute(void*, int, void*) {
    return success;
}
EXPORT int cuMemPoolGetAttribute(void*, int, void* v) {
    return *static_cast<uint64_t*>(v) = 0, success;
}
EXPORT int cuMemPoolTrimTo(void*, size_t) {
    return success;
}
EXPORT int cuMemHostAlloc(void** p, size_t n, unsigned) {
    log("cuMemHostAlloc", n);
    return *p = aligned_alloc(4096, (n + 4095) / 4096 * 4096), success;
}
EXPORT int cuMemFreeHost(void* p) {
    return free(p), success;
}
EXPORT int cuMemHostGetDevicePointer_v2(uint64_t* d, void* p, unsigned) {
    return *d = reinterpret_cast<uint64_t>(p), success;
}
EXPORT int cuMemHostRegister_v2(void*, size_t, unsigned) {
    return success;
}
EXPORT int cuMemHostUnregister(void*) {
    return success;
}
EXPORT int cuMemcpyHtoDAsync_v2(uint64_t, const void*, size_t, void*) {
    return success;
}
EXPORT int cuMemcpyDtoHAsync_v2(void* p, uint64_t, size_t n, void*) {
    return memset(p, 0, n), success;
}
EXPORT int cuMemcpyDtoDAsync_v2(uint64_t, uint64_t, size_t, void*) {
    return success;
}
EXPORT int cuMemsetD8Async(uint64_t, unsigned char, size_t, void*) {
    return success;
}
EXPORT int cuMemsetD32Async(uint64_t, unsigned, size_t, void*) {
    return success;
}

EXPORT int cuStreamCreate(void** s, unsigned) {
    return *s = new Stream{current}, success;
}
EXPORT int cuStreamDestroy_v2(void* s) {
    return delete static_cast<Stream*>(s), success;
}
EXPORT int cuStreamSynchronize(void* s) {
    return spinUntil(static_cast<Stream*>(s)->end), success;
}
EXPORT int cuStreamQuery(void* s) {
    return now() < static_cast<Stream*>(s)->end ? notReady : success;
}
EXPORT int cuStreamWaitEvent(void* s, void* e, unsigned) {
    auto* stream = static_cast<Stream*>(s);
    stream->end = std::max(stream->end, static_cast<Event*>(e)->at.load());
    return success;
}
EXPORT int cuEventCreate(void** e, unsigned flags) {
    return *e = new Event{(flags & 1) != 0}, success;
}
EXPORT int cuEventDestroy_v2(void* e) {
    return delete static_cast<Event*>(e), success;
}
EXPORT int cuEventRecord(void* e, void* s) {
    Nanos from = now();
    static_cast<Event*>(e)->at = std::max(from, static_cast<Stream*>(s)->end);
    spinUntil(from + settings.recordCall);
    return success;
}
EXPORT int cuEventQuery(void* e) {
    return now() < static_cast<Event*>(e)->at.load() ? notReady : success;
}
EXPORT int cuEventSynchronize(void* p) {
    auto* e = static_cast<Event*>(p);
    Nanos at = e->at.load();
    if (!e->blocking) {
        spinUntil(at);
    } else if (now() < at) {
        sleepUntil(at + settings.wake);
    }
    return success;
}
EXPORT int cuEventElapsedTime(float* ms, void* from, void* to) {
    *ms = static_cast<float>(static_cast<double>(static_cast<Event*>(to)->at - static_cast<Event*>(from)->at) / 1e6);
    return success;
}
