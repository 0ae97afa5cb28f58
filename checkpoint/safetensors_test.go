package checkpoint

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/nlpodyssey/safetensors"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/fuzztest"
)

// mixedTensors returns tensors with every element type, a scalar, an empty tensor, and values that
// are easily lost in conversions.
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
	require.NoError(t, EncodeTensors(&out, tensors, metadata))
	return out.Bytes()
}

func decodeBytes(data []byte) (*File, error) { return decode(bytes.NewReader(data), int64(len(data))) }

// sameBits compares tensors by the bytes of their data, which tells NaN payloads and signs of zero
// apart.
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

// Files that other programs wrote are read: every element type among the references.
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
		requireElements(t, err, "ids")
	}
	_, err = double.Float32s()
	requireElements(t, err, "y")
	_, err = single.Ints()
	requireElements(t, err, "x")
	_, err = Tensor{Name: "z", Data: "text"}.Float32s()
	requireElements(t, err, "z")
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

func FuzzDecode(f *testing.F) {
	f.Add(encoded(f, mixedTensors(), map[string]string{"k": "v"}))
	f.Add(encoded(f, nil, nil))
	for _, c := range damagedHeaders {
		f.Add(withHeader(c.header, c.data))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var file *File
		var err error
		fuzztest.Bounded(t, len(data), func() { file, err = decodeBytes(data) })
		fuzztest.OneLine(t, err)
		if err != nil {
			return
		}
		bytesOfData := 0
		for _, tensor := range file.Tensors {
			elements, err := elementsOf(tensor.Shape)
			require.NoError(t, err)
			if tensor.DType().undecoded() == 0 {
				require.Equal(t, elements, tensor.Len())
			}
			bytesOfData += tensor.Len() * tensor.DType().Size()
		}
		require.LessOrEqual(t, bytesOfData, 2*len(data)) // numbers of 16 bits become ones of 32
		if checkTensors(file.Tensors, file.Metadata) != nil {
			return // an odd name that we read but do not write
		}
		again, err := decodeBytes(encoded(t, file.Tensors, file.Metadata))
		require.NoError(t, err)
		require.Equal(t, digestOf(file.Tensors, file.Metadata), digestOf(again.Tensors, again.Metadata))
	})
}

// TestReadTensorsSaysWhatElseAFileIs: a file of another kind is named, with what to do.
func TestReadTensorsSaysWhatElseAFileIs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.safetensors")
	for content, want := range map[string]string{
		"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n": "it is a Git LFS pointer to the file that is wanted: run git lfs pull",
		"GGUF\x03\x00\x00\x00\x00\x00":                                              "want a safetensors file, but it is a GGUF file of llama.cpp's, which holds a whole model: name the file itself by -checkpoint",
		"PK\x03\x04\x14\x00\x00\x00\x00":                                            "want a safetensors file, but it is a zip archive, as PyTorch's .bin and .pt files are, too",
		"\x1f\x8b\x08\x00\x00\x00\x00\x00":                                          "want a safetensors file, but it looks compressed by gzip",
	} {
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		_, err := ReadTensors(path)
		require.ErrorContains(t, err, path+": ")
		require.ErrorContains(t, err, want)
		_, err = ReadModelFS(os.DirFS(filepath.Dir(path)), filepath.Base(path))
		if content[0] != 'v' {
			require.ErrorContains(t, err, want)
		}
	}
}
