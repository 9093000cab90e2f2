package cuda

// function is a driver function that this package calls. The emulator exports
// exactly these.
type function uint8

// The driver functions. Each comment is the C declaration in cuda.h, with the
// exported name (the header maps some to _v2). All return CUresult; CUresult
// and CUdevice are C ints; CUdeviceptr has 64 bits; handles (CUcontext,
// CUmodule and others) are pointers.
const (
	// The library and its devices.

	// cuInit(unsigned int Flags).
	fnInit function = iota
	// cuDriverGetVersion(int *driverVersion).
	fnDriverGetVersion
	// cuGetErrorName(CUresult error, const char **pStr).
	fnGetErrorName
	// cuGetErrorString(CUresult error, const char **pStr).
	fnGetErrorString
	// cuDeviceGetCount(int *count).
	fnDeviceGetCount
	// cuDeviceGet(CUdevice *device, int ordinal).
	fnDeviceGet
	// cuDeviceGetName(char *name, int len, CUdevice dev).
	fnDeviceGetName
	// cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice dev), 16 bytes.
	fnDeviceGetUUID
	// cuDeviceGetPCIBusId(char *pciBusId, int len, CUdevice dev).
	fnDeviceGetPCIBusID
	// cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev).
	fnDeviceTotalMem
	// cuDeviceGetAttribute(int *pi, CUdevice_attribute attrib, CUdevice dev).
	fnDeviceGetAttribute

	// Contexts.

	// cuDevicePrimaryCtxRetain(CUcontext *pctx, CUdevice dev).
	fnPrimaryCtxRetain
	// cuDevicePrimaryCtxRelease_v2(CUdevice dev).
	fnPrimaryCtxRelease
	// cuCtxSetCurrent(CUcontext ctx).
	fnCtxSetCurrent
	// cuCtxSynchronize(void).
	fnCtxSynchronize
	// cuMemGetInfo_v2(size_t *free, size_t *total).
	fnMemGetInfo

	// Modules and kernels.

	// cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int numOptions, CUjit_option *options, void **optionValues).
	fnModuleLoadDataEx
	// cuModuleUnload(CUmodule hmod).
	fnModuleUnload
	// cuModuleGetFunction(CUfunction *hfunc, CUmodule hmod, const char *name).
	fnModuleGetFunction
	// cuFuncGetParamInfo(CUfunction func, size_t paramIndex, size_t *paramOffset, size_t *paramSize).
	fnFuncGetParamInfo // driver 12.4 and later
	// cuFuncGetAttribute(int *pi, CUfunction_attribute attrib, CUfunction hfunc).
	fnFuncGetAttribute
	// cuFuncSetAttribute(CUfunction hfunc, CUfunction_attribute attrib, int value).
	fnFuncSetAttribute
	// cuOccupancyMaxActiveBlocksPerMultiprocessor(int *numBlocks, CUfunction func, int blockSize, size_t dynamicSMemSize).
	fnOccupancyMaxActiveBlocks
	// cuLaunchKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ, unsigned int blockDimX, unsigned int blockDimY, unsigned int blockDimZ, unsigned int sharedMemBytes, CUstream hStream, void **kernelParams, void **extra).
	fnLaunchKernel

	// Memory.

	// cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize).
	fnMemAlloc
	// cuMemFree_v2(CUdeviceptr dptr).
	fnMemFree
	// cuMemAllocAsync(CUdeviceptr *dptr, size_t bytesize, CUstream hStream).
	fnMemAllocAsync
	// cuMemFreeAsync(CUdeviceptr dptr, CUstream hStream).
	fnMemFreeAsync
	// cuDeviceGetDefaultMemPool(CUmemoryPool *pool_out, CUdevice dev).
	fnDeviceGetDefaultMemPool
	// cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value), value: uint64_t.
	fnMemPoolSetAttribute
	// cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value), value: uint64_t.
	fnMemPoolGetAttribute
	// cuMemPoolTrimTo(CUmemoryPool pool, size_t minBytesToKeep).
	fnMemPoolTrimTo
	// cuMemHostAlloc(void **pp, size_t bytesize, unsigned int Flags).
	fnMemHostAlloc
	// cuMemFreeHost(void *p).
	fnMemFreeHost
	// cuMemHostGetDevicePointer_v2(CUdeviceptr *pdptr, void *p, unsigned int Flags).
	fnMemHostGetDevicePointer
	// cuMemHostRegister_v2(void *p, size_t bytesize, unsigned int Flags).
	fnMemHostRegister
	// cuMemHostUnregister(void *p).
	fnMemHostUnregister
	// cuMemcpyHtoDAsync_v2(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount, CUstream hStream).
	fnMemcpyHtoDAsync
	// cuMemcpyDtoHAsync_v2(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream).
	fnMemcpyDtoHAsync
	// cuMemcpyDtoDAsync_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream).
	fnMemcpyDtoDAsync
	// cuMemsetD8Async(CUdeviceptr dstDevice, unsigned char uc, size_t N, CUstream hStream).
	fnMemsetD8Async
	// cuMemsetD32Async(CUdeviceptr dstDevice, unsigned int ui, size_t N, CUstream hStream).
	fnMemsetD32Async

	// Streams and events.

	// cuStreamCreate(CUstream *phStream, unsigned int Flags).
	fnStreamCreate
	// cuStreamDestroy_v2(CUstream hStream).
	fnStreamDestroy
	// cuStreamSynchronize(CUstream hStream).
	fnStreamSynchronize
	// cuStreamQuery(CUstream hStream).
	fnStreamQuery
	// cuStreamWaitEvent(CUstream hStream, CUevent hEvent, unsigned int Flags).
	fnStreamWaitEvent
	// cuEventCreate(CUevent *phEvent, unsigned int Flags).
	fnEventCreate
	// cuEventDestroy_v2(CUevent hEvent).
	fnEventDestroy
	// cuEventRecord(CUevent hEvent, CUstream hStream).
	fnEventRecord
	// cuEventQuery(CUevent hEvent).
	fnEventQuery
	// cuEventSynchronize(CUevent hEvent).
	fnEventSynchronize
	// cuEventElapsedTime(float *pMilliseconds, CUevent hStart, CUevent hEnd).
	fnEventElapsedTime

	// Parts of a device, driver 12.5 and later.

	// cuDeviceGetDevResource(CUdevice device, CUdevResource *resource, CUdevResourceType type).
	fnDeviceGetDevResource
	// cuDevSmResourceSplitByCount(CUdevResource *result, unsigned int *nbGroups, const CUdevResource *input, CUdevResource *remainder, unsigned int useFlags, unsigned int minCount).
	fnDevSmResourceSplitByCount
	// cuDevResourceGenerateDesc(CUdevResourceDesc *phDesc, CUdevResource *resources, unsigned int nbResources).
	fnDevResourceGenerateDesc
	// cuGreenCtxCreate(CUgreenCtx *phCtx, CUdevResourceDesc desc, CUdevice dev, unsigned int flags).
	fnGreenCtxCreate
	// cuGreenCtxDestroy(CUgreenCtx hCtx).
	fnGreenCtxDestroy
	// cuGreenCtxStreamCreate(CUstream *phStream, CUgreenCtx greenCtx, unsigned int flags, int priority).
	fnGreenCtxStreamCreate

	// Graphs.

	// cuStreamBeginCapture_v2(CUstream hStream, CUstreamCaptureMode mode).
	fnStreamBeginCapture
	// cuStreamEndCapture(CUstream hStream, CUgraph *phGraph).
	fnStreamEndCapture
	// cuGraphInstantiateWithFlags(CUgraphExec *phGraphExec, CUgraph hGraph, uint64_t flags).
	fnGraphInstantiate
	// cuGraphUpload(CUgraphExec hGraphExec, CUstream hStream).
	fnGraphUpload
	// cuGraphLaunch(CUgraphExec hGraphExec, CUstream hStream).
	fnGraphLaunch
	// cuGraphExecDestroy(CUgraphExec hGraphExec).
	fnGraphExecDestroy
	// cuGraphDestroy(CUgraph hGraph).
	fnGraphDestroy

	numFunctions
)

var functionNames = [numFunctions]string{
	fnInit:                      "cuInit",
	fnDriverGetVersion:          "cuDriverGetVersion",
	fnGetErrorName:              "cuGetErrorName",
	fnGetErrorString:            "cuGetErrorString",
	fnDeviceGetCount:            "cuDeviceGetCount",
	fnDeviceGet:                 "cuDeviceGet",
	fnDeviceGetName:             "cuDeviceGetName",
	fnDeviceGetUUID:             "cuDeviceGetUuid_v2",
	fnDeviceGetPCIBusID:         "cuDeviceGetPCIBusId",
	fnDeviceTotalMem:            "cuDeviceTotalMem_v2",
	fnDeviceGetAttribute:        "cuDeviceGetAttribute",
	fnPrimaryCtxRetain:          "cuDevicePrimaryCtxRetain",
	fnPrimaryCtxRelease:         "cuDevicePrimaryCtxRelease_v2",
	fnCtxSetCurrent:             "cuCtxSetCurrent",
	fnCtxSynchronize:            "cuCtxSynchronize",
	fnMemGetInfo:                "cuMemGetInfo_v2",
	fnModuleLoadDataEx:          "cuModuleLoadDataEx",
	fnModuleUnload:              "cuModuleUnload",
	fnModuleGetFunction:         "cuModuleGetFunction",
	fnFuncGetParamInfo:          "cuFuncGetParamInfo",
	fnFuncGetAttribute:          "cuFuncGetAttribute",
	fnFuncSetAttribute:          "cuFuncSetAttribute",
	fnOccupancyMaxActiveBlocks:  "cuOccupancyMaxActiveBlocksPerMultiprocessor",
	fnLaunchKernel:              "cuLaunchKernel",
	fnMemAlloc:                  "cuMemAlloc_v2",
	fnMemFree:                   "cuMemFree_v2",
	fnMemAllocAsync:             "cuMemAllocAsync",
	fnMemFreeAsync:              "cuMemFreeAsync",
	fnDeviceGetDefaultMemPool:   "cuDeviceGetDefaultMemPool",
	fnMemPoolSetAttribute:       "cuMemPoolSetAttribute",
	fnMemPoolGetAttribute:       "cuMemPoolGetAttribute",
	fnMemPoolTrimTo:             "cuMemPoolTrimTo",
	fnMemHostAlloc:              "cuMemHostAlloc",
	fnMemFreeHost:               "cuMemFreeHost",
	fnMemHostGetDevicePointer:   "cuMemHostGetDevicePointer_v2",
	fnMemHostRegister:           "cuMemHostRegister_v2",
	fnMemHostUnregister:         "cuMemHostUnregister",
	fnMemcpyHtoDAsync:           "cuMemcpyHtoDAsync_v2",
	fnMemcpyDtoHAsync:           "cuMemcpyDtoHAsync_v2",
	fnMemcpyDtoDAsync:           "cuMemcpyDtoDAsync_v2",
	fnMemsetD8Async:             "cuMemsetD8Async",
	fnMemsetD32Async:            "cuMemsetD32Async",
	fnStreamCreate:              "cuStreamCreate",
	fnStreamDestroy:             "cuStreamDestroy_v2",
	fnStreamSynchronize:         "cuStreamSynchronize",
	fnStreamQuery:               "cuStreamQuery",
	fnStreamWaitEvent:           "cuStreamWaitEvent",
	fnEventCreate:               "cuEventCreate",
	fnEventDestroy:              "cuEventDestroy_v2",
	fnEventRecord:               "cuEventRecord",
	fnEventQuery:                "cuEventQuery",
	fnEventSynchronize:          "cuEventSynchronize",
	fnEventElapsedTime:          "cuEventElapsedTime",
	fnDeviceGetDevResource:      "cuDeviceGetDevResource",
	fnDevSmResourceSplitByCount: "cuDevSmResourceSplitByCount",
	fnDevResourceGenerateDesc:   "cuDevResourceGenerateDesc",
	fnGreenCtxCreate:            "cuGreenCtxCreate",
	fnGreenCtxDestroy:           "cuGreenCtxDestroy",
	fnGreenCtxStreamCreate:      "cuGreenCtxStreamCreate",
	fnStreamBeginCapture:        "cuStreamBeginCapture_v2",
	fnStreamEndCapture:          "cuStreamEndCapture",
	fnGraphInstantiate:          "cuGraphInstantiateWithFlags",
	fnGraphUpload:               "cuGraphUpload",
	fnGraphLaunch:               "cuGraphLaunch",
	fnGraphExecDestroy:          "cuGraphExecDestroy",
	fnGraphDestroy:              "cuGraphDestroy",
}

func (f function) String() string { return functionNames[f] }

// Functions returns the names of the driver functions that this package calls.
func Functions() []string {
	return append([]string(nil), functionNames[:]...)
}
