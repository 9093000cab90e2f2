// Device memory, page-locked memory, pools, copies and fills.

#include <cstring>

#include "driver.hpp"
#include "memory.hpp"
#include "shadow.hpp"

namespace griffin::emulator {

namespace {

// Uninitialised device memory as the host sees it.
constexpr unsigned char poison = 0xcd;

int allocateOn(Device* device, void** pointer, size_t bytes, const char* made) {
    if (bytes == 0) return invalidValue;
    char* at = allocate(device->ordinal, bytes, deviceBytes, made);
    if (!at) return outOfMemory;
    *pointer = at;
    return success;
}

// In one allocation of the device.
bool onDevice(const void* address, size_t bytes, const Device* device) {
    const Allocation* a = findAllocation(address);
    return a && a->device == device->ordinal && a->holds(address, bytes);
}

bool pageLocked(const void* address, size_t bytes) {
    const Allocation* a = findAllocation(address);
    return a ? a->device < 0 && a->holds(address, bytes) : isRegistered(address, bytes);
}

int outside(const char* function, const char* what, const void* address, size_t bytes) {
    return misuse(invalidValue, "%s: the %s, %zu bytes at %p, is %s", function, what, bytes, address,
                  describeAddress(address).c_str());
}

int copyToHost(void* target, const void* source, size_t bytes, const Device* device) {
    if (!onDevice(source, bytes, device)) return outside("cuMemcpyDtoHAsync", "source", source, bytes);
    memcpy(target, source, bytes);
    const uint8_t* marks = written + (static_cast<const char*>(source) - arena);
    if (!checked || !memchr(marks, 0, bytes)) return success;
    for (size_t i = 0; i < bytes; i++) {
        if (!marks[i]) static_cast<unsigned char*>(target)[i] = poison;
    }
    return success;
}

int fill(void* target, const void* pattern, size_t width, size_t count, Stream* stream, const Device* device) {
    size_t bytes = width * count;
    if (bytes == 0) return success;
    if (!onDevice(target, bytes, device)) return outside("cuMemsetAsync", "target", target, bytes);
    uint32_t value = 0;
    memcpy(&value, pattern, width);
    return enqueue(stream, [=] {
        if (!onDevice(target, bytes, device)) return outside("cuMemsetAsync", "target", target, bytes);
        markWritten(target, bytes);
        if (width == 1) {
            memset(target, static_cast<int>(value & 0xff), bytes);
        } else {
            for (size_t i = 0; i < count; i++) static_cast<uint32_t*>(target)[i] = value;
        }
        return int{success};
    });
}

}  // namespace
}  // namespace griffin::emulator

using namespace griffin::emulator;

GRIFFIN_EXPORT int cuMemAlloc_v2(void** pointer, size_t bytes) {
    GRIFFIN_ENTER_CONTEXT();
    if (capturing(device)) return captureUnsupported;
    return allocateOn(device, pointer, bytes, "cuMemAlloc");
}

// The driver waits for the device before it frees.
GRIFFIN_EXPORT int cuMemFree_v2(void* pointer) {
    GRIFFIN_ENTER_CONTEXT();
    if (capturing(device)) return captureUnsupported;
    int code = drainAll(device);
    if (code != success) return code;
    return release(pointer, device->ordinal) ? int{success}
                                             : misuse(invalidValue, "cuMemFree: no allocation begins at %p", pointer);
}

GRIFFIN_EXPORT int cuMemAllocAsync(void** pointer, size_t bytes, void* handle) {
    GRIFFIN_ENTER_CONTEXT();
    Stream* stream = streamOf(handle, device);
    if (!stream) return invalidHandle;
    if (stream->capture) return notSupported;
    int code = allocateOn(device, pointer, bytes, "cuMemAllocAsync");
    if (code == outOfMemory) {  // streams may be about to free memory
        code = drainAll(device);
        if (code == success) code = allocateOn(device, pointer, bytes, "cuMemAllocAsync");
    }
    if (code != success) return code;
    device->poolReserved += bytes;
    if (device->poolReserved > device->poolHigh) device->poolHigh = device->poolReserved;
    return success;
}

GRIFFIN_EXPORT int cuMemFreeAsync(void* pointer, void* handle) {
    GRIFFIN_ENTER_CONTEXT();
    Stream* stream = streamOf(handle, device);
    if (!stream) return invalidHandle;
    const Allocation* a = findAllocation(pointer);
    if (!a || a->low != pointer) return misuse(invalidValue, "cuMemFreeAsync: no allocation begins at %p", pointer);
    return enqueue(stream, [=] {
        const Allocation* freed = findAllocation(pointer);
        size_t bytes = freed ? freed->bytes : 0;
        if (!release(pointer, device->ordinal)) {
            return misuse(invalidValue, "cuMemFreeAsync: no allocation begins at %p", pointer);
        }
        device->poolReserved -= bytes < device->poolReserved ? bytes : device->poolReserved;
        return int{success};
    });
}

GRIFFIN_EXPORT int cuDeviceGetDefaultMemPool(void** pool, int ordinal) {
    GRIFFIN_ENTER();
    if (ordinal < 0 || ordinal >= numDevices) return invalidDevice;
    *pool = &devices[ordinal];
    return success;
}

GRIFFIN_EXPORT int cuMemPoolSetAttribute(void* pool, int number, void* value) {
    GRIFFIN_ENTER();
    auto* device = static_cast<Device*>(pool);
    if (number == 4) memcpy(&device->poolThreshold, value, 8);
    if (number == 6 || number == 8) device->poolHigh = device->poolReserved;
    return success;
}

GRIFFIN_EXPORT int cuMemPoolGetAttribute(void* pool, int number, void* value) {
    GRIFFIN_ENTER();
    auto* device = static_cast<Device*>(pool);
    uint64_t v = 0;
    if (number == 4) v = device->poolThreshold;
    if (number == 5 || number == 7) v = device->poolReserved;
    if (number == 6 || number == 8) v = device->poolHigh;
    if (number <= 3) {
        memset(value, 0, 4);
    } else {
        memcpy(value, &v, 8);
    }
    return success;
}

GRIFFIN_EXPORT int cuMemPoolTrimTo(void*, size_t) {
    GRIFFIN_ENTER();
    return success;
}

GRIFFIN_EXPORT int cuMemHostAlloc(void** pointer, size_t bytes, unsigned) {
    GRIFFIN_ENTER_CONTEXT();
    if (bytes == 0) return invalidValue;
    char* at = allocate(-1, bytes, hostSpan, "cuMemHostAlloc");
    if (!at) return outOfMemory;
    memset(at, poison, bytes < 4096 ? bytes : 4096);
    *pointer = at;
    return success;
}

GRIFFIN_EXPORT int cuMemFreeHost(void* pointer) {
    GRIFFIN_ENTER_CONTEXT();
    int code = drainAll(device);
    if (code != success) return code;
    return release(pointer, -1) ? int{success}
                                : misuse(invalidValue, "cuMemFreeHost: no allocation begins at %p", pointer);
}

GRIFFIN_EXPORT int cuMemHostGetDevicePointer_v2(void** devicePointer, void* pointer, unsigned) {
    GRIFFIN_ENTER_CONTEXT();
    if (!pageLocked(pointer, 1)) return invalidValue;
    *devicePointer = pointer;
    return success;
}

GRIFFIN_EXPORT int cuMemHostRegister_v2(void* pointer, size_t bytes, unsigned) {
    GRIFFIN_ENTER_CONTEXT();
    if (!pointer || bytes == 0) return invalidValue;
    return registerHost(pointer, bytes) ? success : alreadyRegistered;
}

GRIFFIN_EXPORT int cuMemHostUnregister(void* pointer) {
    GRIFFIN_ENTER_CONTEXT();
    int code = drainAll(device);
    if (code != success) return code;
    return unregisterHost(pointer) ? success : notRegistered;
}

GRIFFIN_EXPORT int cuMemcpyHtoDAsync_v2(void* target, const void* source, size_t bytes, void* handle) {
    GRIFFIN_ENTER_CONTEXT();
    Stream* stream = streamOf(handle, device);
    if (!stream) return invalidHandle;
    if (bytes == 0) return success;
    if (!onDevice(target, bytes, device)) return outside("cuMemcpyHtoDAsync", "target", target, bytes);
    // Memory that is not page-locked is read before the call returns.
    std::shared_ptr<std::string> staged;
    if (!stream->capture && !pageLocked(source, bytes)) {
        staged = std::make_shared<std::string>(static_cast<const char*>(source), bytes);
        source = staged->data();
    }
    return enqueue(stream, [=] {
        (void)staged;
        if (!onDevice(target, bytes, device)) return outside("cuMemcpyHtoDAsync", "target", target, bytes);
        memcpy(target, source, bytes);
        markWritten(target, bytes);
        return int{success};
    });
}

GRIFFIN_EXPORT int cuMemcpyDtoHAsync_v2(void* target, const void* source, size_t bytes, void* handle) {
    GRIFFIN_ENTER_CONTEXT();
    Stream* stream = streamOf(handle, device);
    if (!stream) return invalidHandle;
    if (bytes == 0) return success;
    if (!onDevice(source, bytes, device)) return outside("cuMemcpyDtoHAsync", "source", source, bytes);
    int code = enqueue(stream, [=] { return copyToHost(target, source, bytes, device); });
    // Memory that is not page-locked is written before the call returns.
    if (code == success && !stream->capture && !pageLocked(target, bytes)) code = drain(stream);
    return code;
}

GRIFFIN_EXPORT int cuMemcpyDtoDAsync_v2(void* target, const void* source, size_t bytes, void* handle) {
    GRIFFIN_ENTER_CONTEXT();
    Stream* stream = streamOf(handle, device);
    if (!stream) return invalidHandle;
    if (bytes == 0) return success;
    if (!onDevice(source, bytes, device)) return outside("cuMemcpyDtoDAsync", "source", source, bytes);
    if (!onDevice(target, bytes, device)) return outside("cuMemcpyDtoDAsync", "target", target, bytes);
    return enqueue(stream, [=] {
        if (!onDevice(source, bytes, device)) return outside("cuMemcpyDtoDAsync", "source", source, bytes);
        if (!onDevice(target, bytes, device)) return outside("cuMemcpyDtoDAsync", "target", target, bytes);
        memmove(target, source, bytes);
        copyWritten(target, source, bytes);
        return int{success};
    });
}

GRIFFIN_EXPORT int cuMemsetD8Async(void* target, unsigned char value, size_t count, void* handle) {
    GRIFFIN_ENTER_CONTEXT();
    Stream* stream = streamOf(handle, device);
    return stream ? fill(target, &value, 1, count, stream, device) : int{invalidHandle};
}

GRIFFIN_EXPORT int cuMemsetD32Async(void* target, unsigned value, size_t count, void* handle) {
    GRIFFIN_ENTER_CONTEXT();
    Stream* stream = streamOf(handle, device);
    if (reinterpret_cast<uintptr_t>(target) & 3) return invalidValue;
    return stream ? fill(target, &value, 4, count, stream, device) : int{invalidHandle};
}
