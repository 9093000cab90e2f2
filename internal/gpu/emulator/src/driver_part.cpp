// Parts of a device: green contexts. Kernels run as on the whole device.

#include "driver.hpp"

using namespace griffin::emulator;

namespace {

// CUdevResource of multiprocessors.
struct Resource {
    unsigned kind;
    unsigned char padding[92];
    unsigned count;
    unsigned char rest[44];
};
static_assert(sizeof(Resource) == 144);

constexpr unsigned multiprocessors = 1;  // kind
constexpr unsigned defaultStream = 1;    // flags of a green context
constexpr unsigned nonBlocking = 1;      // flags of a stream
constexpr unsigned separable = 2;        // a part has a multiple of this

}  // namespace

GRIFFIN_EXPORT int cuDeviceGetDevResource(int ordinal, Resource* resource, unsigned kind) {
    GRIFFIN_ENTER_CONTEXT();
    if (kind != multiprocessors || ordinal != device->ordinal) return invalidValue;
    *resource = Resource{};
    resource->kind = kind;
    resource->count = static_cast<unsigned>(attribute(16));
    return success;
}

GRIFFIN_EXPORT int cuDevSmResourceSplitByCount(Resource* result, unsigned* groups, const Resource* input,
                                               Resource* remainder, unsigned flags, unsigned least) {
    GRIFFIN_ENTER_CONTEXT();
    const unsigned count = (least + separable - 1) / separable * separable;
    if (!groups || !input || flags != 0 || input->kind != multiprocessors || count == 0 || count > input->count) {
        return invalidValue;
    }
    const unsigned most = input->count / count;
    *groups = result && *groups < most ? *groups : most;
    for (unsigned i = 0; result && i < *groups; i++) {
        result[i] = *input;
        result[i].count = count;
    }
    if (remainder) {
        *remainder = *input;
        remainder->count -= *groups * count;
    }
    return success;
}

GRIFFIN_EXPORT int cuDevResourceGenerateDesc(void** description, Resource* resources, unsigned n) {
    GRIFFIN_ENTER_CONTEXT();
    if (n != 1 || resources->kind != multiprocessors || resources->count == 0) return invalidValue;
    *description = reinterpret_cast<void*>(static_cast<uintptr_t>(resources->count));
    return success;
}

GRIFFIN_EXPORT int cuGreenCtxCreate(void** handle, void* description, int ordinal, unsigned flags) {
    GRIFFIN_ENTER_CONTEXT();
    if (!description || ordinal != device->ordinal || flags != defaultStream) return invalidValue;
    auto owned = std::make_unique<Part>(Part{ordinal});
    *handle = owned.get();
    device->parts[owned.get()] = std::move(owned);
    return success;
}

GRIFFIN_EXPORT int cuGreenCtxDestroy(void* handle) {
    GRIFFIN_ENTER_CONTEXT();
    return device->parts.erase(static_cast<Part*>(handle)) == 1 ? success : invalidHandle;
}

GRIFFIN_EXPORT int cuGreenCtxStreamCreate(void** handle, void* part, unsigned flags, int) {
    GRIFFIN_ENTER_CONTEXT();
    if (!device->parts.count(static_cast<Part*>(part))) return invalidHandle;
    if (flags != nonBlocking) return invalidValue;
    *handle = createStream(device);
    return success;
}
