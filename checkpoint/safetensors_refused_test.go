package checkpoint

import (
	"bytes"
	"encoding/binary"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// withHeader makes a file with the given header.
func withHeader(header string, data int) []byte {
	out := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(out, header...), make([]byte, data)...)
}

// damagedHeaders lists headers that no file can have, each with the number of data bytes after it.
var damagedHeaders = []struct {
	header string
	data   int
}{
	{`{"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, 7},
	{`{"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, 9},
	{`{}`, 1},
	{`{"x":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}}`, 8},
	{`{"x":{"dtype":"F32","shape":[2],"data_offsets":[0,7]}}`, 7},
	{`{"x":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}}`, 8},
	{`{"x":{"dtype":"F32","shape":[],"data_offsets":[4,8]}}`, 8},
	{`{"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"y":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}}`, 12},
	{`{"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"y":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, 8},
	{`{"x":{"dtype":"F32","shape":[2305843009213693952],"data_offsets":[0,9223372036854775800]}}`, 8},
	{`{"x":{"dtype":"U8","shape":[9223372036854775807],"data_offsets":[0,9223372036854775807]}}`, 8},
	{`{"x":{"dtype":"U8","shape":[18446744073709551616],"data_offsets":[0,0]}}`, 0},
	{`{"x":{"dtype":"U8","shape":[-1],"data_offsets":[0,0]}}`, 0},
	{`{"x":{"dtype":"U8","shape":[1.0],"data_offsets":[0,1]}}`, 1},
	{`{"x":{"dtype":"U8","shape":["1"],"data_offsets":[0,1]}}`, 1},
	{`{"x":{"dtype":"U8","shape":[[1]],"data_offsets":[0,1]}}`, 1},
	{`{"x":{"dtype":"U8","shape":{},"data_offsets":[0,1]}}`, 1},
	{`{"x":{"dtype":"U8","shape":null,"data_offsets":[0,1]}}`, 1},
	{`{"x":{"dtype":"U8","shape":[1],"data_offsets":[0,1,2]}}`, 1},
	{`{"x":{"dtype":"U8","shape":[1],"data_offsets":[0]}}`, 1},
	{`{"x":{"dtype":"U8","shape":[1]}}`, 1},
	{`{"x":{"shape":[1],"data_offsets":[0,1]}}`, 1},
	{`{"x":{"dtype":7,"shape":[1],"data_offsets":[0,4]}}`, 4},
	{`{"x":{"Dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, 4},
	{`{"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"more":1}}`, 4},
	{`{"x":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, 4},
	{`{"x":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"x":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}`, 0},
	{`{"__metadata__":{"a":"1","a":"2"}}`, 0},
	{`{"__metadata__":{"a":1}}`, 0},
	{`{"__metadata__":[]}`, 0},
	{`{"x":[]}`, 0},
	{`[]`, 0},
	{` {}`, 0},
	{`{}x`, 0},
	{`{"x":}`, 0},
	{"{\"\xff\":1}", 0},
	{``, 0},
	{`{"x":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}`, 0},
}

func TestReadTensorsRefusesHeaders(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bad.safetensors")
	read := func(header string, data int) error {
		require.NoError(t, os.WriteFile(path, withHeader(header, data), 0o600))
		_, err := ReadTensors(path)
		return err
	}
	for _, c := range damagedHeaders {
		requireDamaged(t, read(c.header, c.data), path)
	}
	for _, header := range []string{ // whole, and not for this program
		`{"x":{"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0]}}`,
		`{"x":{"dtype":"F4","shape":[4],"data_offsets":[0,4]}}`,
		`{"x":{"dtype":"f32","shape":[1],"data_offsets":[0,4]}}`,
	} {
		assert.ErrorContains(t, read(header, 4), path+": ", header)
	}
}

func TestReadTensorsRefusesOtherThings(t *testing.T) {
	dir := t.TempDir()
	_, err := ReadTensors(dir)
	assert.ErrorContains(t, err, dir)
	_, err = ReadTensors(filepath.Join(dir, "missing"))
	assert.ErrorIs(t, err, fs.ErrNotExist)
	assert.ErrorContains(t, err, filepath.Join(dir, "missing"))
	for _, text := range []string{
		"",
		"1234567",
		"#!/bin/sh\n\n",
		"\x10\x00\x00\x00\x00\x00\x00\x00{}",
		"\x00\xe0\xf5\x05\x00\x00\x00\x00{}",
		"\xff\xff\xff\xff\xff\xff\xff\xff{\"x\":[1]}    ",
	} {
		_, err := decodeBytes([]byte(text))
		requireDamaged(t, err, "")
	}
}

// A file that shrinks after its size was asked is an error, not a panic.
func TestDecodeOfAShrinkingFile(t *testing.T) {
	data := encoded(t, mixedTensors(), nil)
	for cut := range data {
		_, err := decode(bytes.NewReader(data[:cut]), int64(len(data)))
		require.Error(t, err, "cut at %d", cut)
	}
}

// A small file must not make the reader allocate much, whatever it claims.
func TestRefusedFilesAllocateLittle(t *testing.T) {
	var before, after runtime.MemStats
	for _, c := range damagedHeaders {
		data := withHeader(c.header, c.data)
		runtime.ReadMemStats(&before)
		_, err := decodeBytes(data)
		runtime.ReadMemStats(&after)
		require.Error(t, err)
		assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(4<<20), c.header)
	}
}
