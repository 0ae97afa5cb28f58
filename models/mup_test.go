package models_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/optim"
	"github.com/residua-go/residua/stream"
)

// officialParameter holds the values that the authors' code has for one parameter.
type officialParameter struct {
	Name       string  `json:"name"`
	Multiplier float64 `json:"multiplier"` // of the parameter's product; norms ignore theirs
	Type       string  `json:"type"`       // input | hidden | output
	WidthRatio float64 `json:"width_ratio"`
	Decay      bool    `json:"weight_decay"`
}

// TestMuPOfOfficialParameters compares the learning rate divisor, decay and multiplier of every
// parameter with the authors' code: only the rates of hidden parameters are divided.
func TestMuPOfOfficialParameters(t *testing.T) {
	for name, read := range map[string]func(*testing.T, *reference){
		"rmt-official": readOfficialRMT, "rmt-official-mup": readOfficialRMT,
		"transformer-official": readOfficialTransformer, "transformer-official-mup": readOfficialTransformer,
	} {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("..", "testdata", "reference", name, "expected.json"))
			require.NoError(t, err)
			var file struct {
				Parameters []officialParameter `json:"parameters"`
			}
			require.NoError(t, json.Unmarshal(text, &file))
			r := &reference{}
			require.NoError(t, json.Unmarshal(text, &r.expected))
			read(t, r)
			checkOfficialRates(t, r, file.Parameters)
			checkOfficialMultipliers(t, modeltest.Resolve(t, r.config), file.Parameters)
		})
	}
}

func checkOfficialRates(t *testing.T, r *reference, official []officialParameter) {
	const peak = 0.5
	store := modeltest.NewStore(t, modeltest.Resolve(t, r.config), tensor.Float32, 0)
	o, err := optim.New(store, 1, optim.Rate(peak, optim.Constant{}), optim.MuP())
	require.NoError(t, err)
	defer o.Close()
	rates := map[string]float64{}
	for _, row := range o.Table() {
		rates[row.Param.Name] = row.Rate
	}
	checked := map[string]bool{}
	for _, theirs := range official {
		divisor := 1.0
		if theirs.Type == "hidden" {
			divisor = theirs.WidthRatio
		}
		for _, name := range ourNames(t, r, theirs.Name) {
			require.NotNil(t, store.Param(name), name)
			checked[name] = true
			assert.Equal(t, theirs.Decay, store.Param(name).Decay, "decay of %q", name)
			assert.Equal(t, peak/divisor, rates[name], "rate of %q", name)
		}
	}
	assert.Len(t, checked, len(store.Params()), "every parameter of ours is theirs too")
}

// ourNames lists the parameters of ours that correspond to one of theirs.
func ourNames(t *testing.T, r *reference, theirs string) []string {
	for _, l := range r.weights {
		if l.theirs == theirs && l.layers {
			var names []string
			for layer := range r.config.Layers {
				names = append(names, fmt.Sprintf(l.ours, layer))
			}
			return names
		}
		if l.theirs == theirs {
			return []string{l.ours}
		}
	}
	require.Fail(t, "no link", theirs)
	return nil
}

// checkOfficialMultipliers measures the factors of the embedding and the unembedding.
func checkOfficialMultipliers(t *testing.T, spec models.Spec, official []officialParameter) {
	want := map[string]float64{}
	for _, p := range official {
		want[strings.TrimSuffix(p.Name, ".param")] = p.Multiplier
	}
	store := modeltest.PerturbedStore(t, spec, tensor.Float64)
	p := modeltest.Compile(t, spec, store, modeltest.Setup{Rows: 1, Hooks: graph.Hooks{"embedding.out": nil}})
	b := modeltest.RandomBatch(spec, 1, spec.Seq, 1)
	r := p.On(t, b, graph.RunOptions{})
	state, err := p.Hooked("embedding.out")
	require.NoError(t, err)

	table, logit, width := store.Param("embedding").Value.Float64s(), 0.0, spec.Width()
	row := table[int(b.Inputs[0])*width:][:width] // token 0
	embedded := row[0]
	if keys := store.Param("write_embedding"); keys != nil { // X_0[0, 0] = sum_h w[h, 0] e[h, 0]
		m := spec.Stream.(stream.MatrixConfig)
		embedded = 0
		for h := range m.Rank {
			embedded += keys.Value.Float64s()[h*m.Dk] * row[h*m.Dv]
		}
	}
	assert.InEpsilon(t, want["embedding"], state.Float64s()[0]/embedded, 1e-12, "multiplier of the embedding")
	unembedding := store.Param("unembedding").Value.Float64s()
	for f := range width {
		logit += r.Features[f] * unembedding[f*spec.Vocab]
	}
	assert.InEpsilon(t, want["unembedding"], r.Logits[0]/logit, 1e-12, "multiplier of the unembedding")
}
