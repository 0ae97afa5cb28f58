package checkpoint

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/fuzztest"
)

// sealedOf returns the sealed text of a value.
func sealedOf(f *testing.F, v any) []byte {
	text, err := seal(v)
	require.NoError(f, err)
	return text
}

// resealed returns a text with a checksum that fits, which no fuzzer finds, in place of its last
// line.
func resealed(text []byte) []byte {
	body := text[:max(0, len(text)-sealBytes)]
	sum := sha256.Sum256(body)
	return append(bytes.Clone(body), sealOpen+hex.EncodeToString(sum[:])+sealClose...)
}

// FuzzState: a state.json that is read is one that Save could have written, and is written again
// with the same meaning.
func FuzzState(f *testing.F) {
	loss, step := 1.5, 3
	f.Add(sealedOf(f, State{Version: FormatVersion, Step: 7, BestLoss: &loss, BestStep: &step, Files: map[string]string{ModelFile: "00"},
		Extra: map[string]json.RawMessage{"metrics": json.RawMessage(`{"step": 7}`)}}))
	f.Add(sealedOf(f, State{Version: FormatVersion + 1}))
	f.Add(sealedOf(f, State{Version: FormatVersion, Step: -1}))
	f.Add([]byte(`{"version": 2}`))
	file := fuzztest.File(f, StateFile)
	f.Fuzz(func(t *testing.T, text []byte) {
		path := file(t, resealed(text))
		var s State
		var err error
		fuzztest.Bounded(t, len(text), func() { s, err = readState(path) })
		fuzztest.OneLine(t, err)
		if err != nil {
			return
		}
		require.NoError(t, s.check())
		sealed, err := seal(s)
		require.NoError(t, err)
		again, err := readState(file(t, sealed))
		require.NoError(t, err)
		require.Equal(t, s, again)
	})
}

// FuzzPointer: a latest.json that is read names the folder of its step, and no other path.
func FuzzPointer(f *testing.F) {
	f.Add(sealedOf(f, pointer{Version: FormatVersion, Step: 7, Folder: "checkpoints/step-00000007"}))
	f.Add(sealedOf(f, pointer{Version: FormatVersion, Step: 7, Folder: "../step-00000007"}))
	f.Add([]byte(`{"version": 2, "step": 7}`))
	file := fuzztest.File(f, latestFile)
	f.Fuzz(func(t *testing.T, text []byte) {
		path := file(t, resealed(text))
		var p pointer
		var err error
		fuzztest.Bounded(t, len(text), func() { p, err = readPointer(path[:len(path)-len(latestFile)], latestFile) })
		fuzztest.OneLine(t, err)
		if err == nil {
			require.GreaterOrEqual(t, p.Step, 0)
			require.Equal(t, stepsFolder+"/"+stepName(p.Step), p.Folder)
		}
	})
}

// FuzzIndex: an index of sharded weights names files of its own folder alone.
func FuzzIndex(f *testing.F) {
	f.Add([]byte(`{"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}`))
	f.Add([]byte(`{"weight_map": {"a": "../model.safetensors"}}`))
	f.Add([]byte(`{"weight_map": {"a": 1}}`))
	file := fuzztest.File(f, "model.safetensors.index.json")
	f.Fuzz(func(t *testing.T, text []byte) {
		path := file(t, text)
		var files map[string]string
		var err error
		fuzztest.Bounded(t, len(text), func() { files, err = readIndex(path) })
		fuzztest.OneLine(t, err)
		for _, file := range files {
			require.NotContains(t, file, "/")
			require.NotEqual(t, "..", file)
		}
		if err == nil {
			_, err = ReadSharded(path)
			require.Error(t, err, "there are no weights")
		}
	})
}

// FuzzGGUF: a GGUF file that is read has its tensors again once they are written.
func FuzzGGUF(f *testing.F) {
	for _, kind := range []GGUFType{GGUFF32, GGUFF16, GGUFQ8, GGUFBF16} {
		var b bytes.Buffer
		tensors := []Tensor{{Name: "w", Shape: []int{2, 32}, Data: make([]float32, 64)}, {Name: "b", Shape: []int{32}, Data: make([]float32, 32)}}
		metadata := []GGUFEntry{{"general.architecture", "llama"}, {"n", uint32(3)}, {"x", float32(1.5)}, {"y", true}, {"z", []string{"a", ""}}, {"i", []int32{-1, 5}}, {"general.alignment", uint32(32)}}
		require.NoError(f, EncodeGGUF(&b, metadata, tensors, func(Tensor) GGUFType { return kind }))
		f.Add(b.Bytes())
	}
	f.Add(ggufBytes(uint64(1), uint64(1), "k", ggufArray, uint32(10), uint64(1), uint64(7), "w", uint32(0), uint32(GGUFF32), uint64(0), float32(1)))
	file := fuzztest.File(f, "x.gguf")
	f.Fuzz(func(t *testing.T, content []byte) {
		path := file(t, content)
		var g *GGUF
		var err error
		fuzztest.Bounded(t, len(content), func() { g, err = ReadGGUF(path) })
		fuzztest.OneLine(t, err)
		if err != nil {
			return
		}
		var again bytes.Buffer
		if EncodeGGUF(&again, nil, g.Tensors, nil) != nil { // two of one name, or NaN
			return
		}
		back, err := ReadGGUF(file(t, again.Bytes()))
		require.NoError(t, err)
		require.Len(t, back.Tensors, len(g.Tensors))
		for i, x := range g.Tensors {
			require.Equal(t, x.Shape, back.Tensors[i].Shape)
			for k, v := range x.Data.([]float32) {
				require.Equal(t, math.Float32bits(v), math.Float32bits(back.Tensors[i].Data.([]float32)[k]))
			}
		}
	})
}

// FuzzTorch: a file of torch.save that is read has as many numbers in a tensor as its shape says.
func FuzzTorch(f *testing.F) {
	content, err := os.ReadFile(torchFile("views.pt"))
	require.NoError(f, err)
	f.Add(content)
	for _, numbers := range []string{strings.Repeat("\x00\x00\x80\x3f", 4), "abcd"} {
		content, err := os.ReadFile(torchZip(f, view("K\x01", "K\x02", "K\x01")+".", map[string]string{"0": numbers}))
		require.NoError(f, err)
		f.Add(content)
	}
	file := fuzztest.File(f, "x.pt")
	f.Fuzz(func(t *testing.T, content []byte) {
		path := file(t, content)
		var read *File
		var err error
		fuzztest.Bounded(t, len(content), func() { read, err = ReadTorch(path) })
		fuzztest.OneLine(t, err)
		for i := 0; err == nil && i < len(read.Tensors); i++ {
			if x := read.Tensors[i]; x.DType().Size() > 0 {
				elements, err := elementsOf(x.Shape)
				require.NoError(t, err)
				require.Equal(t, elements, reflect.ValueOf(x.Data).Len())
			}
		}
	})
}
