package checkpoint

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/nlpodyssey/safetensors"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// mixedTensors has every element type, a scalar, an empty tensor, and values that are easily lost on the way.
func mixedTensors() []Tensor {
	float32s := []float32{0, float32(math.Copysign(0, -1)), 1.5, math.MaxFloat32, math.SmallestNonzeroFloat32,
		float32(math.Inf(-1)), math.Float32frombits(0x7fc12345), math.Float32frombits(0xffa00001)}
	float64s := []float64{math.Pi, math.Copysign(0, -1), math.Inf(1), math.Float64frombits(0x7ff8_0000_dead_beef),
		math.Float64frombits(0xfff0_0000_0000_0001), math.SmallestNonzeroFloat64}
	return []Tensor{
		{Name: "blocks.0.attention.read", Shape: []int{2, 4}, Data: float32s},
		{Name: "double", Shape: []int{3, 2}, Data: float64s},
		{Name: "tokens", Shape: []int{3}, Data: []int32{math.MinInt32, 0, math.MaxInt32}},
		{Name: "long", Shape: []int{2}, Data: []int64{math.MinInt64, math.MaxInt64}},
		{Name: "mask", Shape: []int{5}, Data: []uint8{0, 1, 127, 128, 255}},
		{Name: "scalar", Shape: []int{}, Data: []float32{7}},
		{Name: "empty", Shape: []int{0, 3}, Data: []float32{}},
		{Name: "näme with \"quotes\" <&>", Shape: []int{1}, Data: []float32{-1}},
	}
}

func encoded(t testing.TB, tensors []Tensor, metadata map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, encode(&out, tensors, metadata))
	return out.Bytes()
}

func decodeBytes(data []byte) (*File, error) { return decode(bytes.NewReader(data), int64(len(data))) }

// sameBits compares tensors by the bytes of their data, which tells NaN payloads and signs of zero apart.
func sameBits(t *testing.T, want, got Tensor) {
	t.Helper()
	assert.Equal(t, want.Name, got.Name)
	assert.Equal(t, want.Shape, got.Shape, want.Name)
	assert.Equal(t, want.DType(), got.DType(), want.Name)
	var a, b bytes.Buffer
	require.NoError(t, writeData(&a, want, make([]byte, 8)))
	require.NoError(t, writeData(&b, got, make([]byte, chunkBytes)))
	assert.Equal(t, a.Bytes(), b.Bytes(), want.Name)
}

func TestTensorsRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mixed.safetensors")
	metadata := map[string]string{"a": "line\n\ttab", "b": "ünïcode <&> \"quoted\" \u2028", "": ""}
	require.NoError(t, WriteTensors(path, mixedTensors(), metadata))
	f, err := ReadTensors(path)
	require.NoError(t, err)
	assert.Equal(t, metadata, f.Metadata)
	require.Len(t, f.Tensors, len(mixedTensors()))
	for _, want := range mixedTensors() {
		got, err := f.Tensor(want.Name)
		require.NoError(t, err)
		sameBits(t, want, got)
	}
	_, err = f.Tensor("missing")
	assert.ErrorContains(t, err, `no tensor "missing" among the 8`)
}

// Tensors longer than the buffer go through it in several parts.
func TestTensorsRoundTripInChunks(t *testing.T) {
	for _, n := range []int{chunkBytes/4 - 1, chunkBytes / 4, chunkBytes/4 + 1, 3*chunkBytes/8 + 5} {
		floats, doubles, bytes8 := make([]float32, n), make([]float64, n), make([]uint8, 4*n+3)
		for i := range n {
			floats[i], doubles[i] = float32(i)+0.25, -float64(i)-0.125
		}
		for i := range bytes8 {
			bytes8[i] = uint8(i * 7)
		}
		want := []Tensor{{"doubles", []int{n}, doubles}, {"floats", []int{n}, floats}, {"bytes", []int{4*n + 3}, bytes8}}
		f, err := decodeBytes(encoded(t, want, nil))
		require.NoError(t, err)
		assert.Equal(t, want, f.Tensors, "%d elements", n)
	}
}

// An independent reader of the format finds what we wrote.
func TestTensorsReadByAnotherLibrary(t *testing.T) {
	metadata := map[string]string{"format": "pt", "note": "x"}
	data := encoded(t, mixedTensors(), metadata)
	other, err := safetensors.Deserialize(data)
	require.NoError(t, err)
	_, header, err := safetensors.ReadMetadata(data)
	require.NoError(t, err)
	assert.Equal(t, metadata, header.Metadata())
	assert.Equal(t, len(mixedTensors()), other.Len())
	for _, want := range mixedTensors() {
		got, ok := other.Tensor(want.Name)
		require.True(t, ok, want.Name)
		assert.Equal(t, string(want.DType()), got.DType().String(), want.Name)
		var raw bytes.Buffer
		require.NoError(t, writeData(&raw, want, make([]byte, chunkBytes)))
		assert.Equal(t, raw.Bytes(), append([]byte(nil), got.Data()...), want.Name)
		assert.Equal(t, fmt.Sprint(want.Shape), fmt.Sprint(got.Shape()), want.Name)
	}
}

func TestTensorsAreAlignedAndOrderFree(t *testing.T) {
	tensors := mixedTensors()
	first := encoded(t, tensors, nil)
	slices.Reverse(tensors)
	assert.Equal(t, first, encoded(t, tensors, nil), "the order of the tensors shows in the file")

	length := binary.LittleEndian.Uint64(first)
	assert.Zero(t, (lengthBytes+length)%headerAlignment)
	h, err := parseHeader(first[lengthBytes:lengthBytes+length], int64(len(first))-lengthBytes-int64(length))
	require.NoError(t, err)
	for _, e := range h.entries {
		assert.Zero(t, e.begin%int64(e.dtype.Size()), "%s begins at %d", e.name, e.begin)
	}
}

// Files that other programs wrote: every element type of the references is read.
func TestReadReferenceFiles(t *testing.T) {
	seen, files := map[DType]int{}, 0
	err := filepath.WalkDir("../testdata/reference", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".safetensors" {
			return err
		}
		f, err := ReadTensors(path)
		require.NoError(t, err)
		require.NotEmpty(t, f.Tensors, path)
		files++
		for _, tensor := range f.Tensors {
			seen[tensor.DType()]++
		}
		return nil
	})
	require.NoError(t, err)
	require.NotZero(t, files)
	for _, d := range []DType{F32, F64, I32, I64, U8} {
		assert.NotZero(t, seen[d], "no tensor of type %s", d)
	}
}

func TestTensorConversions(t *testing.T) {
	single := Tensor{"x", []int{2}, []float32{0.5, -2}}
	double := Tensor{"y", []int{1}, []float64{0.1}}
	floats, err := single.Float32s()
	require.NoError(t, err)
	assert.Same(t, &single.Data.([]float32)[0], &floats[0])
	doubles, err := single.Float64s()
	require.NoError(t, err)
	assert.Equal(t, []float64{0.5, -2}, doubles)
	doubles, err = double.Float64s()
	require.NoError(t, err)
	assert.Same(t, &double.Data.([]float64)[0], &doubles[0])
	for _, data := range []any{[]int32{1, 2}, []int64{1, 2}, []uint8{1, 2}} {
		ints, err := Tensor{"ids", []int{2}, data}.Ints()
		require.NoError(t, err)
		assert.Equal(t, []int{1, 2}, ints)
		_, err = Tensor{"ids", []int{2}, data}.Float64s()
		assert.ErrorContains(t, err, `tensor "ids": want F32 or F64 elements, got`)
	}
	_, err = double.Float32s()
	assert.ErrorContains(t, err, `tensor "y": want F32 elements, got F64`)
	_, err = single.Ints()
	assert.ErrorContains(t, err, `tensor "x": want I32, I64 or U8 elements, got F32`)
	_, err = Tensor{Name: "z", Data: "text"}.Float32s()
	assert.ErrorContains(t, err, "unsupported Go type")
}

func TestWriteTensorsRefuses(t *testing.T) {
	one := func(name string, shape []int, data any) []Tensor { return []Tensor{{name, shape, data}} }
	cases := []struct {
		tensors  []Tensor
		metadata map[string]string
		want     string
	}{
		{one("", nil, []float32{1}), nil, "a tensor has no name"},
		{one("__metadata__", nil, []float32{1}), nil, "reserved"},
		{one("x", []int{1}, []int16{1}), nil, `tensor "x": Data is a []int16`},
		{one("x", []int{1}, nil), nil, `tensor "x": Data is a <nil>`},
		{one("x", []int{2, 3}, []float32{1}), nil, `tensor "x": shape [2 3] has 6 elements, Data has 1`},
		{one("x", []int{-1, -1}, []float32{1}), nil, "want axes >= 0"},
		{one("x", []int{math.MaxInt, 2}, []float32{1}), nil, "more than"},
		{one("x", make([]int, maxRank+1), []float32{}), nil, "33 axes: want at most 32"},
		{one("a\x01", []int{1}, []float32{1}), nil, "control character at byte 1"},
		{one("a\xff", []int{1}, []float32{1}), nil, "want UTF-8"},
		{one("x", nil, []float32{1}), map[string]string{"k": "\x1f"}, "metadata value of k"},
		{one("x", nil, []float32{1}), map[string]string{"k\x7f\x00": ""}, "metadata key"},
		{append(one("x", nil, []float32{1}), one("x", nil, []float64{1})...), nil, `tensor "x" is given twice`},
	}
	for _, c := range cases {
		dir := t.TempDir()
		path := filepath.Join(dir, "x.safetensors")
		err := WriteTensors(path, c.tensors, c.metadata)
		require.ErrorContains(t, err, c.want)
		assert.ErrorContains(t, err, "cannot write "+path)
		assert.Empty(t, namesIn(t, dir), "something is left behind")
	}
}

// withHeader builds a file from a header's text.
func withHeader(header string, data int) []byte {
	out := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(out, header...), make([]byte, data)...)
}

var refusedHeaders = []struct {
	header string
	data   int
	want   string
}{
	{`{"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, 7, "truncated"},
	{`{"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, 9, "8 of the data, 9 bytes follow"},
	{`{}`, 1, "0 of the data, 1 bytes follow"},
	{`{"x":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}}`, 8, "shape [3] of F32 does not fill"},
	{`{"x":{"dtype":"F32","shape":[2],"data_offsets":[0,7]}}`, 7, "does not fill"},
	{`{"x":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}}`, 8, "does not fill"},
	{`{"x":{"dtype":"F32","shape":[],"data_offsets":[4,8]}}`, 8, "leave bytes 0 to 4 to no tensor"},
	{`{"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"y":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}}`, 12, `"y": data_offsets [4, 12] overlap those of "x"`},
	{`{"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"y":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, 8, "overlap"},
	{`{"x":{"dtype":"F32","shape":[2305843009213693952],"data_offsets":[0,9223372036854775800]}}`, 8, "does not fill"},
	{`{"x":{"dtype":"U8","shape":[9223372036854775807],"data_offsets":[0,9223372036854775807]}}`, 8, "truncated"},
	{`{"x":{"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0]}}`, 0, "more than"},
	{`{"x":{"dtype":"U8","shape":[18446744073709551616],"data_offsets":[0,0]}}`, 0, "fit 64 bits"},
	{`{"x":{"dtype":"U8","shape":[-1],"data_offsets":[0,0]}}`, 0, "want integers from 0"},
	{`{"x":{"dtype":"U8","shape":[1.0],"data_offsets":[0,1]}}`, 1, "want integers from 0"},
	{`{"x":{"dtype":"U8","shape":["1"],"data_offsets":[0,1]}}`, 1, "want integers from 0"},
	{`{"x":{"dtype":"U8","shape":[[1]],"data_offsets":[0,1]}}`, 1, "want integers from 0"},
	{`{"x":{"dtype":"U8","shape":{},"data_offsets":[0,1]}}`, 1, "shape: want an array, got {"},
	{`{"x":{"dtype":"U8","shape":null,"data_offsets":[0,1]}}`, 1, "shape: want an array"},
	{`{"x":{"dtype":"U8","shape":[1],"data_offsets":[0,1,2]}}`, 1, "data_offsets: want at most 2 numbers"},
	{`{"x":{"dtype":"U8","shape":[1],"data_offsets":[0]}}`, 1, "two data_offsets"},
	{`{"x":{"dtype":"U8","shape":[1]}}`, 1, "two data_offsets"},
	{`{"x":{"shape":[1],"data_offsets":[0,1]}}`, 1, "want dtype, shape and two data_offsets"},
	{`{"x":{"dtype":"BF16","shape":[1],"data_offsets":[0,2]}}`, 2, `dtype "BF16" is not supported: want one of F32`},
	{`{"x":{"dtype":"f32","shape":[1],"data_offsets":[0,4]}}`, 4, `dtype "f32" is not supported`},
	{`{"x":{"dtype":7,"shape":[1],"data_offsets":[0,4]}}`, 4, "dtype: want a string, got 7"},
	{`{"x":{"Dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, 4, `unknown key "Dtype"`},
	{`{"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"more":1}}`, 4, `unknown key "more"`},
	{`{"x":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, 4, `key "dtype" appears twice`},
	{`{"x":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"x":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}`, 0, `key "x" appears twice`},
	{`{"__metadata__":{"a":"1","a":"2"}}`, 0, `key "a" appears twice`},
	{`{"__metadata__":{"a":1}}`, 0, `"a": want a string, got 1`},
	{`{"__metadata__":[]}`, 0, "want an object"},
	{`{"x":[]}`, 0, "want an object"},
	{`[]`, 0, "not a JSON object"},
	{` {}`, 0, "not a JSON object"},
	{`{}x`, 0, "not a JSON object"},
	{`{"x":}`, 0, "not a JSON object"},
	{"{\"\xff\":1}", 0, "not a JSON object"},
	{``, 0, "not a JSON object"},
	{`{"x":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}`, 0, "not a JSON object"},
}

func TestReadTensorsRefusesHeaders(t *testing.T) {
	for _, c := range refusedHeaders {
		path := filepath.Join(t.TempDir(), "bad.safetensors")
		require.NoError(t, os.WriteFile(path, withHeader(c.header, c.data), 0o600))
		_, err := ReadTensors(path)
		if assert.Error(t, err, c.header) {
			assert.Contains(t, err.Error(), c.want)
			assert.True(t, strings.HasPrefix(err.Error(), path+": "), "%v does not name the file", err)
		}
	}
}

func TestReadTensorsRefusesOtherThings(t *testing.T) {
	dir := t.TempDir()
	_, err := ReadTensors(dir)
	assert.ErrorContains(t, err, dir+": want a file, got a folder")
	_, err = ReadTensors(filepath.Join(dir, "missing"))
	assert.ErrorIs(t, err, fs.ErrNotExist)
	assert.ErrorContains(t, err, filepath.Join(dir, "missing"))
	for text, want := range map[string]string{
		"":                                   "0 bytes are too few",
		"1234567":                            "7 bytes are too few",
		"#!/bin/sh\n\n":                      "the format allows 100000000",
		"\x10\x00\x00\x00\x00\x00\x00\x00{}": "a header of 16 bytes is announced, 2 follow",
		"\x00\xe0\xf5\x05\x00\x00\x00\x00{}": "a header of 99999744 bytes is announced, 2 follow",
		"\xff\xff\xff\xff\xff\xff\xff\xff{\"x\":[1]}    ": "a header of 18446744073709551615 bytes",
	} {
		_, err := decodeBytes([]byte(text))
		assert.ErrorContains(t, err, want, "%q", text)
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

// What a small file claims must not make the reader allocate much.
func TestRefusedFilesAllocateLittle(t *testing.T) {
	var before, after runtime.MemStats
	for _, c := range refusedHeaders {
		data := withHeader(c.header, c.data)
		runtime.ReadMemStats(&before)
		_, err := decodeBytes(data)
		runtime.ReadMemStats(&after)
		require.Error(t, err)
		assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(4<<20), c.header)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(encoded(f, mixedTensors(), map[string]string{"k": "v"}))
	f.Add(encoded(f, nil, nil))
	for _, c := range refusedHeaders {
		f.Add(withHeader(c.header, c.data))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := decodeBytes(data)
		if err != nil {
			return
		}
		bytesOfData := 0
		for _, tensor := range file.Tensors {
			elements, err := elementsOf(tensor.Shape)
			require.NoError(t, err)
			require.Equal(t, elements, tensor.Len())
			bytesOfData += tensor.Len() * tensor.DType().Size()
		}
		require.LessOrEqual(t, bytesOfData, len(data))
		if checkTensors(file.Tensors, file.Metadata) != nil {
			return // an odd name that we read but do not write
		}
		again, err := decodeBytes(encoded(t, file.Tensors, file.Metadata))
		require.NoError(t, err)
		require.Equal(t, Digest(file.Tensors, file.Metadata), Digest(again.Tensors, again.Metadata))
	})
}
