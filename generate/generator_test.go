package generate_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/generate"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/stream"
)

const bos = 256

// tiny returns the config of a byte-level model with 2 blocks and rows of 12 tokens.
func tiny(positions string) models.Config {
	return models.Config{Layers: 2, Stream: stream.MatrixConfig{Dk: 5, Dv: 6, Rank: 3}, FeedForward: layers.GELUConfig{Hidden: 14}, Vocab: 257, Seq: 12,
		Attention: models.Attention{Positions: positions, InverseLayerScaling: true}, BOS: bos}
}

func tinyVector(positions string) models.Config {
	c := models.Transformer(2, 16, 24, 2)
	c.Vocab, c.Seq, c.BOS, c.Bias, c.Attention.Positions = 257, 12, bos, true, positions
	return c
}

// resolved returns the model that a config describes.
func resolved(t *testing.T, c models.Config) models.Spec {
	t.Helper()
	spec, err := c.Resolve()
	require.NoError(t, err)
	return spec
}

func bytesTokenizer(t *testing.T) data.Tokenizer {
	tokenizer, err := data.NewTokenizer("bytes")
	require.NoError(t, err)
	return tokenizer
}

// freshStore returns a model's initial values, whose unembedding is zero, so that every token is
// equally likely after any other.
func freshStore(t *testing.T, c models.Config) *graph.Store {
	store := graph.NewStore(tensor.Float32, 1)
	_, err := models.New(gorgonia.NewGraph(), resolved(t, c), graph.Options{Store: store})
	require.NoError(t, err)
	return store
}

// wildStore returns values large enough that every part of the model matters. The logit of BOS is
// 0, so that greedy generation never ends a document.
func wildStore(t *testing.T, c models.Config) *graph.Store {
	store := freshStore(t, c)
	draw := rand.New(rand.NewPCG(7, 8))
	for _, p := range store.Params() {
		values := graph.Float64s(p.Value)
		for i := range values {
			values[i] = p.Init.Offset + 0.5*draw.NormFloat64()
			if p.Name == "unembedding" && i%c.Vocab == bos {
				values[i] = 0
			}
		}
		require.NoError(t, graph.SetFloat64s(p.Value, values))
	}
	return store
}

func newGenerator(t *testing.T, store *graph.Store, c models.Config, o generate.Options) *generate.Generator {
	o.Threads = 2
	g, err := generate.New(store, resolved(t, c), bytesTokenizer(t), o)
	require.NoError(t, err)
	t.Cleanup(g.Close)
	return g
}

// run runs a request and returns the text and the result.
func run(t *testing.T, g *generate.Generator, r generate.Request) (string, generate.Result) {
	var text strings.Builder
	result, err := g.Generate(context.Background(), r, func(piece generate.Piece) error {
		assert.True(t, utf8.ValidString(piece.Text), "%q", piece.Text)
		text.WriteString(piece.Text)
		return nil
	})
	require.NoError(t, err)
	return text.String(), result
}

// recompute returns the likeliest token after a row, from a program without a cache.
func recompute(t *testing.T, store *graph.Store, c models.Config, row []int32) int32 {
	var logits *gorgonia.Node
	p, err := graph.Compile(graph.ProgramOptions{Options: graph.Options{Store: store, Threads: 1}}, func(b *graph.Builder) (graph.Roots, error) {
		m, err := models.On(b, resolved(t, c))
		require.NoError(t, err)
		logits = m.Logits(m.Forward(b.Input("row", tensor.Int32, 1, len(row)))) // [len(row), vocab]
		return graph.Roots{Outputs: gorgonia.Nodes{logits}}, m.Err()
	})
	require.NoError(t, err)
	defer p.Close()
	copy(p.Ints("row"), row)
	require.NoError(t, p.Run(graph.RunOptions{}))
	last := logits.Value().(*tensor.Dense).Float32s()[(len(row)-1)*c.Vocab:]
	best := 0
	for i, l := range last {
		if l > last[best] {
			best = i
		}
	}
	return int32(best)
}

// greedy continues a row of ids by running the whole row again for every token. It is an
// independent form of what a Generator does.
func greedy(t *testing.T, store *graph.Store, c models.Config, row []int32, window, tokens int) (string, []int32) {
	row = row[max(0, len(row)-window):]
	var ids []int32
	for range tokens {
		id := recompute(t, store, c, row)
		ids = append(ids, id)
		row = append(append([]int32(nil), row...), id)
		if len(row) > window {
			row = row[len(row)-max(1, window/2):]
		}
	}
	return string([]rune(bytesTokenizer(t).Decode(ids))), ids
}

// timeless returns the result without the fields that differ between two runs.
func timeless(r generate.Result) generate.Result {
	r.Time = 0
	return r
}

func rowOf(t *testing.T, prompt string) []int32 {
	return bytesTokenizer(t).Encode([]int32{bos}, prompt)
}

// TestCachedIsRecomputed compares a Generator with greedy for every kind of positions, past the end
// of the window.
func TestCachedIsRecomputed(t *testing.T) {
	masked := tiny(models.PositionsALiBi)
	masked.MaskDocuments = true
	for _, c := range []struct {
		name   string
		config models.Config
		window int
	}{
		{"matrix, learned", tiny(models.PositionsLearned), 0},
		{"matrix, learned, short", tiny(models.PositionsLearned), 5},
		{"matrix, ALiBi", tiny(models.PositionsALiBi), 14},
		{"matrix, documents", masked, 9},
		{"vector, RoPE", tinyVector(models.PositionsRoPE), 0},
		{"vector, none", tinyVector(models.PositionsNone), 0},
		{"one token", tinyVector(models.PositionsLearned), 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			store := wildStore(t, c.config)
			g := newGenerator(t, store, c.config, generate.Options{Window: c.window})
			for _, prompt := range []string{"", "ab", "a prompt longer than the window"} {
				text, result := run(t, g, generate.Request{Prompt: prompt, Tokens: 20, Slide: true})
				wantText, ids := greedy(t, store, c.config, rowOf(t, prompt), g.Window(), 20)
				assert.Equal(t, wantText, text, "%q", prompt)
				assert.Positive(t, result.Time)
				want := generate.Result{PromptTokens: len(prompt) + 1, PromptIDs: rowOf(t, prompt), Tokens: 20, IDs: ids, Stop: generate.StopTokens}
				assert.Equal(t, want, timeless(result))
			}
		})
	}
}

func TestTextsDependOnTheirPast(t *testing.T) {
	c := tiny(models.PositionsALiBi)
	g := newGenerator(t, wildStore(t, c), c, generate.Options{})
	a, _ := run(t, g, generate.Request{Prompt: "ab", Tokens: 12})
	b, _ := run(t, g, generate.Request{Prompt: "bb", Tokens: 12})
	assert.NotEqual(t, a, b)
}

func TestSameSeedSameText(t *testing.T) {
	c := tiny(models.PositionsALiBi)
	store := wildStore(t, c)
	g := newGenerator(t, store, c, generate.Options{})
	r := generate.Request{Prompt: "x", Tokens: 60, Temperature: 1.5, TopK: 50, TopP: 0.95, Seed: 11}
	first, _ := run(t, g, r)
	again, _ := run(t, g, r)
	other, _ := run(t, newGenerator(t, store, c, generate.Options{}), r)
	assert.Equal(t, first, again)
	assert.Equal(t, first, other)
	r.Seed = 12
	changed, _ := run(t, g, r)
	assert.NotEqual(t, first, changed)
	r.TopK = 1
	likeliest, _ := run(t, g, r)
	plain, _ := run(t, g, generate.Request{Prompt: "x", Tokens: 60})
	assert.Equal(t, plain, likeliest)
}

func TestDefaultWindow(t *testing.T) {
	for positions, want := range map[string]int{models.PositionsLearned: 12, models.PositionsRoPE: 12, models.PositionsNone: 12, models.PositionsALiBi: 48} {
		c := tinyVector(positions)
		assert.Equal(t, want, newGenerator(t, freshStore(t, c), c, generate.Options{}).Window(), positions)
	}
}

// TestDocumentEnds samples from a model with equal logits: BOS ends the document, and the bytes
// before it are mostly invalid UTF-8.
func TestDocumentEnds(t *testing.T) {
	c := tinyVector(models.PositionsNone)
	g := newGenerator(t, freshStore(t, c), c, generate.Options{})
	text, result := run(t, g, generate.Request{Tokens: 5000, Temperature: 1, Seed: 2})
	assert.Equal(t, generate.StopDocument, result.Stop)
	assert.Less(t, result.Tokens, 5000)
	assert.GreaterOrEqual(t, utf8.RuneCountInString(text), result.Tokens/4)
	shorter, cut := run(t, g, generate.Request{Tokens: result.Tokens, Temperature: 1, Seed: 2})
	assert.Equal(t, text, shorter, "the same tokens, ended by their number")
	assert.Equal(t, generate.StopTokens, cut.Stop)
}

func TestEchoAndNoTokens(t *testing.T) {
	c := tiny(models.PositionsALiBi)
	g := newGenerator(t, wildStore(t, c), c, generate.Options{})
	text, result := run(t, g, generate.Request{Prompt: "dé", Echo: true})
	assert.Equal(t, "dé", text)
	assert.Equal(t, generate.Result{PromptTokens: 4, PromptIDs: rowOf(t, "dé"), Stop: generate.StopTokens}, timeless(result))
	alone, _ := run(t, g, generate.Request{Prompt: "dé", Tokens: 9})
	with, _ := run(t, g, generate.Request{Prompt: "dé", Tokens: 9, Echo: true})
	assert.Equal(t, "dé"+alone, with)
}

// TestCharactersAcrossThePromptsEnd looks for a seed that completes the character that the prompt
// begins.
func TestCharactersAcrossThePromptsEnd(t *testing.T) {
	c := tinyVector(models.PositionsNone)
	g := newGenerator(t, freshStore(t, c), c, generate.Options{})
	prompt := "5 \xe2\x82" // two of the three bytes of the euro sign
	for seed := range uint64(4000) {
		r := generate.Request{Prompt: prompt, Tokens: 1, Temperature: 1, Seed: seed}
		text, _ := run(t, g, r)
		if text != "€" {
			continue
		}
		r.Echo = true
		text, _ = run(t, g, r)
		assert.Equal(t, "5 €", text)
		return
	}
	t.Fatal("no seed draws the sign's last byte")
}

func TestCancelledAndFailing(t *testing.T) {
	c := tiny(models.PositionsALiBi)
	g := newGenerator(t, wildStore(t, c), c, generate.Options{})
	ctx, cancel := context.WithCancel(context.Background())
	pieces := 0
	result, err := g.Generate(ctx, generate.Request{Prompt: "q", Tokens: 1000}, func(generate.Piece) error {
		if pieces++; pieces == 5 {
			cancel()
		}
		return nil
	})
	assert.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, generate.StopError, result.Stop)
	assert.Less(t, result.Tokens, 30)

	full := errors.New("disk full")
	_, err = g.Generate(context.Background(), generate.Request{Tokens: 10}, func(generate.Piece) error { return full })
	assert.ErrorIs(t, err, full)

	text, _ := run(t, g, generate.Request{Prompt: "q", Tokens: 5})
	fresh, _ := run(t, newGenerator(t, wildStore(t, c), c, generate.Options{}), generate.Request{Prompt: "q", Tokens: 5})
	assert.Equal(t, fresh, text, "an ended text leaves nothing behind")
}

func TestDivergedModel(t *testing.T) {
	c := tiny(models.PositionsALiBi)
	store := wildStore(t, c)
	store.Params()[0].Value.Float32s()[bos*resolved(t, c).Width()] = float32(inf())
	_, err := newGenerator(t, store, c, generate.Options{}).Generate(context.Background(), generate.Request{Tokens: 3}, nil)
	assert.ErrorIs(t, err, models.ErrDiverged)
}
