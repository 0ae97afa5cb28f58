package checkpoint

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTensorsThatAreNotDecoded: tensors of other types, and empty ones of unknown types, do not
// keep the others from being read; damaged ones are refused.
func TestTensorsThatAreNotDecoded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.safetensors")
	write := func(header string, data ...byte) {
		raw := append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...)
		require.NoError(t, os.WriteFile(path, append(raw, data...), 0o600))
	}
	write(`{"x":{"dtype":"F32","shape":[1],"data_offsets":[12,16]},"mask":{"dtype":"BOOL","shape":[2,2],"data_offsets":[0,4]},`+
		`"i":{"dtype":"I8","shape":[4],"data_offsets":[4,8]},"h":{"dtype":"I16","shape":[2],"data_offsets":[8,12]},`+
		`"none":{"dtype":"F4","shape":[0,3],"data_offsets":[4,4]}}`, 1, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x3f)
	f, err := ReadTensors(path)
	require.NoError(t, err)
	require.Len(t, f.Tensors, 5)
	x, err := f.Tensor("x")
	require.NoError(t, err)
	require.Equal(t, []float32{1}, x.Data)
	mask, err := f.Tensor("mask")
	require.NoError(t, err)
	require.Equal(t, Tensor{"mask", []int{2, 2}, Undecoded{"BOOL"}}, mask)
	require.Zero(t, mask.Len())
	_, err = mask.Float32s()
	require.EqualError(t, err, `tensor "mask": want F32 elements, got BOOL`)
	require.ErrorContains(t, WriteTensors(path, []Tensor{mask}, nil), `tensor "mask": Data is a checkpoint.Undecoded`)
	for _, header := range []string{
		`{"m":{"dtype":"BOOL","shape":[3],"data_offsets":[0,4]}}`, `{"m":{"dtype":"I16","shape":[4],"data_offsets":[0,4]}}`,
		`{"m":{"dtype":"F4","shape":[8],"data_offsets":[0,4]}}`, `{"m":{"dtype":"F4","shape":[4],"data_offsets":[0,0]},"i":{"dtype":"I8","shape":[4],"data_offsets":[0,4]}}`,
	} {
		write(header, 0, 0, 0, 0)
		_, err := ReadTensors(path)
		require.Error(t, err, header)
	}
}
