// A driver library whose answers are fixed at compile time, and which does
// nothing else. It stands for old drivers and old devices, which no emulator
// shows, and measures the cost of a call. Most functions are missing on
// purpose.

#include <stdint.h>
#include <string.h>

#ifndef INIT
#define INIT 0
#endif
#ifndef VERSION
#define VERSION 12040
#endif
#ifndef MAJOR
#define MAJOR 9
#endif
#ifndef RETAIN
#define RETAIN 0
#endif

int cuInit(unsigned flags) { return flags ? 1 : INIT; }

int cuDriverGetVersion(int* version) {
  *version = VERSION;
  return 0;
}

int cuGetErrorName(int code, const char** text) {
  *text = code == 100 ? "CUDA_ERROR_NO_DEVICE" : code == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : 0;
  return *text ? 0 : 1;
}

int cuGetErrorString(int code, const char** text) {
  *text = code == 100 ? "no CUDA-capable device is detected" : code == 2 ? "out of memory" : 0;
  return *text ? 0 : 1;
}

int cuDeviceGetCount(int* count) {
  *count = 1;
  return 0;
}

int cuDeviceGet(int* device, int ordinal) {
  *device = 7 + ordinal;
  return ordinal == 0 ? 0 : 101;
}

int cuDeviceGetName(char* name, int size, int device) {
  strncpy(name, "Test Device", size);
  return device == 7 ? 0 : 101;
}

int cuDeviceTotalMem_v2(uint64_t* bytes, int device) {
  *bytes = 1 << 30;
  return device == 7 ? 0 : 101;
}

int cuDeviceGetAttribute(int* value, int attribute, int device) {
  switch (attribute) {
    case 10:
      *value = 32;
      return 0;
    case 75:
      *value = MAJOR;
      return 0;
    case 97:
      return 1; // unknown to an old driver
    default:
      *value = 1;
      return device == 7 ? 0 : 101;
  }
}

static int context;

int cuDevicePrimaryCtxRetain(void** out, int device) {
  *out = &context;
  return device == 7 ? RETAIN : 101;
}

int cuDevicePrimaryCtxRelease_v2(int device) { return device == 7 ? 0 : 101; }

static __thread void* current;

int cuCtxSetCurrent(void* ctx) {
  current = ctx;
  return 0;
}

int cuCtxSynchronize(void) { return current == &context ? 0 : 201; }

int cuDeviceGetDefaultMemPool(void** pool, int device) {
  *pool = &context;
  return device == 7 && current == &context ? 0 : 201;
}

int cuMemPoolSetAttribute(void* pool, int attribute, void* value) {
  return pool == &context && attribute == 4 && *(uint64_t*)value == UINT64_MAX ? 0 : 1;
}

int cuStreamCreate(void** stream, unsigned flags) {
  *stream = &context;
  return flags == 1 ? 0 : 1;
}

int cuStreamDestroy_v2(void* stream) { return stream == &context ? 0 : 400; }

int cuStreamQuery(void* stream) { return stream == &context ? 0 : 400; }

int cuModuleLoadDataEx(void** module, const char* image, unsigned n, const int* options, void** values) {
  *module = &context;
  if (strcmp(image, "bad") != 0) return 0;
  for (unsigned i = 0; i < n; i++)
    if (options[i] == 5) strcpy(values[i], "line 1: what is bad?");
  return 218;
}

int cuModuleUnload(void* module) { return module == &context ? 0 : 400; }

int cuModuleGetFunction(void** function, void* module, const char* name) {
  *function = &context;
  return module == &context && strcmp(name, "nothing") == 0 ? 0 : 500;
}

int cuFuncGetAttribute(int* value, int attribute, void* function) {
  *value = attribute == 0 ? 1024 : 16;
  return function == &context ? 0 : 400;
}

// The kernel "nothing" takes 12 bytes of parameters; a launch checks them.
int cuLaunchKernel(void* function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX, unsigned blockY,
                   unsigned blockZ, unsigned shared, void* stream, void** params, void** extra) {
  const uint32_t* p = params[0];
  if (function != &context || stream != &context || extra || current != &context) return 400;
  if (gridY != 1 || gridZ != 1 || blockY != 1 || blockZ != 1 || shared != 64) return 1;
  return p[0] == gridX && p[1] == blockX && p[2] == 0xdeadbeef ? 0 : 719;
}
