package models_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
)

// testHuggingFace compares logits and greedy tokens of a Hugging Face GPT-2 checkpoint:
// bias, tied unembedding, eps.
func testHuggingFace(t *testing.T, dir string) {
	text, err := os.ReadFile(filepath.Join(dir, "config.json"))
	require.NoError(t, err)
	var c struct {
		Type   string  `json:"model_type"`
		Gelu   string  `json:"activation_function"`
		Vocab  int     `json:"vocab_size"`
		D      int     `json:"n_embd"`
		Heads  int     `json:"n_head"`
		Layers int     `json:"n_layer"`
		Seq    int     `json:"n_positions"`
		Inner  *int    `json:"n_inner"`
		Eps    float64 `json:"layer_norm_epsilon"`
	}
	require.NoError(t, json.Unmarshal(text, &c))
	require.Equal(t, "gpt2", c.Type, "Hugging Face model type")
	config := models.Config{Stream: vectorOf(c.D), Attention: models.Attention{Heads: c.Heads}, Layers: c.Layers, FeedForward: gelu(4 * c.D), Vocab: c.Vocab, Seq: c.Seq,
		NormEps: c.Eps, Bias: true, TieEmbeddings: true, Gelu: models.GeluTanh}
	if c.Inner != nil {
		config.FeedForward = gelu(*c.Inner)
	}
	if c.Gelu == "gelu" {
		config.Gelu = models.GeluExact
	}
	t.Run("float32", func(t *testing.T) { checkHuggingFace(t, dir, modeltest.Resolve(t, config)) })
}

func checkHuggingFace(t *testing.T, dir string, c models.Spec) {
	store := graph.NewStore(tensor.Float32, 0)
	_, err := models.New(gorgonia.NewGraph(), c, graph.Options{Store: store})
	require.NoError(t, err)
	loadWeights(t, store, readTensors(t, dir, "model.safetensors"), gpt2Links(c))
	want := readTensors(t, dir, "expected.safetensors")
	tokens := want.tensor(t, "tokens")

	var logits *gorgonia.Node
	compile := func(rows, seq int) *graph.Program {
		p, err := graph.Compile(graph.ProgramOptions{Options: graph.Options{Store: store, Threads: 2}}, func(b *graph.Builder) (graph.Roots, error) {
			m, err := models.On(b, c)
			if err != nil {
				return graph.Roots{}, err
			}
			logits = m.Logits(m.Forward(b.Input("tokens", tensor.Int32, rows, seq)))
			return graph.Roots{Outputs: gorgonia.Nodes{logits}}, m.Err()
		})
		require.NoError(t, err)
		t.Cleanup(p.Close)
		return p
	}
	p := compile(tokens.Shape[0], tokens.Shape[1])
	copy(p.Ints("tokens"), int32s(t, want, "tokens"))
	require.NoError(t, p.Run(graph.RunOptions{}))
	worst := relativeError(graph.Float64s(logits.Value().(*tensor.Dense)), floats(t, want, "logits"), 0)
	require.LessOrEqual(t, worst, tolerance32, "logits")

	// The first 5 tokens of row 0, then what the likeliest token says.
	greedy := int32s(t, want, "greedy")
	const prompt = 5
	p = compile(1, len(greedy))
	row := p.Ints("tokens")
	copy(row, greedy[:prompt])
	for i := prompt; i < len(greedy); i++ {
		require.NoError(t, p.Run(graph.RunOptions{}))
		values := logits.Value().(*tensor.Dense).Float32s()[(i-1)*c.Vocab : i*c.Vocab]
		best := 0
		for v := range values {
			if values[v] > values[best] {
				best = v
			}
		}
		row[i] = int32(best)
	}
	require.Equal(t, greedy, append([]int32(nil), row...), "greedy tokens")
	t.Logf("worst error: logits %.1e; %d greedy tokens equal", worst, len(greedy)-prompt)
}

func gpt2Links(c models.Spec) []link {
	d, hidden := c.Width(), c.FeedForwardShape().Hidden
	top := func(theirs, ours string, strides ...int) link {
		return link{theirs: "transformer." + theirs, ours: ours, strides: strides}
	}
	links := []link{top("wte.weight", "embedding", d, 1), top("wpe.weight", "positions", d, 1),
		top("ln_f.weight", "norm", 1), top("ln_f.bias", "norm_bias", 1)}
	for l := range c.Layers {
		h, a, f := fmt.Sprintf("h.%d.", l), fmt.Sprintf("blocks.%d.attention.", l), fmt.Sprintf("blocks.%d.feedforward.", l)
		links = append(links,
			top(h+"ln_1.weight", a+"norm", 1), top(h+"ln_1.bias", a+"norm_bias", 1),
			top(h+"attn.c_attn.weight", a+"qkv", 3*d, 1), top(h+"attn.c_attn.bias", a+"qkv_bias", 1),
			top(h+"attn.c_proj.weight", a+"o", d, 1), top(h+"attn.c_proj.bias", a+"o_bias", 1),
			top(h+"ln_2.weight", f+"norm", 1), top(h+"ln_2.bias", f+"norm_bias", 1),
			top(h+"mlp.c_fc.weight", f+"w1", hidden, 1), top(h+"mlp.c_fc.bias", f+"w1_bias", 1),
			top(h+"mlp.c_proj.weight", f+"w2", d, 1), top(h+"mlp.c_proj.bias", f+"w2_bias", 1))
	}
	return links
}
