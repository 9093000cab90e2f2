package cuda

// function is a driver function that this package calls. The list is complete:
// the emulator exports exactly these names.
type function uint8

// The driver functions. Each comment is the C declaration in cuda.h, with the
// exported name (the header maps some to _v2). CUresult and CUdevice are C
// ints; CUdeviceptr has 64 bits; handles (CUcontext, CUmodule, CUfunction,
// CUstream, CUevent, CUgraph, CUgraphExec, CUmemoryPool) are pointers.
const (
	// The library and its devices.

	// CUresult cuInit(unsigned int Flags).
	fnInit function = iota
	// CUresult cuDriverGetVersion(int *driverVersion).
	fnDriverGetVersion
	// CUresult cuGetErrorName(CUresult error, const char **pStr).
	fnGetErrorName
	// CUresult cuGetErrorString(CUresult error, const char **pStr).
	fnGetErrorString
	// CUresult cuDeviceGetCount(int *count).
	fnDeviceGetCount
	// CUresult cuDeviceGet(CUdevice *device, int ordinal).
	fnDeviceGet
	// CUresult cuDeviceGetName(char *name, int len, CUdevice dev).
	fnDeviceGetName
	// CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice dev), 16 bytes.
	fnDeviceGetUUID
	// CUresult cuDeviceGetPCIBusId(char *pciBusId, int len, CUdevice dev).
	fnDeviceGetPCIBusID
	// CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev).
	fnDeviceTotalMem
	// CUresult cuDeviceGetAttribute(int *pi, CUdevice_attribute attrib, CUdevice dev).
	fnDeviceGetAttribute

	// Contexts.

	// CUresult cuDevicePrimaryCtxRetain(CUcontext *pctx, CUdevice dev).
	fnPrimaryCtxRetain
	// CUresult cuDevicePrimaryCtxRelease_v2(CUdevice dev).
	fnPrimaryCtxRelease
	// CUresult cuCtxSetCurrent(CUcontext ctx).
	fnCtxSetCurrent
	// CUresult cuCtxSynchronize(void).
	fnCtxSynchronize
	// CUresult cuMemGetInfo_v2(size_t *free, size_t *total).
	fnMemGetInfo

	// Modules and kernels.

	// CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int numOptions, CUjit_option *options, void **optionValues).
	fnModuleLoadDataEx
	// CUresult cuModuleUnload(CUmodule hmod).
	fnModuleUnload
	// CUresult cuModuleGetFunction(CUfunction *hfunc, CUmodule hmod, const char *name).
	fnModuleGetFunction
	// CUresult cuFuncGetParamInfo(CUfunction func, size_t paramIndex, size_t *paramOffset, size_t *paramSize).
	fnFuncGetParamInfo // driver 12.4 and later
	// CUresult cuFuncGetAttribute(int *pi, CUfunction_attribute attrib, CUfunction hfunc).
	fnFuncGetAttribute
	// CUresult cuFuncSetAttribute(CUfunction hfunc, CUfunction_attribute attrib, int value).
	fnFuncSetAttribute
	// CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *numBlocks, CUfunction func, int blockSize, size_t dynamicSMemSize).
	fnOccupancyMaxActiveBlocks
	// CUresult cuLaunchKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ, unsigned int blockDimX, unsigned int blockDimY, unsigned int blockDimZ, unsigned int sharedMemBytes, CUstream hStream, void **kernelParams, void **extra).
	fnLaunchKernel

	// Memory.

	// CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize).
	fnMemAlloc
	// CUresult cuMemFree_v2(CUdeviceptr dptr).
	fnMemFree
	// CUresult cuMemAllocAsync(CUdeviceptr *dptr, size_t bytesize, CUstream hStream).
	fnMemAllocAsync
	// CUresult cuMemFreeAsync(CUdeviceptr dptr, CUstream hStream).
	fnMemFreeAsync
	// CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *pool_out, CUdevice dev).
	fnDeviceGetDefaultMemPool
	// CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value), value: uint64_t.
	fnMemPoolSetAttribute
	// CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value), value: uint64_t.
	fnMemPoolGetAttribute
	// CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t minBytesToKeep).
	fnMemPoolTrimTo
	// CUresult cuMemHostAlloc(void **pp, size_t bytesize, unsigned int Flags).
	fnMemHostAlloc
	// CUresult cuMemFreeHost(void *p).
	fnMemFreeHost
	// CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *pdptr, void *p, unsigned int Flags).
	fnMemHostGetDevicePointer
	// CUresult cuMemHostRegister_v2(void *p, size_t bytesize, unsigned int Flags).
	fnMemHostRegister
	// CUresult cuMemHostUnregister(void *p).
	fnMemHostUnregister
	// CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount, CUstream hStream).
	fnMemcpyHtoDAsync
	// CUresult cuMemcpyDtoHAsync_v2(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream).
	fnMemcpyDtoHAsync
	// CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream).
	fnMemcpyDtoDAsync
	// CUresult cuMemsetD8Async(CUdeviceptr dstDevice, unsigned char uc, size_t N, CUstream hStream).
	fnMemsetD8Async
	// CUresult cuMemsetD32Async(CUdeviceptr dstDevice, unsigned int ui, size_t N, CUstream hStream).
	fnMemsetD32Async

	// Streams and events.

	// CUresult cuStreamCreate(CUstream *phStream, unsigned int Flags).
	fnStreamCreate
	// CUresult cuStreamDestroy_v2(CUstream hStream).
	fnStreamDestroy
	// CUresult cuStreamSynchronize(CUstream hStream).
	fnStreamSynchronize
	// CUresult cuStreamQuery(CUstream hStream).
	fnStreamQuery
	// CUresult cuStreamWaitEvent(CUstream hStream, CUevent hEvent, unsigned int Flags).
	fnStreamWaitEvent
	// CUresult cuEventCreate(CUevent *phEvent, unsigned int Flags).
	fnEventCreate
	// CUresult cuEventDestroy_v2(CUevent hEvent).
	fnEventDestroy
	// CUresult cuEventRecord(CUevent hEvent, CUstream hStream).
	fnEventRecord
	// CUresult cuEventQuery(CUevent hEvent).
	fnEventQuery
	// CUresult cuEventSynchronize(CUevent hEvent).
	fnEventSynchronize
	// CUresult cuEventElapsedTime(float *pMilliseconds, CUevent hStart, CUevent hEnd).
	fnEventElapsedTime

	// Graphs.

	// CUresult cuStreamBeginCapture_v2(CUstream hStream, CUstreamCaptureMode mode).
	fnStreamBeginCapture
	// CUresult cuStreamEndCapture(CUstream hStream, CUgraph *phGraph).
	fnStreamEndCapture
	// CUresult cuGraphInstantiateWithFlags(CUgraphExec *phGraphExec, CUgraph hGraph, uint64_t flags).
	fnGraphInstantiate
	// CUresult cuGraphUpload(CUgraphExec hGraphExec, CUstream hStream).
	fnGraphUpload
	// CUresult cuGraphLaunch(CUgraphExec hGraphExec, CUstream hStream).
	fnGraphLaunch
	// CUresult cuGraphExecDestroy(CUgraphExec hGraphExec).
	fnGraphExecDestroy
	// CUresult cuGraphDestroy(CUgraph hGraph).
	fnGraphDestroy

	numFunctions
)

// functionNames are the names that the driver library exports.
var functionNames = [numFunctions]string{
	fnInit:                     "cuInit",
	fnDriverGetVersion:         "cuDriverGetVersion",
	fnGetErrorName:             "cuGetErrorName",
	fnGetErrorString:           "cuGetErrorString",
	fnDeviceGetCount:           "cuDeviceGetCount",
	fnDeviceGet:                "cuDeviceGet",
	fnDeviceGetName:            "cuDeviceGetName",
	fnDeviceGetUUID:            "cuDeviceGetUuid_v2",
	fnDeviceGetPCIBusID:        "cuDeviceGetPCIBusId",
	fnDeviceTotalMem:           "cuDeviceTotalMem_v2",
	fnDeviceGetAttribute:       "cuDeviceGetAttribute",
	fnPrimaryCtxRetain:         "cuDevicePrimaryCtxRetain",
	fnPrimaryCtxRelease:        "cuDevicePrimaryCtxRelease_v2",
	fnCtxSetCurrent:            "cuCtxSetCurrent",
	fnCtxSynchronize:           "cuCtxSynchronize",
	fnMemGetInfo:               "cuMemGetInfo_v2",
	fnModuleLoadDataEx:         "cuModuleLoadDataEx",
	fnModuleUnload:             "cuModuleUnload",
	fnModuleGetFunction:        "cuModuleGetFunction",
	fnFuncGetParamInfo:         "cuFuncGetParamInfo",
	fnFuncGetAttribute:         "cuFuncGetAttribute",
	fnFuncSetAttribute:         "cuFuncSetAttribute",
	fnOccupancyMaxActiveBlocks: "cuOccupancyMaxActiveBlocksPerMultiprocessor",
	fnLaunchKernel:             "cuLaunchKernel",
	fnMemAlloc:                 "cuMemAlloc_v2",
	fnMemFree:                  "cuMemFree_v2",
	fnMemAllocAsync:            "cuMemAllocAsync",
	fnMemFreeAsync:             "cuMemFreeAsync",
	fnDeviceGetDefaultMemPool:  "cuDeviceGetDefaultMemPool",
	fnMemPoolSetAttribute:      "cuMemPoolSetAttribute",
	fnMemPoolGetAttribute:      "cuMemPoolGetAttribute",
	fnMemPoolTrimTo:            "cuMemPoolTrimTo",
	fnMemHostAlloc:             "cuMemHostAlloc",
	fnMemFreeHost:              "cuMemFreeHost",
	fnMemHostGetDevicePointer:  "cuMemHostGetDevicePointer_v2",
	fnMemHostRegister:          "cuMemHostRegister_v2",
	fnMemHostUnregister:        "cuMemHostUnregister",
	fnMemcpyHtoDAsync:          "cuMemcpyHtoDAsync_v2",
	fnMemcpyDtoHAsync:          "cuMemcpyDtoHAsync_v2",
	fnMemcpyDtoDAsync:          "cuMemcpyDtoDAsync_v2",
	fnMemsetD8Async:            "cuMemsetD8Async",
	fnMemsetD32Async:           "cuMemsetD32Async",
	fnStreamCreate:             "cuStreamCreate",
	fnStreamDestroy:            "cuStreamDestroy_v2",
	fnStreamSynchronize:        "cuStreamSynchronize",
	fnStreamQuery:              "cuStreamQuery",
	fnStreamWaitEvent:          "cuStreamWaitEvent",
	fnEventCreate:              "cuEventCreate",
	fnEventDestroy:             "cuEventDestroy_v2",
	fnEventRecord:              "cuEventRecord",
	fnEventQuery:               "cuEventQuery",
	fnEventSynchronize:         "cuEventSynchronize",
	fnEventElapsedTime:         "cuEventElapsedTime",
	fnStreamBeginCapture:       "cuStreamBeginCapture_v2",
	fnStreamEndCapture:         "cuStreamEndCapture",
	fnGraphInstantiate:         "cuGraphInstantiateWithFlags",
	fnGraphUpload:              "cuGraphUpload",
	fnGraphLaunch:              "cuGraphLaunch",
	fnGraphExecDestroy:         "cuGraphExecDestroy",
	fnGraphDestroy:             "cuGraphDestroy",
}

func (f function) String() string { return functionNames[f] }

// Functions returns the exported names of the driver functions that this
// package calls.
func Functions() []string {
	return append([]string(nil), functionNames[:]...)
}
