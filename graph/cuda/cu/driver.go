package cu

import (
	"sync"
	"unsafe"

	"github.com/pkg/errors"
	"gorgonia.org/cu/internal/dynlib"
)

// oldestDriver is the oldest CUDA version that a driver may support, in the format of
// cuDriverGetVersion.
const oldestDriver = 12010

// driver holds the functions of the open library.
type driver struct {
	path    string
	version int

	init, driverGetVersion, getErrorName                                         dynlib.Func
	deviceGetCount, deviceGet, deviceGetName, deviceGetAttribute, deviceTotalMem dynlib.Func
	deviceGetPCIBusID                                                            dynlib.Func
	primaryCtxRetain, primaryCtxRelease, ctxSetCurrent, ctxGetCurrent            dynlib.Func
	ctxSynchronize                                                               dynlib.Func
	memGetInfo, memAlloc, memAllocManaged, memFree                               dynlib.Func
	memcpyHtoD, memcpyDtoH, memcpyHtoDAsync, memcpyDtoHAsync, memcpyDtoDAsync    dynlib.Func
	memsetD8Async, memsetD32Async                                                dynlib.Func
	streamCreate, streamDestroy, streamQuery, streamSynchronize                  dynlib.Func
	streamBeginCapture, streamEndCapture                                         dynlib.Func
	graphInstantiate, graphDestroy, graphLaunch, graphExecDestroy                dynlib.Func
	eventCreate, eventDestroy, eventRecord, eventSynchronize, eventElapsedTime   dynlib.Func
	moduleLoadDataEx, moduleUnload, moduleGetFunction                            dynlib.Func
	funcSetAttribute, funcGetAttribute, launchKernel                             dynlib.Func
}

// symbols lists the driver's functions with the names under which it exports them.
func (d *driver) symbols() []dynlib.Symbol {
	return []dynlib.Symbol{
		{Func: &d.init, Name: "cuInit"},
		{Func: &d.driverGetVersion, Name: "cuDriverGetVersion"},
		{Func: &d.getErrorName, Name: "cuGetErrorName"},
		{Func: &d.deviceGetCount, Name: "cuDeviceGetCount"},
		{Func: &d.deviceGet, Name: "cuDeviceGet"},
		{Func: &d.deviceGetName, Name: "cuDeviceGetName"},
		{Func: &d.deviceGetAttribute, Name: "cuDeviceGetAttribute"},
		{Func: &d.deviceGetPCIBusID, Name: "cuDeviceGetPCIBusId"},
		{Func: &d.deviceTotalMem, Name: "cuDeviceTotalMem_v2"},
		{Func: &d.primaryCtxRetain, Name: "cuDevicePrimaryCtxRetain"},
		{Func: &d.primaryCtxRelease, Name: "cuDevicePrimaryCtxRelease_v2"},
		{Func: &d.ctxSetCurrent, Name: "cuCtxSetCurrent"},
		{Func: &d.ctxGetCurrent, Name: "cuCtxGetCurrent"},
		{Func: &d.ctxSynchronize, Name: "cuCtxSynchronize"},
		{Func: &d.memGetInfo, Name: "cuMemGetInfo_v2"},
		{Func: &d.memAlloc, Name: "cuMemAlloc_v2"},
		{Func: &d.memAllocManaged, Name: "cuMemAllocManaged"},
		{Func: &d.memFree, Name: "cuMemFree_v2"},
		{Func: &d.memcpyHtoD, Name: "cuMemcpyHtoD_v2"},
		{Func: &d.memcpyDtoH, Name: "cuMemcpyDtoH_v2"},
		{Func: &d.memcpyHtoDAsync, Name: "cuMemcpyHtoDAsync_v2"},
		{Func: &d.memcpyDtoHAsync, Name: "cuMemcpyDtoHAsync_v2"},
		{Func: &d.memcpyDtoDAsync, Name: "cuMemcpyDtoDAsync_v2"},
		{Func: &d.memsetD8Async, Name: "cuMemsetD8Async"},
		{Func: &d.memsetD32Async, Name: "cuMemsetD32Async"},
		{Func: &d.streamCreate, Name: "cuStreamCreate"},
		{Func: &d.streamDestroy, Name: "cuStreamDestroy_v2"},
		{Func: &d.streamQuery, Name: "cuStreamQuery"},
		{Func: &d.streamSynchronize, Name: "cuStreamSynchronize"},
		{Func: &d.streamBeginCapture, Name: "cuStreamBeginCapture_v2"},
		{Func: &d.streamEndCapture, Name: "cuStreamEndCapture"},
		{Func: &d.graphInstantiate, Name: "cuGraphInstantiateWithFlags"},
		{Func: &d.graphDestroy, Name: "cuGraphDestroy"},
		{Func: &d.graphLaunch, Name: "cuGraphLaunch"},
		{Func: &d.graphExecDestroy, Name: "cuGraphExecDestroy"},
		{Func: &d.eventCreate, Name: "cuEventCreate"},
		{Func: &d.eventDestroy, Name: "cuEventDestroy_v2"},
		{Func: &d.eventRecord, Name: "cuEventRecord"},
		{Func: &d.eventSynchronize, Name: "cuEventSynchronize"},
		{Func: &d.eventElapsedTime, Name: "cuEventElapsedTime"},
		{Func: &d.moduleLoadDataEx, Name: "cuModuleLoadDataEx"},
		{Func: &d.moduleUnload, Name: "cuModuleUnload"},
		{Func: &d.moduleGetFunction, Name: "cuModuleGetFunction"},
		{Func: &d.funcSetAttribute, Name: "cuFuncSetAttribute"},
		{Func: &d.funcGetAttribute, Name: "cuFuncGetAttribute"},
		{Func: &d.launchKernel, Name: "cuLaunchKernel"},
	}
}

// load opens the driver once for the program; later calls return the same driver or error.
var load = sync.OnceValues(openDriver)

// openDriver finds, binds and initialises the driver.
func openDriver() (*driver, error) {
	library, err := dynlib.Search{
		What: "CUDA driver", Env: "RESIDUA_CUDA_DRIVER", Names: []string{"libcuda.so.1"},
		Fix: "install NVIDIA's driver",
	}.Open()
	if err != nil {
		return nil, err
	}
	d := &driver{path: library.Path}
	if err := library.Bind(d.symbols()); err != nil {
		return nil, errors.Wrap(err, "not a CUDA driver of CUDA 12.1 or newer")
	}
	if err := d.checkVersion(); err != nil {
		return nil, err
	}
	return d, d.start()
}

// checkVersion checks the CUDA version that the driver supports.
func (d *driver) checkVersion() error {
	var version int32
	if r := Result(d.driverGetVersion.Call(uintptr(unsafe.Pointer(&version)))); r != 0 {
		return errors.Errorf("asking %s for its version: %s", d.path, d.resultName(r))
	}
	d.version = int(version)
	if version < oldestDriver {
		return errors.Errorf("the CUDA driver %s is too old: it offers CUDA %d.%d, wanted 12.1 or newer; update NVIDIA's driver (530 or newer)",
			d.path, version/1000, version%1000/10)
	}
	return nil
}

// start initialises the driver, which looks for GPUs.
func (d *driver) start() error {
	switch r := Result(d.init.Call(0)); r {
	case 0:
		return nil
	case NoDevice:
		return d.noGPU()
	default:
		return errors.Errorf("initialising the CUDA driver %s: %s", d.path, d.resultName(r))
	}
}

// noGPU returns the error for a machine that has a driver but no GPU that it can use.
func (d *driver) noGPU() error {
	return errors.Errorf("no CUDA GPU: the driver %s finds none; see what nvidia-smi lists, and what CUDA_VISIBLE_DEVICES hides", d.path)
}

// DriverVersion returns the version of CUDA that the driver supports, 12 and 4 for 12.4.
func DriverVersion() (major, minor int, err error) {
	d, err := load()
	if err != nil {
		return 0, 0, err
	}
	return d.version / 1000, d.version % 1000 / 10, nil
}
