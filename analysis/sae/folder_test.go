package sae

import (
	"archive/zip"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/checkpoint"
)

// TestFolder: a folder has SAELens' files, names and shapes, and is read with the same bits.
func TestFolder(t *testing.T) {
	shapes := map[Architecture]map[string][]int{
		TopK:           {"W_enc": {6, 11}, "b_enc": {11}, "W_dec": {11, 6}, "b_dec": {6}},
		Gated:          {"W_enc": {6, 11}, "W_dec": {11, 6}, "b_dec": {6}, "b_gate": {11}, "b_mag": {11}, "r_mag": {11}},
		JumpReLU:       {"W_enc": {6, 11}, "b_enc": {11}, "W_dec": {11, 6}, "b_dec": {6}, "threshold": {11}},
		Transcoder:     {"W_enc": {6, 11}, "b_enc": {11}, "W_dec": {11, 4}, "b_dec": {4}},
		SkipTranscoder: {"W_enc": {6, 11}, "b_enc": {11}, "W_dec": {11, 4}, "b_dec": {4}, "W_skip": {4, 6}},
	}
	for a, want := range shapes {
		out := want["b_dec"][0]
		s, dir := random(t, a, 6, 11, out), t.TempDir()
		if a != TopK {
			s.K = 0
		}
		s.Metadata = Metadata{Model: "m", Name: "embedding.out", Context: 8, Lens: lensVersion}
		require.NoError(t, s.Save(dir))
		f, err := checkpoint.ReadTensors(filepath.Join(dir, "sae_weights.safetensors"))
		require.NoError(t, err)
		got := map[string][]int{}
		for _, p := range f.Tensors {
			got[p.Name] = p.Shape
			assert.Equal(t, checkpoint.F32, p.DType())
		}
		assert.Equal(t, want, got, a)
		var c map[string]any
		text, err := os.ReadFile(filepath.Join(dir, "cfg.json"))
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &c))
		wantConfig := map[string]any{"architecture": string(a), "d_in": 6., "d_sae": 11., "apply_b_dec_to_input": out == 6, "rescale_acts_by_decoder_norm": false,
			"dtype": "float32", "device": "cpu", "normalize_activations": "none", "reshape_activations": "none",
			"metadata": map[string]any{"model_name": "m", "hook_name": "embedding.out", "context_size": 8., "prepend_bos": false, "sae_lens_version": "6.0.0"}}
		if a == TopK {
			wantConfig["k"] = 3.
		}
		if out == 4 {
			wantConfig["d_out"] = 4.
		}
		assert.Equal(t, wantConfig, c, a)
		read, err := Open(dir)
		require.NoError(t, err)
		assert.Equal(t, s.Config, read.Config)
		for name := range want {
			assert.Equal(t, s.values(name), read.values(name), name)
		}
	}
}

// edit changes a key of a folder's config.
func edit(t *testing.T, dir, key string, value any) {
	t.Helper()
	file := filepath.Join(dir, "cfg.json")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var c map[string]any
	require.NoError(t, json.Unmarshal(text, &c))
	c[key] = value
	text, err = json.Marshal(c)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, text, 0o666))
}

// TestRescaled: features that SAELens multiplies by the length of their row of W_dec before the k
// largest are chosen, and divides by it after, do the same here.
func TestRescaled(t *testing.T) {
	s, dir := random(t, TopK, 6, 11, 6), t.TempDir()
	require.NoError(t, s.Save(dir))
	edit(t, dir, "rescale_acts_by_decoder_norm", true)
	read, err := Open(dir)
	require.NoError(t, err)
	r, err := read.Open(1)
	require.NoError(t, err)
	defer r.Close()
	x := []float64{1, -0.5, 0.25, 2, -1, 0.75}
	_, got, err := r.Run(x)
	require.NoError(t, err)
	scaled := random(t, TopK, 6, 11, 6)
	enc, dec, bias := scaled.values("W_enc"), scaled.values("W_dec"), scaled.values("b_enc")
	want := loopsRescaled(x, enc, bias, dec, scaled.values("b_dec"), 3)
	assert.InDeltaSlice(t, want, got, 1e-5)
	_, plain := loops(s, x)
	assert.NotEqual(t, plain, want)
}

// loopsRescaled computes a rescaled TopK SAE as SAELens does.
func loopsRescaled(x, enc, bias, dec, mean []float64, k int) []float64 {
	features := len(bias)
	lengths := make([]float64, features)
	pre := append([]float64(nil), bias...)
	for j := range features {
		for o := range x {
			lengths[j] += dec[j*len(x)+o] * dec[j*len(x)+o]
			pre[j] += (x[o] - mean[o]) * enc[o*features+j]
		}
		lengths[j] = math.Sqrt(lengths[j])
		pre[j] *= lengths[j]
	}
	y := append([]float64(nil), mean...)
	for range k {
		best := 0
		for j := range pre {
			if pre[j] > pre[best] {
				best = j
			}
		}
		for o := range y {
			y[o] += max(0, pre[best]) / lengths[best] * dec[best*len(x)+o]
		}
		pre[best] = -1e9
	}
	return y
}

// TestOpenRefuses: what is not computed here is refused by name.
func TestOpenRefuses(t *testing.T) {
	for want, change := range map[string]func(dir string){
		`no architecture "standard"`:                       func(dir string) { edit(t, dir, "architecture", "standard") },
		"normalize_activations: want none, got layer_norm": func(dir string) { edit(t, dir, "normalize_activations", "layer_norm") },
		"reshape_activations: want none or hook_z, got x":  func(dir string) { edit(t, dir, "reshape_activations", "x") },
		"k: want 1 to 11, got 12":                          func(dir string) { edit(t, dir, "k", 12) },
		"W_enc: want shape [7 11], got [6 11]":             func(dir string) { edit(t, dir, "d_in", 7) },
		`there is no tensor "b_gate"`:                      func(dir string) { edit(t, dir, "architecture", "gated") },
		"want a folder with cfg.json":                      func(dir string) { require.NoError(t, os.Remove(filepath.Join(dir, "cfg.json"))) },
	} {
		dir := t.TempDir()
		require.NoError(t, random(t, TopK, 6, 11, 6).Save(dir))
		change(dir)
		_, err := Open(dir)
		assert.ErrorContains(t, err, want)
	}
}

// npz writes arrays as numpy.savez does.
func npz(t *testing.T, path string, s *SAE, header func(name string, shape []int) string) {
	t.Helper()
	file, err := os.Create(path)
	require.NoError(t, err)
	defer file.Close()
	z := zip.NewWriter(file)
	for _, p := range s.Store.Params() {
		w, err := z.CreateHeader(&zip.FileHeader{Name: p.Name + ".npy"})
		require.NoError(t, err)
		text := header(p.Name, p.Shape)
		text += strings.Repeat(" ", 64-(11+len(text))%64) + "\n"
		_, err = io.WriteString(w, "\x93NUMPY\x01\x00"+string(binary.LittleEndian.AppendUint16(nil, uint16(len(text))))+text)
		require.NoError(t, err)
		require.NoError(t, binary.Write(w, binary.LittleEndian, p.Value.Float32s()))
	}
	require.NoError(t, z.Close())
}

func plainHeader(_ string, shape []int) string {
	text := fmt.Sprintf("%d,", shape[0])
	if len(shape) == 2 {
		text += fmt.Sprintf(" %d", shape[1])
	}
	return "{'descr': '<f4', 'fortran_order': False, 'shape': (" + text + "), }"
}

// TestScope: Gemma Scope's params.npz is a JumpReLU SAE from which b_dec is not taken first; a
// damaged one is refused.
func TestScope(t *testing.T) {
	s, dir := random(t, JumpReLU, 6, 11, 6), t.TempDir()
	npz(t, filepath.Join(dir, "params.npz"), s, plainHeader)
	for _, path := range []string{dir, filepath.Join(dir, "params.npz")} {
		read, err := Open(path)
		require.NoError(t, err)
		assert.Equal(t, Config{Architecture: JumpReLU, In: 6, Features: 11, Out: 6}, read.Config)
		for _, p := range s.Store.Params() {
			assert.Equal(t, s.values(p.Name), read.values(p.Name), p.Name)
		}
	}
	for want, header := range map[string]func(name string, shape []int) string{
		"W_enc: want float32 in C order": func(string, []int) string { return "{'descr': '<f8', 'fortran_order': False, 'shape': (6, 11), }" },
		"of the file, got shape": func(string, []int) string {
			return "{'descr': '<f4', 'fortran_order': False, 'shape': (600000000, 110000000), }"
		},
		"want as many entries as shape": func(string, []int) string { return "{'descr': '<f4', 'fortran_order': False, 'shape': (6, 10), }" },
		"W_enc: want 2 axes, got 1":     func(string, []int) string { return "{'descr': '<f4', 'fortran_order': False, 'shape': (66,), }" },
	} {
		bad := filepath.Join(t.TempDir(), "params.npz")
		npz(t, bad, s, header)
		_, err := Open(bad)
		assert.ErrorContains(t, err, want)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "params.npz"), []byte("torn"), 0o666))
	_, err := Open(dir)
	assert.ErrorContains(t, err, "zip")
}
