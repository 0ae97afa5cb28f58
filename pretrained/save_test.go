package pretrained_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/pretrained"
)

// smallModel returns a model made by a program, with its description.
func smallModel(t *testing.T, change func(*models.Config)) (*graph.Store, pretrained.Description) {
	c := models.Transformer(2, 16, 24, 2)
	c.Vocab, c.BOS, c.Seq = 257, 256, 12
	if change != nil {
		change(&c)
	}
	store := graph.NewStore(tensor.Float32, 1)
	d := pretrained.Description{Spec: resolved(t, c)}
	_, err := models.New(gorgonia.NewGraph(), d.Spec, graph.Options{Store: store})
	require.NoError(t, err)
	d.Data.Tokenizer = "bytes"
	return store, d
}

// TestSavedModelIsThatOfTheRun: the file that a program saves has the same bytes as the one saved
// by the run that trained the model.
func TestSavedModelIsThatOfTheRun(t *testing.T) {
	p, _ := train(t, write(t, "text.txt", lines(120)), "train.steps=2", "train.eval_every=0")
	want, err := os.ReadFile(p.Source.ModelPath)
	require.NoError(t, err)

	path := filepath.Join(t.TempDir(), "copy.safetensors")
	require.NoError(t, pretrained.Save(path, p.Store, p.Description))
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, want, got)
}

// TestSavedModelIsOpened: config, tokenizer and parameters are read back.
func TestSavedModelIsOpened(t *testing.T) {
	store, d := smallModel(t, nil)
	path := filepath.Join(t.TempDir(), "model.safetensors")
	require.NoError(t, pretrained.Save(path, store, d))
	p, err := pretrained.Open(path)
	require.NoError(t, err)
	require.Equal(t, d.Spec, p.Spec)
	tokenizer, err := p.Tokenizer()
	require.NoError(t, err)
	require.Equal(t, "bytes", tokenizer.Name())
	for _, param := range store.Params() {
		require.Equal(t, param.Value.Data(), p.Store.Param(param.Name).Value.Data(), param.Name)
	}

	d.Data.Tokenizer = ""
	require.NoError(t, pretrained.Save(path, store, d))
	p, err = pretrained.Open(path)
	require.NoError(t, err)
	_, err = p.Tokenizer()
	require.ErrorIs(t, err, pretrained.ErrNoTokenizer)
}

// TestModelThatCannotBeOpenedIsNotSaved: Save refuses it and changes neither an earlier file nor
// the Store.
func TestModelThatCannotBeOpenedIsNotSaved(t *testing.T) {
	store, d := smallModel(t, nil)
	deeper, _ := smallModel(t, func(c *models.Config) { c.Layers = 3 })
	wider, _ := smallModel(t, func(c *models.Config) { c.FeedForward, c.Layers = hidden(40), 1 })
	dir := t.TempDir()
	path := filepath.Join(dir, "model.safetensors")
	require.NoError(t, os.WriteFile(path, []byte("earlier"), 0o644))
	for _, c := range []struct {
		name   string
		store  *graph.Store
		change func(*pretrained.Description)
		want   check
	}{
		{"no store", nil, nil, is(models.ErrNoParameters)},
		{"empty store", graph.NewStore(tensor.Float32, 0), nil, is(models.ErrNoParameters)},
		{"float64", float64Store(t, d.Spec), nil, says("want a store of float32, got float64")},
		{"deeper model's store", deeper, nil, is(pretrained.ErrOtherModel)},
		{"wider model's store", wider, nil, is(pretrained.ErrOtherModel)},
		{"no model", store, func(d *pretrained.Description) { d.Spec = models.Spec{} }, says("want a description with the model's Spec")},
		{"unknown tokenizer", store, func(d *pretrained.Description) { d.Data.Tokenizer = "words" }, says(`data.tokenizer: want one of bytes, gpt2 or the path of a tokenizer.json, got "words"`)},
		{"large tokenizer", store, func(d *pretrained.Description) { d.Data.Tokenizer = "gpt2" }, vocabulary(50257, 257)},
	} {
		t.Run(c.name, func(t *testing.T) {
			own := d
			if c.change != nil {
				c.change(&own)
			}
			parameters := 0
			if c.store != nil {
				parameters = len(c.store.Params())
			}
			err := pretrained.Save(path, c.store, own)
			require.ErrorContains(t, err, path+": cannot save the model: ")
			c.want(t, err)
			if c.store != nil {
				require.Len(t, c.store.Params(), parameters)
			}
			content, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, "earlier", string(content))
		})
	}
	require.ErrorIs(t, pretrained.Save(filepath.Join(dir, "none", "m.safetensors"), store, d), os.ErrNotExist)
}

func float64Store(t *testing.T, spec models.Spec) *graph.Store {
	store := graph.NewStore(tensor.Float64, 1)
	_, err := models.New(gorgonia.NewGraph(), spec, graph.Options{Store: store, DType: tensor.Float64})
	require.NoError(t, err)
	return store
}

// TestModelTrainedByGorgoniaIsSaved: changes by a stock solver are saved.
func TestModelTrainedByGorgoniaIsSaved(t *testing.T) {
	g := gorgonia.NewGraph()
	c := models.Transformer(1, 8, 12, 2)
	c.Vocab, c.Seq = 20, 6
	m, err := models.New(g, resolved(t, c), graph.Options{})
	require.NoError(t, err)
	tokens := gorgonia.NewMatrix(g, tensor.Int32, gorgonia.WithShape(1, 6), gorgonia.WithName("tokens"))
	targets := gorgonia.NewMatrix(g, tensor.Int32, gorgonia.WithShape(1, 6), gorgonia.WithName("targets"))
	loss := m.Loss(m.Forward(tokens), targets, models.Auxiliary{})
	require.NoError(t, m.Err())
	_, err = gorgonia.Grad(loss, m.Learnables()...)
	require.NoError(t, err)
	ids := tensor.New(tensor.WithShape(1, 6), tensor.WithBacking([]int32{1, 2, 3, 4, 5, 6}))
	require.NoError(t, gorgonia.Let(tokens, ids))
	require.NoError(t, gorgonia.Let(targets, ids))
	before := slices.Clone(m.Store().Param("unembedding").Value.Float32s())

	vm := gorgonia.NewTapeMachine(g)
	defer func() { _ = vm.Close() }()
	require.NoError(t, vm.RunAll())
	require.NoError(t, gorgonia.NewAdamSolver().Step(gorgonia.NodesToValueGrads(m.Learnables())))

	path := filepath.Join(t.TempDir(), "model.safetensors")
	require.NoError(t, pretrained.Save(path, m.Store(), pretrained.Description{Spec: m.Spec()}))
	p, err := pretrained.Open(path)
	require.NoError(t, err)
	for _, n := range m.Learnables() {
		require.Equal(t, n.Value().Data(), p.Store.Param(n.Name()).Value.Data(), n.Name())
	}
	require.NotEqual(t, before, p.Store.Param("unembedding").Value.Float32s())
}
