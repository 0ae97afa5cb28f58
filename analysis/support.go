package analysis

import (
	"slices"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/models"
)

// The analyses by the names that cmd/analyze gives them.
const (
	AnalysisAttribute = "attribute"
	AnalysisLens      = "lens"
	AnalysisHeads     = "heads"
	AnalysisCircuits  = "circuits"
	AnalysisWiring    = "wiring"
	AnalysisBasis     = "basis"
	AnalysisSubspaces = "subspaces"
	AnalysisMemory    = "memory"
	AnalysisRotation  = "rotation"
	AnalysisAblate    = "ablate"
	AnalysisPatch     = "patch"
)

// everyStream are the analyses that ask for nothing but named activations and a sum.
var everyStream = []string{AnalysisAttribute, AnalysisLens, AnalysisHeads, AnalysisBasis, AnalysisAblate, AnalysisPatch}

// Supports lists the analyses that a stream has. Circuits, wiring and subspaces are about
// heads and feed-forwards that write linearly and read behind a norm; the depth-wise LSTM's
// don't. Memory is about key vectors, which only a matrix stream has; a rotation can be
// folded into the weights of matrix and vector streams alone.
func Supports(stream string) []string {
	names := slices.Clone(everyStream)
	if stream != models.StreamDWLSTM {
		names = append(names, AnalysisCircuits, AnalysisWiring, AnalysisSubspaces)
	}
	switch stream {
	case models.StreamMatrix:
		names = append(names, AnalysisMemory, AnalysisRotation)
	case models.StreamVector:
		names = append(names, AnalysisRotation)
	}
	return names
}

// unsupported is nil if the model's stream has the analysis, and otherwise says which it
// has.
func unsupported(name string, c models.Config) error {
	has := Supports(c.Stream)
	if slices.Contains(has, name) {
		return nil
	}
	return errors.Errorf("analysis: %s: stream %s does not have it; it has %s", name, c.Stream, strings.Join(has, ", "))
}
