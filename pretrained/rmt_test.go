package pretrained_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/pretrained"
)

// official lists the folders that the RMT authors' code wrote.
func official() []string {
	return []string{"rmt-official", "rmt-official-documents", "rmt-official-mup", "transformer-official", "transformer-official-mup"}
}

// TestOpenRMT: a folder of the authors' code gives their logits, also inside documents.
func TestOpenRMT(t *testing.T) {
	for _, name := range official() {
		m := open(t, reference(name))
		require.Equal(t, checkpoint.Kind("rmt"), m.Source.Kind)
		batch := readForeign(t, name, "batch.safetensors")
		ids, err := batch.Tensor("input_ids")
		require.NoError(t, err)
		tokens, err := ids.Ints()
		require.NoError(t, err)
		logits, err := batch.Tensor("logits")
		require.NoError(t, err)
		want, err := logits.Float32s()
		require.NoError(t, err)
		requireClose(t, want, logitsOf(t, m, tokens, ids.Shape[0]), 2e-5)
	}
}

// TestExportRMT: exporting what the authors' code wrote gives the same bits, also by way of one of
// our files.
func TestExportRMT(t *testing.T) {
	for _, name := range official() {
		dir := t.TempDir()
		file, folder := filepath.Join(dir, "model.safetensors"), filepath.Join(dir, "theirs")
		m := open(t, reference(name))
		require.NoError(t, pretrained.Save(file, m.Store, m.Description))
		m = open(t, file)
		require.NoError(t, exportAs(m, "rmt", folder, pretrained.ExportOptions{}))
		require.ErrorIs(t, exportAs(m, "rmt", folder, pretrained.ExportOptions{}), os.ErrExist)
		byName := func(a, b checkpoint.Tensor) int {
			return map[bool]int{true: -1, false: 1}[a.Name < b.Name]
		}
		want := readForeign(t, name, "weights.safetensors").Tensors
		slices.SortFunc(want, byName)
		got, err := checkpoint.ReadTensors(filepath.Join(folder, "weights.safetensors"))
		require.NoError(t, err)
		slices.SortFunc(got.Tensors, byName)
		require.Equal(t, want, got.Tensors, name)
		back := open(t, folder)
		requireSame(t, m, back, name)
		require.Equal(t, m.Spec, back.Spec, name)
	}
}

// TestExportRMTOurs: a model of ours is read back, with its tokenizer; one that the authors' code
// cannot compute is refused, and the error names its option.
func TestExportRMTOurs(t *testing.T) {
	c := residuals()["rmt as its authors train it"]
	m := made(t, c, "bytes")
	folder := filepath.Join(t.TempDir(), "theirs")
	require.NoError(t, exportAs(m, "rmt", folder, pretrained.ExportOptions{}))
	back := open(t, folder)
	requireSame(t, m, back, "ours")
	require.Equal(t, "bytes", back.Data.Tokenizer)
	for want, change := range map[string]func(*models.Config){
		"rmt: model.norm: want rmsnorm, got layernorm":               func(c *models.Config) { c.Norm = models.NormLayer },
		"rmt: model.attention.positions: want alibi, got rope":       func(c *models.Config) { c.Attention.Positions = models.PositionsRoPE },
		"rmt: model.tie_embeddings: want false, got true":            func(c *models.Config) { c.TieEmbeddings = true },
		"rmt: data.mask_documents: want true":                        func(c *models.Config) { c.MaskDocuments = false },
		"rmt: data.source: want a source without a separator":        func(c *models.Config) { c.Separator = 4 },
		"rmt: model.attention.inverse_layer_scaling: want true, got": func(c *models.Config) { c.Attention.InverseLayerScaling = false },
		"rmt: model.attention.kv_heads: want 4, got 2":               func(c *models.Config) { c.Attention.KVHeads = 2 },
		"rmt: model.loops: want 1, got 2":                            func(c *models.Config) { c.Loops = 2 },
		"rmt: model.logit_softcap: want 0, got 3":                    func(c *models.Config) { c.LogitSoftcap = 3 },
	} {
		changed := c
		change(&changed)
		err := exportAs(made(t, changed, ""), "rmt", filepath.Join(t.TempDir(), "x"), pretrained.ExportOptions{})
		require.ErrorContains(t, err, want)
	}
}

// TestOpenRMTRefuses: a damaged folder is an error in one line.
func TestOpenRMTRefuses(t *testing.T) {
	from := reference("rmt-official")
	for _, c := range []struct{ description, want string }{
		{"{", "rmt.json: want a JSON object"},
		{"{}", `rmt.json: kind: want official-rmt or official-transformer, got ""`},
		{`{"kind":"official-rmt"}`, "rmt.json: model."},
		{`{"kind":"official-rmt","seq":24,"config":{"vocab_size":97,"rank":4,"reskey_dim":6,"resval_dim":8,"n_layers":2,"n_neurons":40,"rmsnorm_eps":1e-6}}`,
			`weights.safetensors: tensor "rmt_stack.stacked.attention.module.norm.param": want shape [2 8 6]`},
	} {
		dir := t.TempDir()
		weights, err := os.ReadFile(filepath.Join(from, "weights.safetensors"))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "weights.safetensors"), weights, 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "rmt.json"), []byte(c.description), 0o600))
		_, err = pretrained.Open(dir)
		require.ErrorContains(t, err, c.want)
	}
}
