// The driver's errors in words.
#include "driver.h"

namespace emulator {
namespace {

const char *error_name(int error) {
  switch (error) {
    case kSuccess: return "CUDA_SUCCESS";
    case kInvalidValue: return "CUDA_ERROR_INVALID_VALUE";
    case kOutOfMemory: return "CUDA_ERROR_OUT_OF_MEMORY";
    case kNotInitialized: return "CUDA_ERROR_NOT_INITIALIZED";
    case kNoDevice: return "CUDA_ERROR_NO_DEVICE";
    case kInvalidDevice: return "CUDA_ERROR_INVALID_DEVICE";
    case kInvalidContext: return "CUDA_ERROR_INVALID_CONTEXT";
    case kInvalidPTX: return "CUDA_ERROR_INVALID_PTX";
    case kInvalidHandle: return "CUDA_ERROR_INVALID_HANDLE";
    case kNotFound: return "CUDA_ERROR_NOT_FOUND";
    case kNotReady: return "CUDA_ERROR_NOT_READY";
    case kIllegalAddress: return "CUDA_ERROR_ILLEGAL_ADDRESS";
    case kLaunchOutOfResources: return "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES";
    case kMisaligned: return "CUDA_ERROR_MISALIGNED_ADDRESS";
    case kLaunchFailed: return "CUDA_ERROR_LAUNCH_FAILED";
    case kNotSupported: return "CUDA_ERROR_NOT_SUPPORTED";
    case kCaptureUnsupported: return "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED";
    case kCaptureInvalidated: return "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED";
    case kCaptureMerge: return "CUDA_ERROR_STREAM_CAPTURE_MERGE";
    case kCaptureUnmatched: return "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED";
    case kCaptureUnjoined: return "CUDA_ERROR_STREAM_CAPTURE_UNJOINED";
    case kCaptureIsolation: return "CUDA_ERROR_STREAM_CAPTURE_ISOLATION";
    case kCaptureImplicit: return "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT";
    case kCapturedEvent: return "CUDA_ERROR_CAPTURED_EVENT";
    case kUnknown: return "CUDA_ERROR_UNKNOWN";
    default: return nullptr;
  }
}

const char *error_text(int error) {
  switch (error) {
    case kSuccess: return "no error";
    case kInvalidValue: return "invalid argument";
    case kOutOfMemory: return "out of memory";
    case kNotInitialized: return "initialization error";
    case kNoDevice: return "no CUDA-capable device is detected";
    case kInvalidDevice: return "invalid device ordinal";
    case kInvalidContext: return "invalid device context";
    case kInvalidPTX: return "a PTX JIT compilation failed";
    case kInvalidHandle: return "invalid resource handle";
    case kNotFound: return "named symbol not found";
    case kNotReady: return "device not ready";
    case kIllegalAddress: return "an illegal memory access was encountered";
    case kLaunchOutOfResources: return "too many resources requested for launch";
    case kMisaligned: return "misaligned address";
    case kLaunchFailed: return "unspecified launch failure";
    case kNotSupported: return "operation not supported";
    case kCaptureUnsupported: return "operation not permitted when stream is capturing";
    case kCaptureInvalidated: return "operation failed due to a previous error during capture";
    case kCaptureMerge: return "operation would result in a merge of separate capture sequences";
    case kCaptureUnmatched: return "capture was not ended in the same stream as it began";
    case kCaptureUnjoined: return "capturing stream has unjoined work";
    case kCaptureIsolation: return "dependency created on uncaptured work in another stream";
    case kCaptureImplicit: return "operation would make the legacy stream depend on a capturing blocking stream";
    case kCapturedEvent: return "operation not permitted on an event last recorded in a capturing stream";
    case kUnknown: return "unknown error";
    default: return nullptr;
  }
}

}  // namespace
}  // namespace emulator

using namespace emulator;

EXPORT int cuGetErrorName(int error, const char **text) {
  *text = error_name(error);
  return *text != nullptr ? kSuccess : kInvalidValue;
}

EXPORT int cuGetErrorString(int error, const char **text) {
  *text = error_text(error);
  return *text != nullptr ? kSuccess : kInvalidValue;
}
