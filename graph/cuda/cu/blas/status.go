package cublas

import "strconv"

// Status is a cublasStatus_t, the status that a function of cuBLAS returned. As an error it is
// never zero.
type Status int32

// The statuses that callers use by name.
const (
	NotInitialized Status = 1
	AllocFailed    Status = 3
	InvalidValue   Status = 7
	NotSupported   Status = 15
)

// Error returns cuBLAS's name for the status.
func (s Status) Error() string {
	name, known := map[Status]string{
		NotInitialized: "NOT_INITIALIZED",
		AllocFailed:    "ALLOC_FAILED",
		InvalidValue:   "INVALID_VALUE",
		8:              "ARCH_MISMATCH",
		11:             "MAPPING_ERROR",
		13:             "EXECUTION_FAILED",
		14:             "INTERNAL_ERROR",
		NotSupported:   "NOT_SUPPORTED",
		16:             "LICENSE_ERROR",
	}[s]
	if !known {
		name = strconv.Itoa(int(s))
	}
	return "CUBLAS_STATUS_" + name
}
