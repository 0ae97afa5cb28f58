package pretrained_test

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/generate"
	"github.com/residua-go/residua/pretrained"
)

// openFS saves a model that gives all tokens the same probability, and opens it from a file system.
func openFS(t *testing.T) *pretrained.Model {
	store, d := smallModel(t, nil)
	path := filepath.Join(t.TempDir(), "model.safetensors")
	require.NoError(t, pretrained.Save(path, store, d))
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	m, err := pretrained.OpenFS(fstest.MapFS{"models/small.safetensors": {Data: content}}, "models/small.safetensors")
	require.NoError(t, err)
	t.Cleanup(m.Close)
	return m
}

// TestModelOfAFileSystem: the model equals that of the file; where a path of a file is needed, it
// is refused.
func TestModelOfAFileSystem(t *testing.T) {
	m := openFS(t)
	_, d := smallModel(t, nil)
	assert.Equal(t, d.Spec, m.Spec)
	assert.Equal(t, d.Data, m.Data)

	files := fstest.MapFS{"a/torn.safetensors": {Data: []byte("torn")}}
	for name, want := range map[string]string{"none": "open none: file does not exist", "a": "a: want a regular file, got a folder",
		"a/torn.safetensors": "a/torn.safetensors: 4 bytes are too few for a safetensors file: truncated, or another format"} {
		_, err := pretrained.OpenFS(files, name)
		assert.EqualError(t, err, want)
	}
}

// TestGenerateInSeveralGoroutines: each call returns the text for its seed.
func TestGenerateInSeveralGoroutines(t *testing.T) {
	m := openFS(t)
	request := func(i int) generate.Request {
		return generate.Request{Tokens: 8, Temperature: 1, Seed: uint64(i), LogitBias: map[int32]float64{256: -100}}
	}
	texts := make([]string, 6)
	var all sync.WaitGroup
	for i := range texts {
		all.Go(func() {
			var err error
			texts[i], err = m.Generate(context.Background(), "ab", request(i))
			assert.NoError(t, err)
		})
	}
	all.Wait()
	g, err := m.Generator(generate.Options{Threads: 1})
	require.NoError(t, err)
	defer g.Close()
	for i, text := range texts {
		r := request(i)
		r.Prompt = "ab"
		var alone strings.Builder
		_, err := g.Generate(context.Background(), r, func(p generate.Piece) error {
			alone.WriteString(p.Text)
			return nil
		})
		require.NoError(t, err)
		assert.Equal(t, alone.String(), text)
		assert.NotEmpty(t, text)
	}
}

// TestGenerateFillsTheWindow if no number of tokens is given; a prompt that fills the window gets
// one token, a longer one is refused.
func TestGenerateFillsTheWindow(t *testing.T) {
	m := openFS(t) // a window of 12 tokens; of tokens with equal probability the likeliest is byte 0
	for prompt, want := range map[string]int{"": 11, "abc": 8, "eleven char": 1} {
		text, err := m.Generate(context.Background(), prompt, generate.Request{})
		require.NoError(t, err)
		assert.Equal(t, strings.Repeat("\x00", want), text, prompt)
	}
	_, err := m.Generate(context.Background(), "twelve chars", generate.Request{})
	var long *generate.WindowError
	assert.ErrorAs(t, err, &long)
	_, err = m.Generate(context.Background(), "a", generate.Request{Prompt: "b"})
	setting("prompt")(t, err)
}

// TestGenerateIsCancelled before it begins, and while another call is running.
func TestGenerateIsCancelled(t *testing.T) {
	m := openFS(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	text, err := m.Generate(ctx, "a", generate.Request{Tokens: 4})
	assert.ErrorIs(t, err, context.Canceled)
	assert.Empty(t, text)

	long, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() {
		_, err := m.Generate(long, "a", generate.Request{Tokens: min(1<<40, math.MaxInt)})
		ended <- err
	}()
	_, err = m.Generate(ctx, "a", generate.Request{Tokens: 4})
	assert.ErrorIs(t, err, context.Canceled)
	stop()
	assert.ErrorIs(t, <-ended, context.Canceled)
}
