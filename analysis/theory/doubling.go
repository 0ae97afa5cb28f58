package theory

import (
	"fmt"

	"github.com/residua-go/residua/models"
)

// doublingClaims are section 3.1's: what a residual stream twice as large takes, all else held. It
// prints 100% more parameters and 94% more FLOPs for the transformer, and under 1% of each for the
// RMT. Of parameters that is so; of FLOPs it is not, as each of the 3 R (2L+1) keys is
// multiplied by the whole stream of a token.
func doublingClaims(transformer, matrix string) ([]Claim, error) {
	vector, err := doubled(transformer, func(c models.Spec) map[string]int {
		return map[string]int{"stream.d_model": 2 * c.Width(), "attention.head_dim": c.HeadDim()}
	})
	if err != nil {
		return nil, err
	}
	rmt, err := doubled(matrix, func(c models.Spec) map[string]int { return map[string]int{"stream.dk": 2 * keySize(c)} })
	if err != nil {
		return nil, err
	}
	const source, larger = "section 3.1", " with twice the stream"
	return []Claim{
		{"parameters of a transformer" + larger, source, "share", 1, vector.parameters, "as computed"},
		{"FLOPs of a transformer" + larger, source, "share", 0.94, vector.flops, "as computed"},
		{"parameters of an RMT" + larger, source, "share", 0.01, rmt.parameters, "a bound that holds, with norm gains too: " + percent(rmt.exact)},
		{"FLOPs of an RMT" + larger, source, "share", 0.01, rmt.flops, fmt.Sprintf(
			"a bound that is too low: %s by Table 7 as printed, %s by the totals that Tables 3-4 imply", percent(rmt.printed), percent(rmt.implied))},
	}, nil
}

// growth holds what a larger stream adds, as a share; parameters by the corrected and the exact count, FLOPs by the
// corrected, the printed and the implied one.
type growth struct{ parameters, exact, flops, printed, implied float64 }

// doubled returns what a larger stream adds to a preset.
func doubled(preset string, larger func(models.Spec) map[string]int) (growth, error) {
	from, err := count(preset, nil)
	if err != nil {
		return growth{}, err
	}
	to, err := count(preset, larger(from.spec))
	return growth{
		relative(from.Parameters.Corrected, to.Parameters.Corrected), relative(from.Parameters.Exact, to.Parameters.Exact), relative(from.FLOPs.Corrected, to.FLOPs.Corrected),
		relative(from.FLOPs.Printed, to.FLOPs.Printed), relative(from.FLOPs.Implied, to.FLOPs.Implied),
	}, err
}
