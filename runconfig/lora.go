package runconfig

import (
	"path"

	"github.com/residua-go/residua/internal/settings"
)

// Lora is the section train.lora: with a rank, the weights of train.init_from stay as they are, and
// adapters of low rank are trained in their place (graph.Adapter).
type Lora struct {
	Rank    int      `yaml:"rank" json:"rank" added:"0" min:"0" max:"65536"`
	Alpha   float64  `yaml:"alpha" json:"alpha" added:"16" min:"0" help:"alpha in the factor alpha / r"`
	Targets []string `yaml:"targets" json:"targets" default:"required with a rank" added:"null"`
}

// Help returns the help texts that are too long for tags, by key.
func (Lora) Help() map[string]string {
	return map[string]string{
		"rank": "rank r of the adapters A [in, r] and B [r, out] of each weight W, read as W + (alpha / r) A B; W stays as " +
			"train.init_from has it. 0: all parameters are trained",
		"targets": "which weights get adapters: globs of the names that peft knows them by, whole or from a dot on, such as q_proj or " +
			"\"*.mlp.*\"; for a model that no architecture of Hugging Face's describes, of its parameters' names",
	}
}

// Trains tells whether adapters are trained.
func (l Lora) Trains() bool { return l.Rank > 0 }

func (r *Run) checkLora(where *settings.Positions) error {
	l := r.Train.Lora
	switch {
	case !l.Trains() && len(l.Targets) > 0:
		return where.Errorf("train.lora.rank", "want >= 1 with train.lora.targets, got 0")
	case !l.Trains():
		return nil
	case l.Alpha == 0:
		return where.Errorf("train.lora.alpha", "want > 0, got 0")
	case len(l.Targets) == 0:
		return where.Errorf("train.lora.targets", "want the weights that get adapters, as in [q_proj, v_proj], got none")
	case r.Train.InitFrom == "":
		return where.Errorf("train.lora", "want train.init_from with it, the model that the adapters change")
	}
	for _, glob := range l.Targets {
		if _, err := path.Match(glob, ""); err != nil || glob == "" {
			return where.Errorf("train.lora.targets", "want globs such as \"*.mlp.*\", got %q", glob)
		}
	}
	return nil
}
