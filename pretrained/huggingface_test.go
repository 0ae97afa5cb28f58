package pretrained_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/pretrained"
)

// reference returns a folder that Hugging Face's transformers wrote.
func reference(name string) string { return filepath.Join("..", "testdata", "reference", name) }

// foreign is a Hugging Face folder in memory, to be changed and written.
type foreign struct {
	config  map[string]any
	tensors []checkpoint.Tensor
}

func openForeign(t *testing.T, folder string) *foreign {
	text, err := os.ReadFile(filepath.Join(reference(folder), "config.json"))
	require.NoError(t, err)
	f := &foreign{}
	require.NoError(t, json.Unmarshal(text, &f.config))
	f.tensors = readForeign(t, folder, "model.safetensors").Tensors
	return f
}

func readForeign(t *testing.T, folder, name string) *checkpoint.File {
	file, err := checkpoint.ReadTensors(filepath.Join(reference(folder), name))
	require.NoError(t, err)
	return file
}

// tensor returns the tensor with that name, to be changed.
func (f *foreign) tensor(name string) *checkpoint.Tensor {
	i := slices.IndexFunc(f.tensors, func(t checkpoint.Tensor) bool { return t.Name == name })
	return &f.tensors[i]
}

func (f *foreign) add(name string, shape []int, data any) {
	f.tensors = append(f.tensors, checkpoint.Tensor{Name: name, Shape: shape, Data: data})
}

func (f *foreign) remove(name string) {
	f.tensors = slices.DeleteFunc(f.tensors, func(t checkpoint.Tensor) bool { return t.Name == name })
}

func (f *foreign) write(t *testing.T) string {
	dir := t.TempDir()
	text, err := json.Marshal(f.config)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "config.json"), text, 0o600))
	require.NoError(t, checkpoint.WriteTensors(filepath.Join(dir, "model.safetensors"), f.tensors, map[string]string{"format": "pt"}))
	return dir
}

func open(t *testing.T, dir string) *pretrained.Model {
	p, err := pretrained.Open(dir)
	require.NoError(t, err)
	return p
}

// logitsOf runs the model over whole rows of tokens.
func logitsOf(t *testing.T, p *pretrained.Model, tokens []int, rows int) []float32 { // [rows, tokens, V]
	var logits *gorgonia.Node
	program, err := graph.Compile(graph.ProgramOptions{Options: graph.Options{Store: p.Store, Threads: 2}}, func(b *graph.Builder) (graph.Roots, error) {
		m, err := models.On(b, p.Spec)
		if err != nil {
			return graph.Roots{}, err
		}
		logits = m.Logits(m.Forward(b.Input("tokens", tensor.Int32, rows, len(tokens)/rows)))
		return graph.Roots{Outputs: gorgonia.Nodes{logits}}, m.Err()
	})
	require.NoError(t, err)
	defer program.Close()
	for i, id := range tokens {
		program.Ints("tokens")[i] = int32(id)
	}
	require.NoError(t, program.Run(graph.RunOptions{}))
	return slices.Clone(logits.Value().(*tensor.Dense).Float32s())
}

// expected returns the tokens [2, 40] and logits [2, 40, 113] that transformers computed.
func expected(t *testing.T, folder string) (tokens []int, logits []float32) {
	file := readForeign(t, folder, "expected.safetensors")
	ids, err := file.Tensor("tokens")
	require.NoError(t, err)
	tokens, err = ids.Ints()
	require.NoError(t, err)
	values, err := file.Tensor("logits")
	require.NoError(t, err)
	logits, err = values.Float32s()
	require.NoError(t, err)
	return tokens, logits
}

// requireClose compares relative to the largest entry.
func requireClose(t *testing.T, want, got []float32, tolerance float64) {
	require.Len(t, got, len(want))
	var difference, scale float64
	for i := range want {
		d := math.Abs(float64(got[i]) - float64(want[i]))
		require.False(t, math.IsNaN(d), i)
		difference, scale = max(difference, d), max(scale, math.Abs(float64(want[i])))
	}
	require.LessOrEqual(t, difference/scale, tolerance)
}

const hfTolerance = 2e-5 // of float32 logits

func requireRefused(t *testing.T, dir string, want check) {
	p, err := pretrained.Open(dir)
	want(t, err)
	require.ErrorContains(t, err, dir)
	require.NotContains(t, err.Error(), "\n")
	require.Nil(t, p)
}

// Checks folders that cannot be read at all: each case rewrites one file of the folder.
func TestHuggingFaceRefusesFiles(t *testing.T) {
	for _, c := range []struct {
		file   string
		change func([]byte) []byte
		want   string
	}{
		{"config.json", func([]byte) []byte { return []byte("{") }, "config.json: want a JSON object: unexpected end of JSON input"},
		{"config.json", func([]byte) []byte { return []byte("[]") }, "config.json: want a JSON object, got array"},
		{"config.json", func([]byte) []byte { return []byte("null") }, `model_type: want one of [gpt2`},
		{"model.safetensors", func(b []byte) []byte { return b[:len(b)-1] }, "truncated or damaged"},
		{"model.safetensors", func([]byte) []byte { return nil }, "too few for a safetensors file"},
		{"model.safetensors", retyped("F4"), `dtype "F4" is not supported`},
		{"model.safetensors", retyped("U32"), `want F32, F16 or BF16 elements, got U32: convert the model to float32`},
	} {
		dir := openForeign(t, gpt2).write(t)
		path := filepath.Join(dir, c.file)
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, c.change(data), 0o600))
		requireRefused(t, dir, says(c.want))
	}
	dir := openForeign(t, gpt2).write(t)
	require.NoError(t, os.Remove(filepath.Join(dir, "model.safetensors")))
	requireRefused(t, dir, says("has a config.json but no model.safetensors, model.safetensors.index.json or pytorch_model.bin"))
}

// retyped changes the type of the first tensor in the header; the data is unchanged.
func retyped(dtype string) func([]byte) []byte {
	return func(b []byte) []byte {
		before, after := []byte(`"dtype":"F32"`), fmt.Appendf(nil, `"dtype":%q`, dtype)
		b = bytes.Replace(b, before, after, 1)
		length := binary.LittleEndian.Uint64(b) + uint64(len(after)-len(before))
		binary.LittleEndian.PutUint64(b, length)
		return b
	}
}

// truncate rounds the weights to values that 16-bit numbers can hold: fewer bits of the fraction,
// and no small values.
func (f *foreign) truncate(d checkpoint.DType) {
	for _, t := range f.tensors {
		for i, v := range t.Data.([]float32) {
			t.Data.([]float32)[i] = fromHalf(d, half(d, v))
		}
	}
}

// half returns v as 16 bits, rounded towards zero; zero if v is too small to be a normal F16.
func half(d checkpoint.DType, v float32) uint16 {
	bits := math.Float32bits(v)
	switch exponent := bits >> 23 & 255; {
	case d == checkpoint.BF16:
		return uint16(bits >> 16)
	case exponent < 127-14:
		return uint16(bits >> 31 << 15)
	default:
		return uint16(bits>>31<<15 | (exponent-112)<<10 | bits>>13&1023)
	}
}

func fromHalf(d checkpoint.DType, bits uint16) float32 {
	switch {
	case d == checkpoint.BF16:
		return math.Float32frombits(uint32(bits) << 16)
	case bits&0x7fff == 0:
		return 0
	}
	return float32(math.Ldexp(float64(1024+bits&1023), int(bits>>10&31)-25)) * float32(1-2*int(bits>>15))
}

// writeShards writes the folder with its weights as 16-bit numbers in two files, and their index.
func (f *foreign) writeShards(t *testing.T, d checkpoint.DType) string {
	dir := f.write(t)
	require.NoError(t, os.Remove(filepath.Join(dir, "model.safetensors")))
	files, fileOf := map[string][]checkpoint.Tensor{}, map[string]string{}
	for i, tensor := range f.tensors {
		name := fmt.Sprintf("model-%05d-of-00002.safetensors", i%2+1)
		files[name], fileOf[tensor.Name] = append(files[name], tensor), name
	}
	for name, tensors := range files {
		writeHalves(t, filepath.Join(dir, name), d, tensors)
	}
	index, err := json.Marshal(map[string]any{"metadata": map[string]int{"total_size": 1}, "weight_map": fileOf})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, checkpoint.ModelIndex), index, 0o600))
	return dir
}

// writeHalves writes a safetensors file of 16-bit numbers, which package checkpoint can only read.
func writeHalves(t *testing.T, path string, d checkpoint.DType, tensors []checkpoint.Tensor) {
	header, data := map[string]any{}, []byte{}
	for _, tensor := range tensors {
		begin := len(data)
		for _, v := range tensor.Data.([]float32) {
			data = binary.LittleEndian.AppendUint16(data, half(d, v))
		}
		header[tensor.Name] = map[string]any{"dtype": d, "shape": tensor.Shape, "data_offsets": []int{begin, len(data)}}
	}
	text, err := json.Marshal(header)
	require.NoError(t, err)
	file := append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...)
	require.NoError(t, os.WriteFile(path, append(file, data...), 0o600))
}

// TestHuggingFaceShardsOfHalves: weights in two files of 16-bit numbers give the same model as
// weights in one file of float32.
func TestHuggingFaceShardsOfHalves(t *testing.T) {
	for _, folder := range []string{gpt2, llama, qwen3} {
		for _, d := range []checkpoint.DType{checkpoint.F16, checkpoint.BF16} {
			f := openForeign(t, folder)
			before := slices.Clone(f.tensors[0].Data.([]float32))
			f.truncate(d)
			require.NotEqual(t, before, f.tensors[0].Data)
			requireClose(t, before, f.tensors[0].Data.([]float32), 1.0/128)
			want, got := open(t, f.write(t)), open(t, f.writeShards(t, d))
			require.Equal(t, want.Description, got.Description)
			for i, p := range want.Store.Params() {
				require.Equal(t, p.Value.Float32s(), got.Store.Params()[i].Value.Float32s(), "%s as %s: %s", folder, d, p.Name)
			}
		}
	}
}

// TestHuggingFaceRefusesShards: errors about several files are like those about one file.
func TestHuggingFaceRefusesShards(t *testing.T) {
	f := openForeign(t, gpt2)
	dir := f.writeShards(t, checkpoint.BF16)
	require.NoError(t, os.Remove(filepath.Join(dir, "model-00002-of-00002.safetensors")))
	requireRefused(t, dir, says("model-00002-of-00002.safetensors"))
	f.remove("transformer.ln_f.bias")
	requireRefused(t, f.writeShards(t, checkpoint.BF16), tensorNamed("ln_f.bias"))
}

// copyTokenizer copies a tokenizer of 600 ids into a folder.
func copyTokenizer(t *testing.T, dir string) {
	text, err := os.ReadFile(filepath.Join(reference("tokenizer"), "llama3", "tokenizer.json"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "tokenizer.json"), text, 0o600))
}
