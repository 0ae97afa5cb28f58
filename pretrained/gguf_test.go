package pretrained_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/pretrained"
)

// ggufFile is a GGUF file of version 3, parsed according to its specification.
type ggufFile struct {
	metadata map[string]any
	shapes   map[string][]uint64 // fastest axis first
	kinds    map[string]uint32   // ggml's numbers for types
	values   map[string][]float32
}

// ggml's numbers for types.
const kindF32, kindF16, kindQ8, kindBF16 = 0, 1, 8, 30

// ggufParser reads from the front.
type ggufParser struct{ rest []byte }

func (p *ggufParser) take(n uint64) []byte {
	out := p.rest[:n]
	p.rest = p.rest[n:]
	return out
}

func (p *ggufParser) u32() uint32  { return binary.LittleEndian.Uint32(p.take(4)) }
func (p *ggufParser) u64() uint64  { return binary.LittleEndian.Uint64(p.take(8)) }
func (p *ggufParser) text() string { return string(p.take(p.u64())) }

func (p *ggufParser) value(kind uint32) any {
	switch kind {
	case 4:
		return p.u32()
	case 5:
		return int32(p.u32())
	case 6:
		return math.Float32frombits(p.u32())
	case 7:
		return p.take(1)[0] == 1
	case 8:
		return p.text()
	case 9:
		list := []any{}
		of := p.u32()
		for range p.u64() {
			list = append(list, p.value(of))
		}
		return list
	}
	panic(fmt.Sprint("type ", kind))
}

// binary16 converts the bits of an F16.
func binary16(bits uint16) float32 {
	sign, exponent, fraction := 1-2*float64(bits>>15), int(bits>>10&31), float64(bits&1023)
	if exponent == 0 {
		return float32(math.Ldexp(sign*fraction, -24))
	}
	return float32(math.Ldexp(sign*(1024+fraction), exponent-25))
}

// numbers reads n numbers of a type.
func (p *ggufParser) numbers(t *testing.T, kind uint32, n uint64) []float32 {
	values := make([]float32, 0, n)
	for uint64(len(values)) < n {
		switch kind {
		case kindF32:
			values = append(values, math.Float32frombits(p.u32()))
		case kindF16:
			values = append(values, binary16(binary.LittleEndian.Uint16(p.take(2))))
		case kindBF16:
			values = append(values, math.Float32frombits(uint32(binary.LittleEndian.Uint16(p.take(2)))<<16))
		case kindQ8:
			scale := binary16(binary.LittleEndian.Uint16(p.take(2)))
			for _, b := range p.take(32) {
				values = append(values, scale*float32(int8(b)))
			}
		default:
			require.FailNow(t, "another type", kind)
		}
	}
	return values
}

func parseGGUF(t *testing.T, path string) ggufFile {
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	p := &ggufParser{content}
	require.Equal(t, "GGUF", string(p.take(4)))
	require.EqualValues(t, 3, p.u32())
	tensors, entries := p.u64(), p.u64()
	f := ggufFile{map[string]any{}, map[string][]uint64{}, map[string]uint32{}, map[string][]float32{}}
	for range entries {
		key := p.text()
		f.metadata[key] = p.value(p.u32())
	}
	type place struct {
		name         string
		kind         uint32
		size, offset uint64
	}
	var places []place
	for range tensors {
		name, size := p.text(), uint64(1)
		for range p.u32() {
			axis := p.u64()
			f.shapes[name], size = append(f.shapes[name], axis), size*axis
		}
		places = append(places, place{name, p.u32(), size, p.u64()})
	}
	start := (len(content) - len(p.rest) + 31) / 32 * 32
	for _, place := range places {
		require.Zero(t, place.offset%32)
		data := &ggufParser{content[uint64(start)+place.offset:]}
		f.kinds[place.name], f.values[place.name] = place.kind, data.numbers(t, place.kind, place.size)
	}
	require.Zero(t, len(content)%32)
	return f
}

// inGGUF returns models that llama.cpp can compute.
func inGGUF(t *testing.T) map[string]*pretrained.Model {
	plain := ours()["gpt2 with biases"]
	plain.Gelu = models.GeluTanh
	return map[string]*pretrained.Model{gpt2: open(t, reference(gpt2)), llama: open(t, reference(llama)), qwen3: open(t, reference(qwen3)),
		"gpt2": made(t, plain, "bytes"), "llama": made(t, ours()["llama"], "bytes"), "qwen3": made(t, ours()["qwen3"], "bytes")}
}

// TestExportGGUF: the parsed file has the architecture's metadata, the tokenizer and the
// parameters; Llama's rotated rows are in llama.cpp's order.
func TestExportGGUF(t *testing.T) {
	for name, m := range inGGUF(t) {
		path := filepath.Join(t.TempDir(), "model.gguf")
		require.NoError(t, exportAs(m, "gguf", path, pretrained.ExportOptions{IDsAlone: true}), name)
		f := parseGGUF(t, path)
		kind := f.metadata["general.architecture"].(string)
		require.True(t, strings.HasPrefix(name, kind), name)
		require.EqualValues(t, m.Spec.Width(), f.metadata[kind+".embedding_length"])
		require.EqualValues(t, m.Spec.Layers, f.metadata[kind+".block_count"])
		require.Equal(t, m.Store.Param("embedding").Value.Float32s(), f.values["token_embd.weight"], name)
		require.Equal(t, []uint64{uint64(m.Spec.Width()), uint64(m.Spec.Vocab)}, f.shapes["token_embd.weight"], name)
		if m.Data.Tokenizer == "" {
			require.Equal(t, "none", f.metadata["tokenizer.ggml.model"])
		} else {
			require.Len(t, f.metadata["tokenizer.ggml.tokens"], 257)
			require.EqualValues(t, 256, f.metadata["tokenizer.ggml.bos_token_id"])
		}
		if kind != "gpt2" {
			d, columns, heads, dim := m.Spec.Width(), m.Spec.HeadCount()*m.Spec.HeadDim(), m.Spec.HeadCount(), m.Spec.HeadDim()
			qkv, q := m.Store.Param("blocks.1.attention.qkv"), f.values["blk.1.attn_q.weight"]
			require.Len(t, q, d*columns)
			for h := range heads {
				for i := range dim {
					row := i // row in llama.cpp
					if kind == "llama" {
						row = 2*(i%(dim/2)) + i/(dim/2)
					}
					require.Equal(t, qkv.Value.Float32s()[3*qkv.Shape[1]+h*dim+i], q[(h*dim+row)*d+3], "%s: head %d, entry %d", name, h, i)
				}
			}
		}
	}
}

// TestExportGGUFTypes: matrices are rounded to the type, by at most half a unit in its last place,
// and everything else is unchanged; matrices whose rows do not fill whole blocks are F16.
func TestExportGGUFTypes(t *testing.T) {
	types := map[string]struct{ kind, file uint32 }{"f16": {kindF16, 1}, "bf16": {kindBF16, 32}, "q8_0": {kindQ8, 7}}
	for name, m := range inGGUF(t) {
		path, fallbacks := filepath.Join(t.TempDir(), "model.gguf"), 0
		require.NoError(t, exportAs(m, "gguf", path, pretrained.ExportOptions{IDsAlone: true}))
		exact := parseGGUF(t, path)
		require.EqualValues(t, 0, exact.metadata["general.file_type"])
		for typed, want := range types {
			require.NoError(t, exportAs(m, "gguf", path, pretrained.ExportOptions{Type: typed, IDsAlone: true}), name)
			rounded := parseGGUF(t, path)
			require.Equal(t, want.file, rounded.metadata["general.file_type"])
			require.Equal(t, exact.shapes, rounded.shapes)
			for tensor, values := range exact.values {
				kind, shape := want.kind, exact.shapes[tensor]
				switch {
				case len(shape) == 1 || tensor == "position_embd.weight":
					kind = kindF32
				case kind == kindQ8 && shape[0]%32 != 0:
					kind = kindF16
					fallbacks++
				}
				require.Equal(t, kind, rounded.kinds[tensor], "%s: %s as %s", name, tensor, typed)
				requireRounded(t, kind, values, rounded.values[tensor], tensor)
			}
		}
		if name == "gpt2" {
			require.Equal(t, m.Spec.Layers, fallbacks, "rows of 80")
		}
	}
}

// requireRounded compares numbers with what a type stored of them.
func requireRounded(t *testing.T, kind uint32, want, got []float32, name string) {
	require.Len(t, got, len(want))
	bound := func(i int) float64 { return 0 }
	switch kind {
	case kindF16:
		bound = func(i int) float64 { return math.Abs(float64(want[i]))/(1<<11) + 1./(1<<25) }
	case kindBF16:
		bound = func(i int) float64 { return math.Abs(float64(want[i])) / (1 << 8) }
	case kindQ8: // half an integer, and 127 times half of the scale's last place
		bound = func(i int) float64 {
			largest := 0.
			for _, v := range want[i/32*32 : i/32*32+32] {
				largest = max(largest, math.Abs(float64(v)))
			}
			return largest/254*1.0001 + largest/(1<<11)
		}
	}
	for i, v := range want {
		require.LessOrEqual(t, math.Abs(float64(v)-float64(got[i])), bound(i), "%s, entry %d", name, i)
	}
}

// TestGGUFReader: by its table of names, llama.cpp's own reader finds each tensor of the Hugging
// Face folder.
func TestGGUFReader(t *testing.T) {
	program := python(t, "gguf", "safetensors")
	args, dir := []string{filepath.Join("testdata", "gguf_reader.py")}, t.TempDir()
	for name, m := range inGGUF(t) {
		folder := filepath.Join(dir, name)
		export(t, m, folder, pretrained.ExportOptions{})
		for _, typed := range []string{"f32", "f16", "bf16", "q8_0"} {
			path := filepath.Join(dir, name+typed+".gguf")
			require.NoError(t, exportAs(m, "gguf", path, pretrained.ExportOptions{Type: typed, IDsAlone: true}))
			args = append(args, path, folder)
		}
	}
	c := exec.CommandContext(t.Context(), program, args...)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	require.NoError(t, err, stderr.String())
	require.Equal(t, 24, strings.Count(string(out), "\n"))
}

// TestLlamaCppComputesTheSame: llama.cpp computes the same probabilities for our models, their
// likeliest tokens wherever these lead by more than the difference, and splits texts as our
// tokenizers do. It looks up GELU in a table of F16; transformers' model with such a table computes
// its probabilities.
func TestLlamaCppComputesTheSame(t *testing.T) {
	program := python(t, "xllamacpp", "safetensors")
	args, dir := []string{filepath.Join("testdata", "llama_cpp.py")}, t.TempDir()
	all := inGGUF(t)
	maps.Copy(all, peoplesInGGUF(t))
	for name, folder := range splitters() {
		c := ours()["llama"]
		c.Vocab = 1003
		all["splits "+name] = made(t, c, folder)
	}
	gelu := func(name string) bool {
		return strings.HasPrefix(name, "g") && name != "granite" && !strings.HasSuffix(name, "-hf")
	}
	transformers := exec.Command(program, "-c", "import torch, transformers").Run() == nil
	for name, m := range all {
		if m.Data.Tokenizer == "" {
			continue
		}
		folder := filepath.Join(dir, name)
		if gelu(name) && transformers {
			export(t, m, folder, pretrained.ExportOptions{})
		} else {
			require.NoError(t, os.Mkdir(folder, 0o777))
		}
		require.NoError(t, exportAs(m, "gguf", filepath.Join(folder, "model.gguf"), pretrained.ExportOptions{IDsAlone: true}))
		putExpected(t, folder, m)
		args = append(args, folder)
	}
	c := exec.CommandContext(t.Context(), program, args...)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	require.NoError(t, err, "%s%s", out, stderr.String())
	compared := 0
	for line := range strings.Lines(string(out)) {
		var r struct {
			Folder            string
			Difference, Table float64
			Leads             int
		}
		if json.Unmarshal([]byte(line), &r) != nil {
			continue // llama.cpp's own key
		}
		t.Logf("%s: %.2g, with the table %.2g, %d of 12 tokens lead", r.Folder, r.Difference, r.Table, r.Leads)
		bound, leads := 1e-5, 12
		if gelu(r.Folder) {
			bound, leads = 2e-3, 1
			require.LessOrEqual(t, r.Table, 2e-4, r.Folder)
		}
		require.LessOrEqual(t, r.Difference, bound, r.Folder)
		require.GreaterOrEqual(t, r.Leads, leads, r.Folder)
		compared++
	}
	require.Equal(t, 14+len(splitters()), compared)
}

// splitters returns tokenizers of 600 to 1,000 ids by the rules that llama.cpp has.
func splitters() map[string]string {
	paths := map[string]string{}
	for name, folder := range map[string]string{"gpt-2": "tokenizers/neox", "gpt-4o": "tokenizers/o200k", "smollm": "reference/tokenizer/gpt2-digits", "llama-bpe": "reference/tokenizer/llama3", "qwen2": "reference/tokenizer/qwen"} {
		paths[name] = filepath.Join("..", "testdata", filepath.FromSlash(folder), "tokenizer.json")
	}
	return paths
}

// TestExportGGUFRefuses: the error names the option that llama.cpp does not have.
func TestExportGGUFRefuses(t *testing.T) {
	for want, c := range map[string]models.Config{
		"gguf: model.attention.inverse_layer_scaling: want false for llama.cpp's gpt2, got true":          ours()["gpt2"],
		"gguf: model.gelu: want tanh for llama.cpp's gpt2, got exact":                                     ours()["gpt2 with biases"],
		"gguf: want an architecture that llama.cpp has: gpt2: model.stream.kind: want vector, got matrix": models.RMT(1, 4, 4, 2, 8),
	} {
		path := filepath.Join(t.TempDir(), "x.gguf")
		err := exportAs(made(t, c, ""), "gguf", path, pretrained.ExportOptions{IDsAlone: true})
		require.ErrorContains(t, err, want)
		require.NoFileExists(t, path)
	}
}

// TestExportGGUFRefusesWhatF16HasNot: a weight that would become infinite is named, and nothing is
// written; as F32 it is kept.
func TestExportGGUFRefusesWhatF16HasNot(t *testing.T) {
	m, path := made(t, ours()["llama"], "bytes"), filepath.Join(t.TempDir(), "x.gguf")
	m.Store.Param("unembedding").Value.Float32s()[5] = -65520
	err := exportAs(m, "gguf", path, pretrained.ExportOptions{Type: "f16"})
	require.ErrorContains(t, err, `tensor "output.weight": want elements of F16, which end at 65504, got -65520: write F32`)
	require.NoFileExists(t, path)
	require.NoError(t, exportAs(m, "gguf", path, pretrained.ExportOptions{}))
	m.Store.Param("unembedding").Value.Float32s()[5] = -65519
	require.NoError(t, exportAs(m, "gguf", path, pretrained.ExportOptions{Type: "f16"}))
}
