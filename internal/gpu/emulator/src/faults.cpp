// Settings for tests.

#include <cstdarg>
#include <cstdio>

#include "driver.hpp"
#include "report.hpp"
#include "shadow.hpp"

namespace griffin::emulator {

Device devices[maxDevices];
int numDevices = 1;
size_t deviceBytes = size_t{1} << 30;

namespace {

std::recursive_mutex mutex;
uint64_t launches, loseAt;
int loseCode;

}  // namespace

Call::Call() : lock(mutex) {}

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

// At most 4 devices of at most 4 GiB.
GRIFFIN_EXPORT int griffin_emulator_configure(int count, uint64_t bytes) {
    std::lock_guard<std::recursive_mutex> lock(mutex);
    if (count < 0 || count > maxDevices || bytes > deviceSpan - (64 << 20)) return invalidValue;
    numDevices = count;
    deviceBytes = bytes;
    return success;
}

// At the launch-th kernel that runs from now on, this and all later calls return code, until the device's primary
// context is released. 0: never.
GRIFFIN_EXPORT void griffin_emulator_lose(uint64_t launch, int code) {
    std::lock_guard<std::recursive_mutex> lock(mutex);
    launches = 0;
    loseAt = launch;
    loseCode = code;
}

// Kernels since the last griffin_emulator_lose.
GRIFFIN_EXPORT uint64_t griffin_emulator_launches(void) {
    std::lock_guard<std::recursive_mutex> lock(mutex);
    return launches;
}
