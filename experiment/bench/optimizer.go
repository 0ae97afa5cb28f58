package bench

import (
	"github.com/pkg/errors"

	"github.com/residua-go/residua/optim"
	"github.com/residua-go/residua/runconfig"
)

// muonMomentum decays Muon's momentum, as by default in training runs.
const muonMomentum = 0.95

// OptimizerNames returns the names of the optimizers by which residual designs are measured.
func OptimizerNames() []string { return []string{runconfig.AdamW{}.Name(), runconfig.Muon{}.Name()} }

// CheckOptimizers returns an error for a name that is not among OptimizerNames.
func CheckOptimizers(names []string) error { return checkNames("optimizer", names, OptimizerNames()) }

// optimizer returns the parts of an optimizer: AdamW, or Muon for the hidden layers' matrices, with
// updates of AdamW's size, and AdamW for the rest. "" is AdamW.
func optimizer(name string) ([]optim.Part, error) {
	parts := []optim.Part{optim.Clip(clipNorm), optim.Adam(beta1, beta2, adamEps),
		optim.Rate(learningRate, optim.Constant{}), optim.Decay(weightDecay, optim.Coupled, nil)}
	muon := runconfig.Muon{LR: learningRate, Momentum: muonMomentum, Scale: string(optim.ScaleMatchRMSAdamW), WeightDecay: weightDecay}
	switch name {
	case "", runconfig.AdamW{}.Name():
		return parts, nil
	case muon.Name():
		matrices, err := muon.Parts()
		return append(parts, matrices...), err
	}
	return nil, errors.Errorf("optimizer: want one of %v, got %q", OptimizerNames(), name)
}

// byOptimizer names an optimizer other than AdamW in tables and messages, as in " by muon".
func byOptimizer(optimizer string) string {
	if optimizer == "" || optimizer == (runconfig.AdamW{}).Name() {
		return ""
	}
	return " by " + optimizer
}
