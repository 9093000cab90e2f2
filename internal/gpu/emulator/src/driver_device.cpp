// Devices, contexts, and the names of errors.

#include <cstdio>
#include <cstring>

#include "driver.hpp"
#include "memory.hpp"
#include "shadow.hpp"

namespace griffin::emulator {

namespace {
thread_local Device* current;
}

Device* currentDevice() {
    return current && current->retained > 0 ? current : nullptr;
}
void setCurrentDevice(Device* device) {
    current = device;
}

// Few multiprocessors, so that grids which fill the device are small.
int attribute(int number) {
    switch (number) {
        case 1:
            return maxBlockThreads;  // threads per block
        case 2:
            return maxBlockThreads;  // x
        case 3:
            return maxBlockThreads;  // y
        case 4:
            return 64;  // z
        case 5:
            return 0x7fffffff;  // blocks per grid, x
        case 6:                 // y
        case 7:
            return 65535;  // z
        case 8:
            return 48 << 10;  // shared memory per block
        case 9:
            return 64 << 10;  // constant memory
        case 10:
            return 32;  // warp
        case 12:
            return 64 << 10;  // registers per block
        case 13:
            return 1000000;  // clock, kHz
        case 15:
            return 1;  // copies concurrent with kernels
        case 16:
            return 4;  // multiprocessors
        case 19:
            return 1;  // maps host memory
        case 31:
            return 1;  // concurrent kernels
        case 32:
            return 0;  // ECC
        case 33:
            return 0;  // PCI bus
        case 34:
            return 0;  // PCI device
        case 36:
            return 1000000;  // memory clock, kHz
        case 37:
            return 5120;  // memory bus width in bits
        case 38:
            return 4 << 20;  // level 2 cache
        case 39:
            return 2048;  // threads per multiprocessor
        case 40:
            return 3;  // copy engines
        case 41:
            return 1;  // unified address space
        case 75:
            return 9;  // compute capability
        case 76:
            return 0;
        case 78:
            return 1;  // stream priorities
        case 81:
            return 228 << 10;  // shared memory per multiprocessor
        case 82:
            return 64 << 10;  // registers per multiprocessor
        case 83:
            return 1;  // managed memory
        case 95:
            return 1;  // cooperative launches
        case 97:
            return static_cast<int>(maxSharedBytes);  // opt-in shared memory per block
        case 106:
            return 32;  // blocks per multiprocessor
        case 111:
            return 1 << 10;  // reserved shared memory per block
        case 115:
            return 1;  // memory pools
        default:
            return 0;
    }
}

namespace {

Device* deviceAt(int ordinal) {
    return ordinal >= 0 && ordinal < numDevices ? &devices[ordinal] : nullptr;
}

void resetDevice(Device& d) {
    d.streams.clear();
    d.events.clear();
    d.parts.clear();
    d.defaultStream = nullptr;
    d.lost = success;
    d.poolReserved = d.poolHigh = 0;
    releaseAll(d.ordinal);
}

}  // namespace
}  // namespace griffin::emulator

using namespace griffin::emulator;

GRIFFIN_EXPORT int cuInit(unsigned flags) {
    GRIFFIN_ENTER();
    if (flags != 0) return invalidValue;
    static bool mapped = mapArena();
    if (!mapped) return outOfMemory;
    for (int i = 0; i < maxDevices; i++) devices[i].ordinal = i;
    return success;
}

GRIFFIN_EXPORT int cuDriverGetVersion(int* version) {
    GRIFFIN_ENTER();
    *version = 12040;
    return success;
}

GRIFFIN_EXPORT int cuGetErrorName(int code, const char** text) {
    GRIFFIN_ENTER();
    switch (code) {
        case success:
            *text = "CUDA_SUCCESS";
            return success;
#define GRIFFIN_CODE(name, number, text_, sentence) \
    case number:                                    \
        *text = "CUDA_ERROR_" text_;                \
        return success;
            GRIFFIN_CODES(GRIFFIN_CODE)
#undef GRIFFIN_CODE
    }
    *text = nullptr;
    return invalidValue;
}

GRIFFIN_EXPORT int cuGetErrorString(int code, const char** text) {
    GRIFFIN_ENTER();
    switch (code) {
        case success:
            *text = "no error";
            return success;
#define GRIFFIN_CODE(name, number, text_, sentence) \
    case number:                                    \
        *text = sentence;                           \
        return success;
            GRIFFIN_CODES(GRIFFIN_CODE)
#undef GRIFFIN_CODE
    }
    *text = nullptr;
    return invalidValue;
}

GRIFFIN_EXPORT int cuDeviceGetCount(int* count) {
    GRIFFIN_ENTER();
    *count = numDevices;
    return success;
}

GRIFFIN_EXPORT int cuDeviceGet(int* device, int ordinal) {
    GRIFFIN_ENTER();
    if (!deviceAt(ordinal)) return invalidDevice;
    *device = ordinal;
    return success;
}

GRIFFIN_EXPORT int cuDeviceGetName(char* name, int length, int device) {
    GRIFFIN_ENTER();
    if (!deviceAt(device)) return invalidDevice;
    snprintf(name, static_cast<size_t>(length), "Griffin emulator");
    return success;
}

GRIFFIN_EXPORT int cuDeviceGetUuid_v2(void* uuid, int device) {
    GRIFFIN_ENTER();
    if (!deviceAt(device)) return invalidDevice;
    memset(uuid, 0, 16);
    memcpy(uuid, "emulator", 8);
    static_cast<char*>(uuid)[15] = static_cast<char>(device + 1);
    return success;
}

GRIFFIN_EXPORT int cuDeviceGetPCIBusId(char* name, int length, int device) {
    GRIFFIN_ENTER();
    if (!deviceAt(device)) return invalidDevice;
    snprintf(name, static_cast<size_t>(length), "0000:%02x:00.0", device);
    return success;
}

GRIFFIN_EXPORT int cuDeviceTotalMem_v2(size_t* bytes, int device) {
    GRIFFIN_ENTER();
    if (!deviceAt(device)) return invalidDevice;
    *bytes = deviceBytes;
    return success;
}

GRIFFIN_EXPORT int cuDeviceGetAttribute(int* value, int number, int device) {
    GRIFFIN_ENTER();
    if (!deviceAt(device)) return invalidDevice;
    *value = number == 33 ? device : attribute(number);
    return success;
}

GRIFFIN_EXPORT int cuDevicePrimaryCtxRetain(void** context, int ordinal) {
    GRIFFIN_ENTER();
    Device* device = deviceAt(ordinal);
    if (!device) return invalidDevice;
    if (!arena) return notInitialized;
    device->retained++;
    *context = device;
    return success;
}

GRIFFIN_EXPORT int cuDevicePrimaryCtxRelease_v2(int ordinal) {
    GRIFFIN_ENTER();
    if (ordinal < 0 || ordinal >= maxDevices) return invalidDevice;
    Device& device = devices[ordinal];
    if (device.retained == 0) return invalidContext;
    if (--device.retained == 0) resetDevice(device);
    return success;
}

GRIFFIN_EXPORT int cuCtxSetCurrent(void* context) {
    GRIFFIN_ENTER();
    setCurrentDevice(static_cast<Device*>(context));
    return success;
}

GRIFFIN_EXPORT int cuCtxSynchronize(void) {
    GRIFFIN_ENTER_CONTEXT();
    if (capturing(device)) return captureUnsupported;
    return drainAll(device);
}

GRIFFIN_EXPORT int cuMemGetInfo_v2(size_t* free, size_t* total) {
    GRIFFIN_ENTER_CONTEXT();
    size_t used = usedBytes(device->ordinal);
    *total = deviceBytes;
    *free = used < deviceBytes ? deviceBytes - used : 0;
    return success;
}
