//go:build !linux || !amd64

package kernel

// tilesMissing says why products of bfloat16 do not use AMX.
const tilesMissing = "only programs for Linux on x86-64 use it"
