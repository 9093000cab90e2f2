// Result codes of the driver that the emulator returns.
#pragma once

namespace griffin::emulator {

// A code, its name in cuda.h after CUDA_ERROR_, and a description.
#define GRIFFIN_CODES(CODE)                                                                                         \
    CODE(invalidValue, 1, "INVALID_VALUE", "invalid argument")                                                      \
    CODE(outOfMemory, 2, "OUT_OF_MEMORY", "out of memory")                                                          \
    CODE(notInitialized, 3, "NOT_INITIALIZED", "initialization error")                                              \
    CODE(deviceUnavailable, 46, "DEVICE_UNAVAILABLE", "device is busy or not there")                                \
    CODE(noDevice, 100, "NO_DEVICE", "no CUDA-capable device is detected")                                          \
    CODE(invalidDevice, 101, "INVALID_DEVICE", "invalid device ordinal")                                            \
    CODE(invalidContext, 201, "INVALID_CONTEXT", "invalid device context")                                          \
    CODE(eccUncorrectable, 214, "ECC_UNCORRECTABLE", "uncorrectable ECC error")                                     \
    CODE(invalidPtx, 218, "INVALID_PTX", "the PTX could not be compiled")                                           \
    CODE(alreadyRegistered, 712, "HOST_MEMORY_ALREADY_REGISTERED", "part or all of the memory is registered")       \
    CODE(notRegistered, 713, "HOST_MEMORY_NOT_REGISTERED", "the memory is not registered")                          \
    CODE(invalidHandle, 400, "INVALID_HANDLE", "invalid resource handle")                                           \
    CODE(notFound, 500, "NOT_FOUND", "named symbol not found")                                                      \
    CODE(notReady, 600, "NOT_READY", "device not ready")                                                            \
    CODE(illegalAddress, 700, "ILLEGAL_ADDRESS", "an illegal memory access was encountered")                        \
    CODE(launchOutOfResources, 701, "LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch")           \
    CODE(misalignedAddress, 716, "MISALIGNED_ADDRESS", "misaligned address")                                        \
    CODE(launchFailed, 719, "LAUNCH_FAILED", "unspecified launch failure")                                          \
    CODE(notSupported, 801, "NOT_SUPPORTED", "operation not supported")                                             \
    CODE(captureUnsupported, 900, "STREAM_CAPTURE_UNSUPPORTED", "operation not permitted when stream is capturing") \
    CODE(captureInvalidated, 901, "STREAM_CAPTURE_INVALIDATED",                                                     \
         "operation failed due to a previous error during capture")                                                 \
    CODE(unknown, 999, "UNKNOWN", "unknown error")

enum Code : int {
    success = 0,
#define GRIFFIN_CODE(name, number, text, sentence) name = number,
    GRIFFIN_CODES(GRIFFIN_CODE)
#undef GRIFFIN_CODE
};

}  // namespace griffin::emulator
