// A module's PTX is parsed for the properties of its kernels; the code that runs is the kernel of the same name,
// compiled for the host.

#include <cstdlib>
#include <cstring>

#include "driver.hpp"
#include "report.hpp"
#include "shadow.hpp"

namespace griffin::emulator {

namespace {

struct Function {
    const Kernel* kernel;
    uint32_t staticShared;
    uint32_t maxDynamicShared;
};

struct Module {
    int device;
    std::string ptx;
    std::map<std::string, Function> functions;
};

std::map<Function*, Module*> owners;

const Kernel* findKernel(const std::string& name) {
    for (const Kernel* k = kernels; k; k = k->next) {
        if (name == k->name) return k;
    }
    return nullptr;
}

// In text[from, to), or missing.
uint32_t numberAfter(const std::string& text, const std::string& key, size_t from, size_t to, uint32_t missing) {
    size_t at = text.find(key, from);
    if (at == std::string::npos || at >= to) return missing;
    return static_cast<uint32_t>(strtoul(text.c_str() + at + key.size(), nullptr, 10));
}

// Of the shared variables declared or used in the body.
uint32_t sharedBytes(const std::string& ptx, size_t from, size_t to) {
    uint32_t total = 0;
    const std::string key = ".shared .align ";
    for (size_t at = ptx.find(key); at != std::string::npos; at = ptx.find(key, at + 1)) {
        size_t type = ptx.find(" .b8 ", at), open = ptx.find_first_of("[;", at);
        if (type == std::string::npos || open == std::string::npos || ptx[open] != '[' || type > open) continue;
        std::string name = ptx.substr(type + 5, open - type - 5);
        size_t used = ptx.find(name, from);
        bool here = (at >= from && at < to) || (at < from && used != std::string::npos && used < to);
        if (here) total += static_cast<uint32_t>(strtoul(ptx.c_str() + open + 1, nullptr, 10));
    }
    return total;
}

int readEntry(Module& m, size_t from) {
    const std::string& ptx = m.ptx;
    size_t end = ptx.find_first_of("( \n", from);
    std::string name = ptx.substr(from, end - from);
    size_t next = ptx.find(".entry ", from);
    if (next == std::string::npos) next = ptx.size();
    const Kernel* kernel = findKernel(name);
    for (const Kernel* k = kernel ? kernel->next : nullptr; k; k = k->next) {
        if (name == k->name) {
            return misuse(invalidPtx, "kernel %s is defined at %s:%d and at %s:%d", k->name, k->file, k->line,
                          kernel->file, kernel->line);
        }
    }
    if (!kernel) return success;  // not compiled for the host: reported when it is requested
    uint32_t paramBytes = numberAfter(ptx, name + "_param_0[", from, next, 0);
    if (paramBytes != kernel->paramBytes) {
        return misuse(invalidPtx, "kernel %s: the image takes %u bytes of parameters, the source %zu: make kernels",
                      name.c_str(), paramBytes, kernel->paramBytes);
    }
    uint32_t shared = sharedBytes(ptx, from, next);
    if (shared > 48 << 10) {
        return misuse(invalidPtx, "kernel %s: %u bytes of static shared memory, more than 48 KiB", name.c_str(),
                      shared);
    }
    m.functions[name] = Function{kernel, shared, (48u << 10) - shared};
    return success;
}

int checkLaunch(const Function& f, const Launch& launch) {
    const char* name = f.kernel->name;
    for (int i = 0; i < 3; i++) {
        if (launch.grid.axis[i] == 0 || launch.block.axis[i] == 0) {
            return misuse(invalidValue, "launch of %s: a dimension of the grid or block is 0", name);
        }
        if (i > 0 && launch.grid.axis[i] > 65535)
            return misuse(invalidValue, "launch of %s: the grid is too large", name);
    }
    if (launch.grid.axis[0] > 0x7fffffff) return misuse(invalidValue, "launch of %s: the grid is too large", name);
    if (launch.block.volume() > f.kernel->maxThreads || launch.block.volume() > maxBlockThreads) {
        return misuse(invalidValue, "launch of %s: %llu threads a block, more than %u", name,
                      static_cast<unsigned long long>(launch.block.volume()), f.kernel->maxThreads);
    }
    if (launch.sharedBytes > f.maxDynamicShared) {
        return misuse(invalidValue, "launch of %s: %u bytes of dynamic shared memory, more than %u", name,
                      launch.sharedBytes, f.maxDynamicShared);
    }
    return success;
}

int runOn(Device* device, Launch launch, const std::string& params) {
    int lost = lostAtLaunch();
    if (lost != success) {
        device->lost = lost;
        return lost;
    }
    launch.params = params.data();
    useDevice(device->ordinal);
    return runLaunch(launch);
}

}  // namespace
}  // namespace griffin::emulator

using namespace griffin::emulator;

GRIFFIN_EXPORT int cuModuleLoadDataEx(void** handle, const void* image, unsigned, int*, void**) {
    GRIFFIN_ENTER_CONTEXT();
    auto module = std::make_unique<Module>();
    module->device = device->ordinal;
    module->ptx = static_cast<const char*>(image);
    if (module->ptx.find(".version") == std::string::npos) return invalidPtx;
    const std::string key = ".entry ";
    for (size_t at = module->ptx.find(key); at != std::string::npos; at = module->ptx.find(key, at + 1)) {
        int code = readEntry(*module, at + key.size());
        if (code != success) return code;
    }
    for (auto& [name, function] : module->functions) owners[&function] = module.get();
    *handle = module.release();
    return success;
}

GRIFFIN_EXPORT int cuModuleUnload(void* handle) {
    GRIFFIN_ENTER_CONTEXT();
    int code = drainAll(device);
    auto* module = static_cast<Module*>(handle);
    for (auto& [name, function] : module->functions) owners.erase(&function);
    delete module;
    return code;
}

GRIFFIN_EXPORT int cuModuleGetFunction(void** handle, void* moduleHandle, const char* name) {
    GRIFFIN_ENTER_CONTEXT();
    auto* module = static_cast<Module*>(moduleHandle);
    auto found = module->functions.find(name);
    if (found == module->functions.end()) {
        if (module->ptx.find(std::string(".entry ") + name + "(") == std::string::npos) return notFound;
        return misuse(notFound, "kernel %s is in the image but was not compiled for the emulator", name);
    }
    *handle = &found->second;
    return success;
}

GRIFFIN_EXPORT int cuFuncGetParamInfo(void* handle, size_t index, size_t* offset, size_t* bytes) {
    GRIFFIN_ENTER_CONTEXT();
    if (index != 0) return invalidValue;
    *offset = 0;
    *bytes = static_cast<Function*>(handle)->kernel->paramBytes;
    return success;
}

GRIFFIN_EXPORT int cuFuncGetAttribute(int* value, int number, void* handle) {
    GRIFFIN_ENTER_CONTEXT();
    auto* function = static_cast<Function*>(handle);
    switch (number) {
        case 0:
            *value = static_cast<int>(function->kernel->maxThreads);
            break;
        case 1:
            *value = static_cast<int>(function->staticShared);
            break;
        case 4:
            *value = 32;
            break;  // registers
        case 5:
            *value = 80;
            break;  // PTX version
        case 6:
            *value = 90;
            break;  // machine code version
        case 8:
            *value = static_cast<int>(function->maxDynamicShared);
            break;
        default:
            *value = 0;
    }
    return success;
}

GRIFFIN_EXPORT int cuFuncSetAttribute(void* handle, int number, int value) {
    GRIFFIN_ENTER_CONTEXT();
    auto* function = static_cast<Function*>(handle);
    if (number == 8) {
        if (value < 0 || static_cast<uint32_t>(value) + function->staticShared > maxSharedBytes) return invalidValue;
        function->maxDynamicShared = static_cast<uint32_t>(value);
    }
    return success;
}

GRIFFIN_EXPORT int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void* handle, int threads, size_t dynamic) {
    GRIFFIN_ENTER_CONTEXT();
    auto* function = static_cast<Function*>(handle);
    if (threads <= 0 || threads > static_cast<int>(function->kernel->maxThreads)) return invalidValue;
    size_t shared = dynamic + function->staticShared + (1 << 10);
    size_t most = 2048 / static_cast<size_t>(threads), byShared = (228 << 10) / shared;
    most = most > 32 ? 32 : most;
    *blocks = static_cast<int>(byShared < most ? byShared : most);
    return success;
}

GRIFFIN_EXPORT int cuLaunchKernel(void* handle, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,
                                  unsigned blockY, unsigned blockZ, unsigned shared, void* streamHandle, void** params,
                                  void** extra) {
    GRIFFIN_ENTER_CONTEXT();
    Stream* stream = streamOf(streamHandle, device);
    auto* function = static_cast<Function*>(handle);
    auto owner = owners.find(function);
    if (!stream || owner == owners.end() || extra || !params) return invalidHandle;
    if (owner->second->device != device->ordinal)
        return misuse(invalidHandle, "launch of %s: the module belongs to another device", function->kernel->name);
    Launch launch{function->kernel, {{gridX, gridY, gridZ}}, {{blockX, blockY, blockZ}}, shared, nullptr};
    int code = checkLaunch(*function, launch);
    if (code != success) return code;
    std::string copied(static_cast<const char*>(params[0]), function->kernel->paramBytes);
    return enqueue(stream, [device, launch, copied] { return runOn(device, launch, copied); });
}
