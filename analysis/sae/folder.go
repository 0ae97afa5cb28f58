package sae

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"

	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models/check"
)

// The files of SAELens 6's folder, and of Gemma Scope's.
const (
	configFile  = "cfg.json"
	weightsFile = "sae_weights.safetensors"
	scopeFile   = "params.npz"
)

// lensVersion is the version of SAELens whose layout Save writes.
const lensVersion = "6.0.0"

// folderConfig is the content of cfg.json.
type folderConfig struct {
	Config
	Rescale   bool   `json:"rescale_acts_by_decoder_norm"`
	DType     string `json:"dtype"`
	Device    string `json:"device"`
	Normalize string `json:"normalize_activations"`
	Reshape   string `json:"reshape_activations"`
}

// Save writes SAELens 6's folder: cfg.json and sae_weights.safetensors.
func (s *SAE) Save(dir string) error {
	c := folderConfig{Config: s.Config, DType: "float32", Device: "cpu", Normalize: "none", Reshape: "none"}
	if c.Metadata.Lens = lensVersion; !c.Transcodes() {
		c.Out = 0
	}
	text, err := json.MarshalIndent(c, "", "\t")
	if err != nil {
		return errors.WithStack(err)
	}
	var all []checkpoint.Tensor
	for _, p := range s.Store.Params() {
		all = append(all, checkpoint.Tensor{Name: p.Name, Shape: p.Shape, Data: p.Value.Float32s()})
	}
	if err := checkpoint.WriteTensors(filepath.Join(dir, weightsFile), all, nil); err != nil {
		return err
	}
	return checkpoint.Disk{}.WriteFile(filepath.Join(dir, configFile), text)
}

// Open reads SAELens 6's folder or Gemma Scope's params.npz: its path, or that of its folder.
// Features that SAELens rescales by the length of their row of W_dec get rows of length 1 instead.
func Open(path string) (*SAE, error) {
	if s, err := openScope(path); s != nil || err != nil {
		return s, errors.WithMessage(err, path)
	}
	text, err := os.ReadFile(filepath.Join(path, configFile))
	if err != nil {
		return nil, check.Value("sae", "a folder with "+configFile+" and "+weightsFile+", or "+scopeFile, err)
	}
	c := folderConfig{Normalize: "none", Reshape: "none"}
	if err := json.Unmarshal(text, &c); err != nil {
		return nil, errors.Wrap(err, filepath.Join(path, configFile))
	}
	f, err := checkpoint.ReadTensors(filepath.Join(path, weightsFile))
	if err != nil {
		return nil, err
	}
	s, err := c.open(f.Tensor)
	return s, errors.WithMessage(err, path)
}

// open checks the config and returns its SAE.
func (c folderConfig) open(parameter func(name string) (checkpoint.Tensor, error)) (*SAE, error) {
	known := []string{string(TopK), string(Gated), string(JumpReLU), string(Transcoder), string(SkipTranscoder)}
	switch {
	case !slices.Contains(known, string(c.Architecture)):
		return nil, check.Unknown("architecture", string(c.Architecture), known)
	case c.Normalize != "none":
		return nil, check.Value("normalize_activations", "none", c.Normalize)
	case c.Reshape != "none" && c.Reshape != "hook_z":
		return nil, check.Value("reshape_activations", "none or hook_z", c.Reshape)
	case c.Centred && c.Transcodes():
		return nil, check.Value("apply_b_dec_to_input", "false of a "+string(c.Architecture), true)
	case c.Architecture == TopK && (c.K < 1 || c.K > c.Features):
		return nil, check.Valuef("k", c.K, "1 to %d", c.Features)
	}
	if !c.Transcodes() {
		c.Out = c.In
	}
	s := &SAE{c.Config, graph.NewStore(tensor.Float32, 0)}
	b := graph.On(gorgonia.NewGraph(), graph.Options{Store: s.Store})
	for _, spec := range c.shapes() {
		p, err := parameter(spec.Name)
		if err == nil && !slices.Equal(p.Shape, spec.Shape) {
			err = check.Valuef(spec.Name, p.Shape, "shape %v", spec.Shape)
		}
		if err == nil {
			spec.Init.Values, err = p.Float64s()
		}
		if err != nil {
			return nil, err
		}
		spec.Init.Std = 0
		b.Param(spec)
	}
	if c.Rescale && c.Architecture == TopK && b.Err() == nil {
		s.rescale()
	}
	return s, b.Err()
}

// rescale moves the lengths of the rows of W_dec into the encoder and gives the rows length 1. It
// is for SAEs whose features SAELens multiplies by those lengths.
func (s *SAE) rescale() {
	w, b := s.Store.Param("W_enc").Value.Float32s(), s.Store.Param("b_enc").Value.Float32s()
	for i, n := range s.normalise() {
		for j := range s.In {
			w[j*s.Features+i] *= n
		}
		b[i] *= n
	}
}
