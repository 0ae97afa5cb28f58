package analysis

import (
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/check"
	"github.com/residua-go/residua/stream"
	"github.com/residua-go/residua/stream/linear"
)

// CheckWeighted returns a check.UnsupportedError unless a model's heads and feed-forwards write
// linearly and read after a norm, as in a stream.Weighted.
func CheckWeighted(spec models.Spec) error {
	return needs(spec, "a stream to which heads and feed-forwards write linearly", func(m *models.Model) bool { return staticForm(m) != nil })
}

// CheckKeyed returns a check.UnsupportedError unless a model's stream is written by key vectors.
func CheckKeyed(spec models.Spec) error {
	return needs(spec, "a stream that is written by key vectors", func(m *models.Model) bool {
		frozen := staticForm(m)
		return frozen != nil && storesByKeys(frozen)
	})
}

// CheckMixing returns a check.UnsupportedError unless a model's stream has coefficients, as
// stream.Mixings lists them.
func CheckMixing(spec models.Spec) error {
	return needs(spec, "a stream that mixes by coefficients", func(m *models.Model) bool { return len(stream.Mixings(m.Stream())) > 0 })
}

// CheckRotatable returns a check.UnsupportedError unless a rotation can be folded into a model's
// weights, as for a stream.Rotatable.
func CheckRotatable(spec models.Spec) error {
	return needs(spec, "a stream that can be rotated, without norms after sublayers and value embeddings", func(*models.Model) bool {
		return len(rotatableSpaces(spec)) > 0
	})
}

// planned builds a model whose parameters are not allocated.
func planned(spec models.Spec) (*models.Model, error) {
	return models.New(gorgonia.NewGraph(), spec, graph.Options{Store: graph.NewPlan(tensor.Float32)})
}

// needs returns a check.UnsupportedError that says what is wanted, or nil if the model has it.
func needs(spec models.Spec, want string, has func(*models.Model) bool) error {
	if err := checkSpec(spec); err != nil {
		return err
	}
	m, err := planned(spec)
	if err != nil || has(m) {
		return err
	}
	return check.UnsupportedError{Want: want, Stream: spec.Stream.Name()}
}

// staticForm returns the linear form of a model's stream without a run; nil if it has none.
func staticForm(m *models.Model) *stream.Frozen {
	if weighted, ok := m.Stream().(stream.Weighted); ok {
		return weighted.Static()
	}
	return nil
}

// storesByKeys tells whether a stream is written by key vectors.
func storesByKeys(frozen *stream.Frozen) bool {
	up, err := frozen.Up(frozen.Sources()[0])
	_, ok := linear.KeysOf(up)
	return err == nil && ok
}

// checkSpec returns an error for a Spec that describes no model.
func checkSpec(spec models.Spec) error {
	if spec.IsZero() {
		return check.Value("model", "a Spec that Config.Resolve made", "the zero value")
	}
	return nil
}
