package cu

import (
	"bytes"
	"strconv"
	"unsafe"

	"github.com/pkg/errors"
)

// oldestMajor is the oldest major version of compute capability that a GPU may have.
const oldestMajor = 8

// Device is the number of a GPU, or CPU.
type Device int

// The devices that are not GPUs.
const (
	CPU       Device = -1
	BadDevice Device = -2
)

// String returns CPU or the GPU's number, as in GPU(0).
func (d Device) String() string {
	switch {
	case d == CPU:
		return "CPU"
	case d < 0:
		return "no device"
	}
	return "GPU(" + strconv.Itoa(int(d)) + ")"
}

// NumDevices returns how many GPUs the driver sees; after Use, 1.
func NumDevices() (int, error) {
	d, err := load()
	if err != nil {
		return 0, err
	}
	n, err := d.count()
	if used.Load() > 0 {
		n = min(n, 1)
	}
	return n, err
}

func (d *driver) count() (int, error) {
	var n int32
	if r := Result(d.deviceGetCount.Call(uintptr(unsafe.Pointer(&n)))); r != 0 {
		return 0, failed(r, "counting GPUs")
	}
	if n == 0 {
		return 0, d.noGPU()
	}
	return int(n), nil
}

// GetDevice returns GPU number n, counted from 0; after Use the only one is 0. A GPU that is too
// old for the kernels is an error.
func GetDevice(n int) (Device, error) {
	d, err := load()
	if err != nil {
		return BadDevice, err
	}
	if chosen := int(used.Load()); chosen > 0 && n == 0 {
		n = chosen - 1
	} else if chosen > 0 {
		return BadDevice, errors.Errorf("want GPU number 0, the only one in use, got %d", n)
	}
	var device int32
	if r := Result(d.deviceGet.Call(uintptr(unsafe.Pointer(&device)), uintptr(n))); r != 0 {
		return BadDevice, failed(r, "looking for GPU number %d", n)
	}
	if err := Device(device).check(); err != nil {
		return BadDevice, err
	}
	return Device(device), nil
}

// check returns an error for a GPU that is too old.
func (d Device) check() error {
	major, minor, err := d.ComputeCapability()
	if err != nil || major >= oldestMajor {
		return err
	}
	name, err := d.Name()
	if err != nil {
		return err
	}
	return errors.Errorf("%v, %s, is too old: its compute capability is %d.%d, wanted %d.0 or newer (an A100, an RTX 30 or later)",
		d, name, major, minor, oldestMajor)
}

// PCIBusIDs returns the places on the PCI bus, as in "0000:3b:00.0", of the GPUs that
// CUDA_VISIBLE_DEVICES shows to the program. Use does not change them. No two GPUs of a machine
// have the same.
func PCIBusIDs() ([]string, error) {
	d, err := load()
	if err != nil {
		return nil, err
	}
	n, err := d.count()
	ids := make([]string, n)
	for i := range ids {
		var device int32
		if r := Result(d.deviceGet.Call(uintptr(unsafe.Pointer(&device)), uintptr(i))); r != 0 {
			return nil, failed(r, "looking for GPU number %d", i)
		}
		text := make([]byte, 32)
		if r := Result(d.deviceGetPCIBusID.Call(uintptr(unsafe.Pointer(&text[0])), uintptr(len(text)), uintptr(device))); r != 0 {
			return nil, failed(r, "asking for the PCI bus of %v", Device(device))
		}
		text, _, _ = bytes.Cut(text, []byte{0})
		ids[i] = string(text)
	}
	return ids, err
}

// Name returns the GPU's name, as in "NVIDIA A100-SXM4-40GB".
func (d Device) Name() (string, error) {
	driver, err := load()
	if err != nil {
		return "", err
	}
	name := make([]byte, 256)
	r := Result(driver.deviceGetName.Call(uintptr(unsafe.Pointer(&name[0])), uintptr(len(name)), uintptr(d)))
	if r != 0 {
		return "", failed(r, "asking for the name of %v", d)
	}
	name, _, _ = bytes.Cut(name, []byte{0})
	return string(name), nil
}

// ComputeCapability returns the GPU's generation: 8 and 0 for an A100.
func (d Device) ComputeCapability() (major, minor int, err error) {
	values, err := d.Attributes(ComputeCapabilityMajor, ComputeCapabilityMinor)
	if err != nil {
		return 0, 0, err
	}
	return values[0], values[1], nil
}

// TotalMem returns the size of the GPU's memory in bytes.
func (d Device) TotalMem() (int64, error) {
	driver, err := load()
	if err != nil {
		return 0, err
	}
	var size uint64
	if r := Result(driver.deviceTotalMem.Call(uintptr(unsafe.Pointer(&size)), uintptr(d))); r != 0 {
		return 0, failed(r, "asking for the memory of %v", d)
	}
	return int64(size), nil
}
