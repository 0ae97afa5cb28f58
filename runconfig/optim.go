package runconfig

import (
	"github.com/residua-go/residua/internal/settings"
	"github.com/residua-go/residua/optim"
)

// Optim is the section train.optim: the rule by which parameters learn. It is a struct whose tagged
// fields are its keys; rules of other modules are in models.Zoo.Kinds.
type Optim interface {
	Name() string // the kind
	// Parts returns the parts to add to those of AdamW, whose numbers are in train. A part
	// applies to all parameters or to a group of them.
	Parts() ([]optim.Part, error)
}

// AdamW updates every parameter by AdamW, with the numbers in train.
type AdamW struct{}

// Name returns "adamw".
func (AdamW) Name() string { return "adamw" }

// Parts returns none, because the numbers are in train.
func (AdamW) Parts() ([]optim.Part, error) { return nil, nil }

// Muon updates the weight matrices of hidden layers by Muon, and the other parameters by AdamW.
type Muon struct {
	LR          float64 `yaml:"lr" default:"0.02; with scale match_rms_adamw, train.lr" from:"train.lr .scale" max:"10" help:"Muon's peak learning rate"`
	Momentum    float64 `yaml:"momentum" help:"decay of the momentum"`
	Scale       string  `yaml:"scale" choices:"original, match_rms_adamw"`
	WeightDecay float64 `yaml:"weight_decay" default:"0; with scale match_rms_adamw, train.weight_decay" from:"train.weight_decay .scale" min:"0"`
	Keys        string  `yaml:"keys" choices:"adamw, muon" help:"what updates the key vectors of a matrix stream: adamw or muon"`
}

// Help returns the help texts that are too long for tags, by key.
func (Muon) Help() map[string]string {
	return map[string]string{
		"scale": "size of an update: original, sqrt(max(1, fan_out/fan_in)); match_rms_adamw, 0.2 sqrt(max(fan_in, fan_out)), to go " +
			"with AdamW's rate and decay",
		"weight_decay": "coefficient of the weight decay of Muon's parameters, coupled to their rate",
	}
}

// Name returns "muon".
func (Muon) Name() string { return "muon" }

// originalLR is the default rate for the scale original.
const originalLR = 0.02

// completeOptim fills in the defaults that depend on the scale.
func (r *Run) completeOptim(where *settings.Positions) {
	m, ok := r.Train.Optim.(Muon)
	if !ok {
		return
	}
	like := m.Scale == string(optim.ScaleMatchRMSAdamW)
	if where.Of("train.optim.lr") == "" {
		m.LR = originalLR
		if like {
			m.LR = r.Train.LR
		}
	}
	if where.Of("train.optim.weight_decay") == "" && like {
		m.WeightDecay = r.Train.WeightDecay
	}
	r.Train.Optim = m
}

func (r *Run) checkOptim(where *settings.Positions) error {
	if r.Train.Optim == nil {
		return where.Errorf("train.optim", "want a kind, as in adamw or muon, got nothing")
	}
	m, ok := r.Train.Optim.(Muon)
	switch {
	case !ok:
		_, err := r.Train.Optim.Parts()
		return refused(where, "train.optim", err)
	case !(m.LR > 0):
		return where.Errorf("train.optim.lr", "want > 0, got %g", m.LR)
	case !(m.Momentum >= 0 && m.Momentum < 1):
		return where.Errorf("train.optim.momentum", "want in [0, 1), got %g", m.Momentum)
	}
	return nil
}

// Parts returns Muon's part, for the parameters that it updates.
func (m Muon) Parts() ([]optim.Part, error) {
	in := optim.HiddenMatrices
	if m.Keys == m.Name() {
		in = optim.Matrices
	}
	return []optim.Part{optim.Group(in, optim.Muon(m.Momentum, optim.MuonScale(m.Scale)), optim.Rate(m.LR, nil), optim.Decay(m.WeightDecay, optim.Coupled, nil))},
		nil
}
