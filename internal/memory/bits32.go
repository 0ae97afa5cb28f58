//go:build 386 || arm || mips || mipsle

package memory

// Residua is 64-bit only: sizes of weights, files and corpora are of type int.
var _ = residua_is_64_bit_only
