package pretrained_test

import (
	"fmt"
	"math"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/pretrained"
)

// naive computes Llama's and Qwen3's logits from a folder's tensors in float64, by the definitions;
// sees tells which tokens token i of a layer sees.
type naive struct {
	*foreign
	t              *testing.T
	heads, kv, dim int
	eps, theta     float64
	sees           func(layer, i, j int) bool
}

func naively(t *testing.T, f *foreign, sees func(layer, i, j int) bool) naive {
	number := func(key string) float64 {
		v, ok := f.config[key].(float64)
		require.True(t, ok, key)
		return v
	}
	theta, ok := f.config["rope_theta"].(float64)
	if p, has := f.config["rope_parameters"].(map[string]any); has {
		theta, ok = p["rope_theta"].(float64)
	}
	require.True(t, ok)
	return naive{f, t, int(number("num_attention_heads")), int(number("num_key_value_heads")), int(number("head_dim")), number("rms_norm_eps"), theta, sees}
}

// weight returns a tensor's entries and the length of its rows.
func (n naive) weight(name string) (w []float32, width int) {
	x := n.tensor(name)
	data, err := x.Float32s()
	require.NoError(n.t, err)
	return data, x.Shape[len(x.Shape)-1]
}

func (n naive) times(name string, x []float64) []float64 {
	w, width := n.weight(name)
	y := make([]float64, len(w)/width)
	for r := range y {
		for c, v := range x {
			y[r] += float64(w[r*width+c]) * v
		}
	}
	return y
}

func (n naive) norm(name string, x []float64) []float64 {
	w, _ := n.weight(name)
	sum, y := 0.0, make([]float64, len(x))
	for _, v := range x {
		sum += v * v / float64(len(x))
	}
	for i, v := range x {
		y[i] = v / math.Sqrt(sum+n.eps) * float64(w[i])
	}
	return y
}

// turned returns the heads of x at a position, normalised if they have a norm, and rotated.
func (n naive) turned(norm string, x []float64, position int) []float64 {
	var all []float64
	for ; len(x) > 0; x = x[n.dim:] {
		h := append([]float64(nil), x[:n.dim]...)
		if n.has(norm) {
			h = n.norm(norm, h)
		}
		for d := range n.dim / 2 {
			angle := float64(position) * math.Pow(n.theta, -2*float64(d)/float64(n.dim))
			z := complex(h[d], h[d+n.dim/2]) * complex(math.Cos(angle), math.Sin(angle))
			h[d], h[d+n.dim/2] = real(z), imag(z)
		}
		all = append(all, h...)
	}
	return all
}

func (n naive) has(name string) bool {
	for _, x := range n.tensors {
		if x.Name == name {
			return true
		}
	}
	return false
}

// logits returns the logits of one row of tokens.
func (n naive) logits(tokens []int) (logits []float32) {
	stream := make([][]float64, len(tokens))
	table, width := n.weight("model.embed_tokens.weight")
	for i, id := range tokens {
		for _, v := range table[id*width:][:width] {
			stream[i] = append(stream[i], float64(v))
		}
	}
	for l := 0; n.has(fmt.Sprintf("model.layers.%d.input_layernorm.weight", l)); l++ {
		n.layer(stream, l)
	}
	head := "lm_head.weight"
	if !n.has(head) {
		head = "model.embed_tokens.weight"
	}
	for _, h := range stream {
		for _, z := range n.times(head, n.norm("model.norm.weight", h)) {
			logits = append(logits, float32(z))
		}
	}
	return logits
}

func (n naive) layer(stream [][]float64, l int) {
	name := func(part string) string { return fmt.Sprintf("model.layers.%d.%s.weight", l, part) }
	var q, k, v [][]float64
	for i, h := range stream {
		u := n.norm(name("input_layernorm"), h)
		q = append(q, n.turned(name("self_attn.q_norm"), n.times(name("self_attn.q_proj"), u), i))
		k = append(k, n.turned(name("self_attn.k_norm"), n.times(name("self_attn.k_proj"), u), i))
		v = append(v, n.times(name("self_attn.v_proj"), u))
	}
	for i, h := range stream {
		o := make([]float64, n.heads*n.dim)
		for head := range n.heads {
			n.attend(o[head*n.dim:][:n.dim], q[i][head*n.dim:][:n.dim], k, v, head/(n.heads/n.kv)*n.dim, l, i)
		}
		add(h, n.times(name("self_attn.o_proj"), o))
		u := n.norm(name("post_attention_layernorm"), h)
		gate, up := n.times(name("mlp.gate_proj"), u), n.times(name("mlp.up_proj"), u)
		for j, g := range gate {
			up[j] *= g / (1 + math.Exp(-g))
		}
		add(h, n.times(name("mlp.down_proj"), up))
	}
}

// attend adds a head's values, which begin at entry at, to o.
func (n naive) attend(o, q []float64, k, v [][]float64, at, layer, i int) {
	weights, sum := map[int]float64{}, 0.0
	for j := range k[:i+1] {
		if n.sees(layer, i, j) {
			z := 0.0
			for d := range q {
				z += q[d] * k[j][at+d] / math.Sqrt(float64(n.dim))
			}
			weights[j] = math.Exp(z)
			sum += weights[j]
		}
	}
	for j, w := range weights {
		for d := range o {
			o[d] += w / sum * v[j][at+d]
		}
	}
}

func add(x, y []float64) {
	for i := range x {
		x[i] += y[i]
	}
}

// both returns the logits of two rows of 40 tokens.
func (n naive) both(tokens []int) []float32 {
	return append(n.logits(tokens[:40]), n.logits(tokens[40:])...)
}

// TestWindowsOfFolders: models with windows, in the spellings of Qwen3 and Mistral, have the logits
// of a naive forward pass, which without windows has the logits of transformers. A token sees
// sliding_window tokens, including itself. Exported again, they are read back as the same model.
func TestWindowsOfFolders(t *testing.T) {
	all := func(_, _, _ int) bool { return true }
	window := func(w int, layers ...int) func(l, i, j int) bool {
		return func(l, i, j int) bool {
			for _, slides := range layers {
				if slides == l {
					return j > i-w
				}
			}
			return true
		}
	}
	for _, c := range []struct {
		name, folder, architecture string
		change                     map[string]any
		want                       layers.AttentionDesign
		sees                       func(l, i, j int) bool
	}{
		{"llama without", llama, "llama", nil, nil, all},
		{"qwen3 without", qwen3, "qwen3", nil, nil, all},
		{"layer types", qwen3, "qwen3", map[string]any{"use_sliding_window": true, "sliding_window": 5, "layer_types": []string{"sliding_attention", "full_attention"}},
			layers.SlidingAttention{Window: 5, Layers: []int{0}}, window(5, 0)},
		{"full layers first", qwen3, "qwen3", map[string]any{"use_sliding_window": true, "sliding_window": 8, "max_window_layers": 1, "layer_types": nil},
			layers.SlidingAttention{Window: 8, Layers: []int{1}}, window(8, 1)},
		{"all layers", qwen3, "qwen3", map[string]any{"use_sliding_window": true, "sliding_window": 3, "max_window_layers": 0, "layer_types": nil},
			layers.SlidingAttention{Window: 3}, window(3, 0, 1)},
		{"mistral", llama, "mistral", map[string]any{"model_type": "mistral", "sliding_window": 7}, layers.SlidingAttention{Window: 7}, window(7, 0, 1)},
		{"mistral of rows as long", llama, "mistral", map[string]any{"model_type": "mistral"}, layers.SlidingAttention{Window: 4096}, all},
		{"mistral without", llama, "mistral", map[string]any{"model_type": "mistral", "sliding_window": nil}, nil, all},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := openForeign(t, c.folder)
			tokens, want := expected(t, c.folder)
			plain := naively(t, f, all).both(tokens)
			requireClose(t, want, plain, hfTolerance)
			for key, value := range c.change {
				f.config[key] = value
			}
			m := open(t, f.write(t))
			require.Equal(t, c.want, m.Spec.Attention.Kind)
			got, want := logitsOf(t, m, tokens, 2), naively(t, f, c.sees).both(tokens)
			requireClose(t, want, got, hfTolerance)
			if window, ok := c.want.(layers.SlidingAttention); ok && window.Window < 40 {
				require.NotEqual(t, plain, want)
			}
			folder := filepath.Join(t.TempDir(), "exported")
			_, err := m.Export("huggingface", folder, pretrained.ExportOptions{Architecture: c.architecture})
			require.NoError(t, err)
			again := open(t, folder)
			require.Equal(t, m.Spec, again.Spec)
			require.Equal(t, got, logitsOf(t, again, tokens, 2))
		})
	}
}

// TestWindowsThatNoFormatHas are refused with the name of the option.
func TestWindowsThatNoFormatHas(t *testing.T) {
	f := openForeign(t, llama)
	f.config["model_type"], f.config["sliding_window"] = "mistral", 7
	m := open(t, f.write(t))
	refused := func(format string, want ...string) {
		t.Helper()
		_, err := m.Export(format, filepath.Join(t.TempDir(), "x"), pretrained.ExportOptions{IDsAlone: true})
		for _, part := range want {
			require.ErrorContains(t, err, part)
		}
		require.NotContains(t, err.Error(), "\n")
	}
	refused("gguf", "model.attention.kind: want softmax, got sliding")
	kind := m.Spec.Attention.Kind.(layers.SlidingAttention)
	kind.Sinks = 2
	c := m.Spec.Config
	c.Attention.Kind = kind
	m.Spec = resolved(t, c)
	refused("huggingface", "mistral: model.attention.sinks: want 0, got 2", "residua: model.attention.kind: want softmax, got sliding")
	q := openForeign(t, qwen3)
	q.config["use_sliding_window"], q.config["sliding_window"], q.config["layer_types"] = true, 4, []string{"full_attention", "sliding_attention"}
	m = open(t, q.write(t))
	refused("gguf", "gguf: model.attention.kind: want softmax, got sliding")
	m = open(t, reference("rmt-official"))
	c = m.Spec.Config
	c.Attention.Kind = kind
	m.Spec = resolved(t, c)
	refused("rmt", "model.attention.kind: want softmax, got sliding")
}

// TestWindowsRefused checks folders whose windows do not make sense.
func TestWindowsRefused(t *testing.T) {
	for _, c := range []struct {
		folder string
		change map[string]any
		want   string
	}{
		{qwen3, map[string]any{"layer_types": []string{"full_attention", "sliding_attention"}}, `layer_types[1]: want full_attention without use_sliding_window and sliding_window, got "sliding_attention"`},
		{qwen3, map[string]any{"layer_types": []string{"full_attention", "chunked_attention"}}, `layer_types[1]: want full_attention or sliding_attention, got "chunked_attention"`},
		{qwen3, map[string]any{"use_sliding_window": true, "sliding_window": 0, "max_window_layers": 0, "layer_types": nil}, "sliding_window: want >= 1, got 0"},
		{llama, map[string]any{"model_type": "mistral", "sliding_window": -2}, "sliding_window: want >= 1, got -2"},
		{llama, map[string]any{"model_type": "mistral", "sliding_window": "all"}, "sliding_window: want int, got string"},
	} {
		f := openForeign(t, c.folder)
		for key, value := range c.change {
			f.config[key] = value
		}
		requireRefused(t, f.write(t), says(c.want))
	}
}
