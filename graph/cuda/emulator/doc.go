// Package emulator runs the CUDA backend without a GPU, for tests. With a C++ compiler it compiles
// the kernels, whose CUDA threads become fibers, into a stand-in for the driver's libcuda.so.1, and
// makes stand-ins for cuBLAS and NCCL in the same folder. On any machine with g++, tests can check
// what the kernels compute, what is copied between host and device, and whether a kernel makes a
// mistake, such as a missing barrier or a write outside its memory.
//
// With RESIDUA_GPU=1 tests run on the real driver and GPU instead.
// RESIDUA_EMULATOR_ORDER=forward|backward|shuffle chooses the order in which a block's threads
// run; results must not depend on it. RESIDUA_EMULATOR_MEMORY is the device's memory in bytes
// (default 16 GiB); RESIDUA_EMULATOR_CAPABILITY is its compute capability (default 8.6, which
// has the least shared memory per block among supported GPUs); RESIDUA_EMULATOR_DEVICES is the
// number of GPUs (default 1; 0: a driver without a GPU), among which CUDA_VISIBLE_DEVICES
// chooses. With RESIDUA_EMULATOR_FAULTS=later, a kernel's fault fails the calls after its
// launch, as on a GPU, unless CUDA_LAUNCH_BLOCKING=1. RESIDUA_EMULATOR_FAULT=scale_f32 makes
// launches of that kernel fail. RESIDUA_EMULATOR_NCCL=fails:3 makes NCCL's third group of
// collectives fail after its start, hangs:3 makes it hang, version:21703 changes NCCL's
// version.
package emulator
