package checkpoint

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// requireDamaged requires a DamagedError that is wrapped in an error with the file's name.
func requireDamaged(t *testing.T, err error, path string) {
	t.Helper()
	var damaged *DamagedError
	require.ErrorAs(t, err, &damaged)
	assert.NotEmpty(t, damaged.Problem)
	assert.ErrorContains(t, err, path)
	assert.NotContains(t, err.Error(), "\n")
}

// requireElements requires an ElementError about a tensor.
func requireElements(t *testing.T, err error, tensor string) {
	t.Helper()
	var elements *ElementError
	require.ErrorAs(t, err, &elements)
	assert.Equal(t, tensor, elements.Tensor)
	assert.NotEqual(t, elements.Want, elements.Got)
}

// TestMessages compares the messages that people read, for every kind of mistake.
func TestMessages(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.safetensors")
	read := func(header string, data int) error {
		require.NoError(t, os.WriteFile(path, withHeader(header, data), 0o600))
		_, err := ReadTensors(path)
		return err
	}
	const float = `{"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`
	for want, err := range map[string]error{
		path + `: tensor "x": data ends at byte 8, but only 7 bytes follow the header: the file is truncated or damaged`: read(float, 7),
		path + `: the tensors end at byte 8 of the data, 9 bytes follow the header: damaged, or something was appended`:  read(float, 9),
		path + `: the header is not a JSON object: damaged, or not a safetensors file`:                                   read("[]", 0),
		path + `: tensor "x": dtype "X16" is not supported: want one of ` + supportedDTypes:                              read(`{"x":{"dtype":"X16","shape":[1],"data_offsets":[0,2]}}`, 2),
		path + `: tensor "x": shape: want an array of at most 32 integers from 0 that fit 64 bits, got ["2"]`:            read(`{"x":{"dtype":"F32","shape":["2"],"data_offsets":[0,8]}}`, 8),
		path + `: tensor "x": shape: want an array of at most 32 integers from 0 that fit 64 bits, got null`:             read(`{"x":{"dtype":"F32","shape":null,"data_offsets":[0,8]}}`, 8),
		`tensor "y": want F32 elements, got F64`:                                                                         second(Tensor{"y", nil, []float64{1}}.Float32s()),
	} {
		assert.EqualError(t, err, want)
	}
}

func second[T any](_ T, err error) error { return err }

// TestTensorsBeyondMemory: a sparse file that claims 4 TB of weights is refused before memory is
// allocated; elements that are read as float32 count with that size.
func TestTensorsBeyondMemory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sparse.safetensors")
	header := withHeader(`{"x":{"dtype":"BF16","shape":[2199023255552],"data_offsets":[0,4398046511104]}}`, 0)
	require.NoError(t, os.WriteFile(path, header, 0o600))
	if err := os.Truncate(path, int64(len(header))+1<<42); err != nil {
		t.Skip("this file system has no file of 4 TB: ", err)
	}
	_, err := ReadTensors(path)
	require.ErrorContains(t, err, path+": want 8.8e+03 GB of memory for its tensors, got ")
	h, err := parseHeader(header[8:], 1<<42)
	require.NoError(t, err)
	enough := int64(1) << 43
	require.NoError(t, h.checkMemory(int(enough)))
	require.Error(t, h.checkMemory(int(enough-1)))
}
