package analysis

import (
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/analysis/check"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/stream"
	"github.com/residua-go/residua/stream/linear"
)

// The analyses by the names that analyze gives them.
const (
	AnalysisAttribute  = "attribute"
	AnalysisLens       = "lens"
	AnalysisHeads      = "heads"
	AnalysisCircuits   = "circuits"
	AnalysisWiring     = "wiring"
	AnalysisBasis      = "basis"
	AnalysisSubspaces  = "subspaces"
	AnalysisMemory     = "memory"
	AnalysisRotation   = "rotation"
	AnalysisAblate     = "ablate"
	AnalysisPatch      = "patch"
	AnalysisMixing     = "mixing"
	AnalysisExport     = "export"
	AnalysisSteer      = "steer"
	AnalysisPaths      = "paths"
	AnalysisDirections = "directions"
)

// everyStream are the analyses that ask for nothing but named activations and a sum.
var everyStream = []string{AnalysisAttribute, AnalysisLens, AnalysisHeads, AnalysisBasis, AnalysisAblate, AnalysisPatch, AnalysisExport, AnalysisSteer, AnalysisPaths, AnalysisDirections}

// Supports lists the analyses that a model's stream has. Circuits, wiring and subspaces are about
// heads and feed-forwards that write linearly and read after a norm, those of a
// stream.Weighted. Mixing is about the coefficients of stream.Mixings. Memory is about key vectors; a rotation can be folded into the weights of a
// stream.Rotatable.
func Supports(c models.Spec) []string {
	names := slices.Clone(everyStream)
	if m, err := planned(c); err == nil {
		if len(stream.Mixings(m.Stream())) > 0 {
			names = append(names, AnalysisMixing)
		}
		if frozen := staticForm(m); frozen != nil {
			names = append(names, AnalysisCircuits, AnalysisWiring, AnalysisSubspaces)
			if storesByKeys(frozen) {
				names = append(names, AnalysisMemory)
			}
		}
	}
	if len(rotatableSpaces(c)) > 0 {
		names = append(names, AnalysisRotation)
	}
	return names
}

// planned builds a model whose parameters are not allocated.
func planned(c models.Spec) (*models.Model, error) {
	return models.New(gorgonia.NewGraph(), c, graph.Options{Store: graph.NewPlan(tensor.Float32)})
}

// staticForm is the linear form of a model's stream without a run; nil if it has none.
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

// CheckSupport returns a check.UnsupportedError if a model's stream has not an analysis, one of
// Supports.
func CheckSupport(name string, c models.Spec) error {
	if err := checkSpec(c); err != nil {
		return err
	}
	has := Supports(c)
	if slices.Contains(has, name) {
		return nil
	}
	return check.UnsupportedError{Analysis: name, Stream: c.Stream.Name(), Has: has}
}

// checkSpec refuses a Spec that is none.
func checkSpec(c models.Spec) error {
	if c.IsZero() {
		return check.Value("model", "a Spec that Config.Resolve made", "the zero value")
	}
	return nil
}
