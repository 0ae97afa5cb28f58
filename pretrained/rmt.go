package pretrained

import (
	"path/filepath"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/internal/regular"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/runconfig"
)

// rmtLayout is the format of the RMT authors' released code: weights, and a description of them.
type rmtLayout struct{}

// rmtWeights and rmtFile are the format's files.
const (
	rmtWeights = "weights.safetensors"
	rmtFile    = "rmt.json"
)

// Name returns "rmt".
func (rmtLayout) Name() string { return "rmt" }

// Wants describes the folder.
func (rmtLayout) Wants() string {
	return "a folder in the RMT authors' layout (with weights.safetensors and rmt.json)"
}

// Recognises tells whether the folder has the weights and their description.
func (rmtLayout) Recognises(path string) bool {
	return holds(path, rmtWeights) && holds(path, rmtDescribed(path))
}

// rmtDescribed returns the file in a folder that describes the weights: rmtFile or, if it is
// missing, expected.json, as in folders of reference numbers.
func rmtDescribed(folder string) string {
	if holds(folder, rmtFile) {
		return rmtFile
	}
	return "expected.json"
}

// The kinds of models in the code released by the RMT's authors (Mak & Flanigan 2025).
const (
	kindRMT         = "official-rmt"
	kindTransformer = "official-transformer"
)

// rmtDescription is the content of the file next to weights in the layout of the RMT authors' code.
type rmtDescription struct {
	Kind      string    `json:"kind"`
	Config    rmtConfig `json:"config"`
	Seq       int       `json:"seq"`
	BOS       int       `json:"bos"`
	Tokenizer string    `json:"tokenizer,omitempty"` // an addition of ours; the authors' code takes token ids
}

// rmtConfig uses the names of the authors' code. A size of the base model that is 0 means the
// model's own size; a multiplier that is 0 means 1.
type rmtConfig struct {
	Vocab  int     `json:"vocab_size"`
	Layers int     `json:"n_layers"`
	Hidden int     `json:"n_neurons"`
	Eps    float64 `json:"rmsnorm_eps"`

	Rank int `json:"rank,omitempty"`
	Dk   int `json:"reskey_dim,omitempty"`
	Dv   int `json:"resval_dim,omitempty"`

	DModel  int `json:"embed_dim,omitempty"`
	Heads   int `json:"n_heads,omitempty"`
	HeadDim int `json:"head_dim,omitempty"`

	BaseHidden  int `json:"base_n_neurons,omitempty"`
	BaseRank    int `json:"base_rank,omitempty"`
	BaseDk      int `json:"base_reskey_dim,omitempty"`
	BaseDv      int `json:"base_resval_dim,omitempty"`
	BaseDModel  int `json:"base_embed_dim,omitempty"`
	BaseHeads   int `json:"base_n_heads,omitempty"`
	BaseHeadDim int `json:"base_head_dim,omitempty"`

	Input     float64 `json:"input_multiplier,omitempty"`
	Output    float64 `json:"output_multiplier,omitempty"`
	Attention float64 `json:"attn_multiplier,omitempty"`
}

// model returns the model that a description describes: with RMSNorm, ALiBi, logits of attention
// divided by the block's number, and attention inside documents, without biases, and untied.
func (d rmtDescription) model() (models.Spec, error) {
	c := d.Config
	var m, base models.Config
	switch d.Kind {
	case kindRMT:
		m, base = models.RMT(c.Layers, c.Dk, c.Dv, c.Rank, c.Hidden), models.RMT(1, c.BaseDk, c.BaseDv, c.BaseRank, c.BaseHidden)
	case kindTransformer:
		m, base = models.Transformer(c.Layers, c.DModel, c.Hidden, c.Heads), models.Transformer(1, c.BaseDModel, c.BaseHidden, c.BaseHeads)
		m.Attention.HeadDim = c.HeadDim
	default:
		return models.Spec{}, layers.Setting("kind", "want %s or %s, got %q", kindRMT, kindTransformer, d.Kind)
	}
	m.Vocab, m.Seq, m.Norm, m.NormEps = c.Vocab, d.Seq, models.NormRMS, c.Eps
	m.Attention.Positions, m.Attention.InverseLayerScaling, m.MaskDocuments, m.BOS = models.PositionsALiBi, true, true, d.BOS
	m.MuP = &models.MuP{InputMultiplier: c.Input, OutputMultiplier: c.Output, AttnMultiplier: c.Attention,
		Base: models.MuPBase{Stream: base.Stream, FeedForward: base.FeedForward, Attention: models.BaseHeads{Heads: c.BaseHeads, HeadDim: c.BaseHeadDim}}}
	if c.plain() {
		m.MuP = nil
	}
	return m.Resolve()
}

// plain tells whether a config has no muP settings.
func (c rmtConfig) plain() bool {
	return c.BaseHidden+c.BaseRank+c.BaseDk+c.BaseDv+c.BaseDModel+c.BaseHeads+c.BaseHeadDim == 0 && c.Input == 0 && c.Output == 0 && c.Attention == 0
}

// Import reads a folder in this layout.
func (rmtLayout) Import(_ models.Zoo, folder string) (*Model, error) {
	path := filepath.Join(folder, rmtDescribed(folder))
	text, err := regular.Read(path, maxRMTDescription)
	if err != nil {
		return nil, err
	}
	m := &Model{}
	m.Source.ModelPath = filepath.Join(folder, rmtWeights)
	var d rmtDescription
	if err = unmarshal(text, &d); err == nil {
		m.Spec, err = d.model()
	}
	if err != nil {
		return nil, errors.Wrap(err, path)
	}
	m.Data = runconfig.Data{TextField: runconfig.Defaults().Data.TextField, Tokenizer: d.Tokenizer}
	file, err := checkpoint.ReadTensors(m.Source.ModelPath)
	if err != nil {
		return nil, err
	}
	if m.Store, err = d.architecture().store(m.Spec, file.Tensors); err != nil {
		return nil, errors.Wrap(err, m.Source.ModelPath)
	}
	return m, nil
}

// maxRMTDescription bounds the size of a description; those of references with numbers from
// training take 100,000 bytes.
const maxRMTDescription = 16 << 20

// Format says that the format is a folder.
func (rmtLayout) Format() Format {
	return Format{Help: "a folder with the parameters as the RMT authors' code lays them out (weights.safetensors, rmt.json)", Folder: true,
		Files: []string{rmtFile, rmtWeights}}
}

// Export writes rmtWeights (F32), with the authors' names and axes, and rmtFile with kind, config,
// seq and bos. If the authors' code cannot compute the model, the error names the option.
func (rmtLayout) Export(m *Model, folder string, o ExportOptions) (notes []string, err error) {
	d, err := m.describeRMT()
	if err != nil {
		return nil, err
	}
	if data.IsTokenizerFile(m.Data.Tokenizer) {
		notes = append(notes, "this layout has no place for the tokenizer of "+m.Data.Tokenizer+": what reads it takes token ids")
	}
	tensors, err := d.architecture().write(m)
	if err != nil {
		return nil, err
	}
	return notes, o.Disk.WriteFolder(folder, o.Replace, jsonFile(rmtFile, d), tensorsFile(rmtWeights, tensors, nil))
}

// describeRMT returns the model's description, or an error if it would not be read back as the
// same model.
func (m *Model) describeRMT() (rmtDescription, error) {
	c := m.Spec
	d := rmtDescription{Kind: kindTransformer, Seq: c.Seq, BOS: c.BOS, Tokenizer: m.Data.Tokenizer}
	if c.Stream.Name() == matrixStream() {
		d.Kind = kindRMT
	}
	if c.Stream.Name() != matrixStream() && c.Stream.Name() != vectorStream() {
		return d, errors.Errorf("rmt: model.stream.kind: want %s or %s, got %s", matrixStream(), vectorStream(), c.Stream.Name())
	}
	if !c.MaskDocuments {
		return d, errors.New("rmt: data.mask_documents: want true, as the authors' code attends, got false")
	}
	if err := checkNoSeparator(c); err != nil {
		return d, errors.Wrap(err, "rmt")
	}
	if data.IsTokenizerFile(d.Tokenizer) {
		d.Tokenizer = "" // a tokenizer in another folder
	}
	d.Config = rmtSizes(c)
	own, err := d.model()
	if err == nil {
		err = own.SameModel(c)
	}
	return d, errors.Wrap(err, "rmt")
}

// rmtSizes returns a model's sizes under the authors' names.
func rmtSizes(spec models.Spec) rmtConfig {
	r := rmtConfig{Vocab: spec.Vocab, Layers: spec.Layers, Eps: spec.NormEps}
	for key, size := range map[string]*int{
		"feedforward.hidden": &r.Hidden, "stream.rank": &r.Rank, "stream.dk": &r.Dk, "stream.dv": &r.Dv, "stream.d_model": &r.DModel, "attention.heads": &r.Heads,
		"mup.base.feedforward.hidden": &r.BaseHidden, "mup.base.stream.rank": &r.BaseRank, "mup.base.stream.dk": &r.BaseDk, "mup.base.stream.dv": &r.BaseDv,
		"mup.base.stream.d_model": &r.BaseDModel, "mup.base.attention.heads": &r.BaseHeads, "mup.base.attention.head_dim": &r.BaseHeadDim,
	} {
		*size, _ = spec.Size(key) // 0 for a size that the model does not have
	}
	if m := spec.MuP; m != nil {
		r.Input, r.Output, r.Attention = m.InputMultiplier, m.OutputMultiplier, m.AttnMultiplier
	}
	if r.DModel > 0 {
		r.HeadDim = spec.HeadDim()
	}
	return r
}
