package theory

import (
	"fmt"

	"github.com/residua-go/residua/models"
)

// doublingClaims returns the claims of section 3.1: what a residual stream twice as large takes if
// everything else stays the same. The paper prints 100% more parameters and 94% more FLOPs for the
// transformer, and under 1% of each for the RMT. This is right for parameters but not for FLOPs,
// because each of the 3 R (2L+1) keys is multiplied by the whole stream of a token.
func (n *counter) doublingClaims(in TrainingInputs) []Claim {
	vectorParameters, vectorFLOPs := n.doubled(in.Transformer, func(c models.Spec) map[string]int {
		return map[string]int{"stream.d_model": 2 * c.Width(), "attention.head_dim": c.HeadDim()}
	})
	parameters, flops := n.doubled(in.Matrix, func(c models.Spec) map[string]int { return map[string]int{"stream.dk": 2 * keySize(c)} })
	const source, larger = "section 3.1", " with twice the stream"
	return []Claim{
		{"parameters of a transformer" + larger, source, "share", 1, vectorParameters.Corrected, "as computed"},
		{"FLOPs of a transformer" + larger, source, "share", 0.94, vectorFLOPs.Corrected, "as computed"},
		{"parameters of an RMT" + larger, source, "share", 0.01, parameters.Corrected, "a bound that holds, with norm gains too: " + percent(parameters.Exact)},
		{"FLOPs of an RMT" + larger, source, "share", 0.01, flops.Corrected, fmt.Sprintf(
			"a bound that is too low: %s by Table 7 as printed, %s by the totals that Tables 3-4 imply", percent(flops.Printed), percent(flops.Implied))},
	}
}

// doubled returns the shares that a larger stream adds to a preset's parameters and FLOPs.
func (n *counter) doubled(preset string, larger func(models.Spec) map[string]int) (parameters, flops Counts[float64]) {
	from := n.count(preset, nil)
	if n.err != nil {
		return parameters, flops
	}
	to := n.count(preset, larger(from.spec))
	return from.Parameters.growth(to.Parameters), from.FLOPs.growth(to.FLOPs)
}
