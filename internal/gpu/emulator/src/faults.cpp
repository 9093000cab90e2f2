// What tests set: how many devices there are and how large, which calls fail, and
// when a device is lost.

#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "driver.hpp"
#include "memory.hpp"
#include "report.hpp"
#include "shadow.hpp"

namespace griffin::emulator {

Device devices[maxDevices];
int numDevices = 1;
size_t deviceBytes = size_t{1} << 30;

namespace {

struct Fault {
    uint64_t first;  // call that fails, from 1, counted from when the fault was set
    bool onwards;    // and all after it
    int code;
};

struct Counter {
    uint64_t calls = 0;       // since the last reset
    uint64_t sinceFault = 0;  // since a fault was set
    Fault fault{0, false, success};
};

std::recursive_mutex mutex;
std::map<std::string, Counter> counters;
uint64_t launches, loseAt;
int loseCode;
Counter everyFunction;

int countCall(Counter& c) {
    c.calls++;
    c.sinceFault++;
    bool fails =
        c.fault.first != 0 && (c.fault.onwards ? c.sinceFault >= c.fault.first : c.sinceFault == c.fault.first);
    return fails ? c.fault.code : success;
}

}  // namespace

Call::Call(const char* function) : lock(mutex) {
    code = countCall(counters[function]);
    bool named = strcmp(function, "cuGetErrorName") == 0 || strcmp(function, "cuGetErrorString") == 0;
    if (!named) {
        int every = countCall(everyFunction);
        if (code == success) code = every;
    }
}

int lostAtLaunch() {
    launches++;
    if (loseAt == 0 || launches != loseAt) return success;
    return loseCode;
}

int misuse(int code, const char* text, ...) {
    char buffer[512];
    va_list args;
    va_start(args, text);
    vsnprintf(buffer, sizeof buffer, text, args);
    va_end(args);
    note(buffer);
    return code;
}

}  // namespace griffin::emulator

using namespace griffin::emulator;

// Sets the number of devices (at most 4) and the memory of each (at most 4 GiB).
GRIFFIN_EXPORT int griffin_emulator_configure(int count, uint64_t bytes) {
    std::lock_guard<std::recursive_mutex> lock(mutex);
    if (count < 0 || count > maxDevices || bytes > deviceSpan - (64 << 20)) return invalidValue;
    numDevices = count;
    deviceBytes = bytes;
    return success;
}

// Makes a call of a driver function fail with code: the call-th from now, and all
// after it if onwards is not 0. function "" counts the calls of all functions.
GRIFFIN_EXPORT void griffin_emulator_inject(const char* function, uint64_t call, int onwards, int code) {
    std::lock_guard<std::recursive_mutex> lock(mutex);
    Counter& c = *function ? counters[function] : everyFunction;
    c.sinceFault = 0;
    c.fault = Fault{call, onwards != 0, code};
}

// Loses the device at the launch-th kernel that runs from now on: that and all
// later calls give code, until the device's primary context is released.
GRIFFIN_EXPORT void griffin_emulator_lose(uint64_t launch, int code) {
    std::lock_guard<std::recursive_mutex> lock(mutex);
    launches = 0;
    loseAt = launch;
    loseCode = code;
}

// Takes back all faults, and counts calls and launches from 0.
GRIFFIN_EXPORT void griffin_emulator_reset(void) {
    std::lock_guard<std::recursive_mutex> lock(mutex);
    counters.clear();
    everyFunction = Counter();
    launches = loseAt = 0;
}

// The calls of a driver function since the last reset, failed ones too; of all
// functions for "", and of kernels that ran for "launch".
GRIFFIN_EXPORT uint64_t griffin_emulator_calls(const char* function) {
    std::lock_guard<std::recursive_mutex> lock(mutex);
    if (!*function) return everyFunction.calls;
    if (strcmp(function, "launch") == 0) return launches;
    return counters[function].calls;
}

// The live allocations of all devices and of page-locked memory.
GRIFFIN_EXPORT uint64_t griffin_emulator_allocations(void) {
    std::lock_guard<std::recursive_mutex> lock(mutex);
    uint64_t n = 0;
    for (int i = -1; arena && i < maxDevices; i++) n += numAllocations(i);
    return n;
}
