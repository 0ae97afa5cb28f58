package cu

import "unsafe"

// DeviceAttribute identifies a property of a GPU that the driver reports.
type DeviceAttribute int32

// Attributes of a GPU.
const (
	MaxThreadsPerBlock      DeviceAttribute = 1
	MaxBlockDimX            DeviceAttribute = 2
	MaxBlockDimY            DeviceAttribute = 3
	MaxBlockDimZ            DeviceAttribute = 4
	MaxGridDimX             DeviceAttribute = 5
	MaxGridDimY             DeviceAttribute = 6
	MaxGridDimZ             DeviceAttribute = 7
	WarpSize                DeviceAttribute = 10
	MultiprocessorCount     DeviceAttribute = 16
	L2CacheSize             DeviceAttribute = 38 // bytes
	ComputeCapabilityMajor  DeviceAttribute = 75
	ComputeCapabilityMinor  DeviceAttribute = 76
	SharedMemory            DeviceAttribute = 81 // bytes of a multiprocessor
	MaxSharedMemoryPerBlock DeviceAttribute = 97 // bytes, for a kernel whose limit SetMaxDynamicShared has raised
)

// Attributes returns the attributes' values.
func (d Device) Attributes(attributes ...DeviceAttribute) ([]int, error) {
	driver, err := load()
	if err != nil {
		return nil, err
	}
	values := make([]int, len(attributes))
	for i, a := range attributes {
		var value int32
		r := Result(driver.deviceGetAttribute.Call(uintptr(unsafe.Pointer(&value)), uintptr(a), uintptr(d)))
		if r != 0 {
			return nil, failed(r, "asking %v for attribute %d", d, a)
		}
		values[i] = int(value)
	}
	return values, nil
}
