package theory

import (
	"fmt"
	"slices"

	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/models"
)

// Claim is a number that the paper prints, with the number that follows from the paper's own
// inputs.
type Claim struct {
	Name     string  `json:"name"`
	Source   string  `json:"source"` // where it is printed
	Unit     string  `json:"unit"`
	Paper    float64 `json:"paper"` // as printed
	Computed float64 `json:"computed"`
	Reading  string  `json:"reading"` // how the printed number may have arisen
}

// Claims holds the paper's other numbers that can be recomputed: what a stream twice as large takes
// (section 3.1), the times of Tables 3 and 4, the tokens of appendix C.4, the sizes of section
// 4.2's pairs and section 4.4's series, and the parameters and tokens of the comparison at equal
// loss.
type Claims struct {
	Claims []Claim `json:"claims"`
}

// Seconds a training step, as section 4.2 prints them; Tables 3 and 4 print the seconds of whole
// runs.
const (
	transformerStepSeconds = 4.06
	matrixStepSeconds      = 7.17

	transformerSeconds = 1.86e5 // of the whole run
	equalLossSeconds   = 1.94e5 // of the RMT's until the transformer's last loss
)

// NewClaims computes the claims. in describes the runs of Tables 3 and 4.
func NewClaims(in TrainingInputs) (Claims, error) {
	var n counter
	seq := map[string]int{"seq": in.Seq}
	matrix, vector := n.count(in.Matrix, seq), n.count(in.Transformer, seq)
	if n.err != nil {
		return Claims{}, n.err
	}
	return Claims{slices.Concat(n.doublingClaims(in), timeClaims(in), tokenClaims(in.Seq), n.pairClaims(), n.keyClaims(in.Seq), []Claim{
		{"parameters of the RMT against the transformer's", "abstract, Tables 3-4", "share", -0.25,
			relative(vector.Parameters.Corrected, matrix.Parameters.Corrected), "as computed"},
		{"tokens to equal loss against the transformer's", "abstract, Table 3", "share", -0.41,
			relative(in.Steps, in.EqualLossSteps), "as computed, from the steps that the printed FLOPs imply"},
	})}, n.err
}

// timeClaims shows that a share of the larger number is printed as a rise of the smaller one, and
// that the times of whole runs are the times per step multiplied by the number of steps.
func timeClaims(in TrainingInputs) []Claim {
	claims := []Claim{
		{"time to equal loss against the transformer's", "Table 3", "share", 0.04, relative(transformerSeconds, equalLossSeconds), "as computed"},
		{"time of an RMT's step against a transformer's", "Table 4", "share", 0.43, relative(transformerStepSeconds, matrixStepSeconds),
			"the difference as a share of the RMT's time: " + percent(-relative(matrixStepSeconds, transformerStepSeconds))},
	}
	for _, run := range []struct {
		name, source  string
		steps         int
		printed, step float64
	}{
		{"transformer", "Tables 3 and 4", in.Steps, transformerSeconds, transformerStepSeconds},
		{"RMT, equal tokens", "Table 4", in.Steps, 3.30e5, matrixStepSeconds},
		{"RMT, equal loss", "Table 3", in.EqualLossSteps, equalLossSeconds, matrixStepSeconds},
	} {
		name := fmt.Sprintf("seconds of %d steps of %.2f s: %s", run.steps, run.step, run.name)
		claims = append(claims, Claim{name, run.source, "seconds", run.printed, float64(run.steps) * run.step, "as computed, to half a percent"})
	}
	return claims
}

// pairClaims says, for section 4.2's four pairs of one shape, how much larger the RMT's stream is,
// and how many fewer parameters it has outside the tables.
func (n *counter) pairClaims() []Claim {
	names := table9Presets()
	var streams, fewer []float64
	for i := 0; i < len(names); i += 2 {
		rmt, transformer := n.count(names[i], nil).spec, n.count(names[i+1], nil).spec
		streams = append(streams, float64(rmt.StreamSize())/float64(transformer.StreamSize()))
		fewer = append(fewer, relative(outsideTables(transformer), outsideTables(rmt)))
	}
	return []Claim{
		{"the RMT's stream against the transformer's, smallest of four pairs", "section 4.2", "ratio", 2.5, slices.Min(streams),
			fmt.Sprintf("a bound that holds: %.3g, %.3g, %.3g, %.3g", streams[0], streams[1], streams[2], streams[3])},
		{"the RMT's stream against the transformer's, largest", "section 4.2", "ratio", 4, slices.Max(streams), "as computed"},
		{"parameters outside the tables, the pair that differs least", "section 4.2", "share", -0.33, slices.Max(fewer), "as computed"},
		{"parameters outside the tables, the pair that differs most", "section 4.2", "share", -0.33, slices.Min(fewer), "as computed"},
	}
}

// outsideTables returns how many parameters a model has besides embeddings, positions and
// unembedding.
func outsideTables(spec models.Spec) int { return spec.Cost().Parameters - spec.Cost().Embedding }

// keyClaims checks how much more the largest Dk of section 4.4's series, 64, costs than the
// smallest, 6. Each key is multiplied by the whole stream, which the paper's "under 1% of the
// FLOPs" leaves out.
func (n *counter) keyClaims(seq int) []Claim {
	small, large := n.count("rmt-134m", map[string]int{"seq": seq, "stream.dk": 6}), n.count("rmt-134m", map[string]int{"seq": seq, "stream.dk": 64})
	return []Claim{
		{"parameters with Dk 64 against Dk 6", "section 4.4", "share", 0.01, relative(small.Parameters.Corrected, large.Parameters.Corrected),
			"a bound that holds, with norm gains too: " + percent(relative(small.Parameters.Exact, large.Parameters.Exact))},
		{"FLOPs with Dk 64 against Dk 6", "section 4.4", "share", 0.01, relative(small.FLOPs.Corrected, large.FLOPs.Corrected),
			"a bound that is too low: " + percent(relative(small.FLOPs.Printed, large.FLOPs.Printed)) + " by Table 7 as printed"},
		{"parameters of the series, smallest", "appendix C.3", "parameters", 135e6, float64(small.Parameters.Exact), "rounded up"},
		{"parameters of the series, largest", "appendix C.3", "parameters", 135e6, float64(large.Parameters.Exact), "rounded up"},
	}
}

// tokenClaims shows that 5,000 steps are printed where 50,000 are needed.
func tokenClaims(seq int) []Claim {
	const batch, printedSteps, printedTokens = 64, 5000, 1.6e9
	step := float64(batch * seq)
	return []Claim{
		{"tokens of 5,000 steps of 64 x 512", "appendix C.4", "tokens", printedTokens, printedSteps * step, "ten times the printed steps"},
		{"steps of 64 x 512 for 1.6e9 tokens", "appendix C.4", "steps", printedSteps, printedTokens / step, "a tenth of the steps"},
	}
}

// Table has a row for each claim.
func (c Claims) Table() figure.Table {
	t := figure.NewTable("Other printed numbers and what their inputs give", "llrrl",
		"number", "printed in", "paper", "computed", "the printed number is")
	for _, claim := range c.Claims {
		write := short
		if claim.Unit == "share" {
			write = percent
		}
		t.Row(claim.Name, claim.Source, write(claim.Paper), write(claim.Computed), claim.Reading)
	}
	return t
}

// claimsNotes names the inputs.
const claimsNotes = "The stream is doubled at GPT-2 medium's sizes: the transformer's d_model with heads and hidden width held, the RMT's Dk.\n\n" +
	"4.06 s a step of the transformer and 7.17 s of the RMT stand in section 4.2; Tables 3 and 4 print the seconds of whole runs."

// doublingClaims returns the claims of section 3.1: what a residual stream twice as large takes if
// everything else stays the same. The paper prints 100% more parameters and 94% more FLOPs for the
// transformer, and under 1% of each for the RMT. This is right for parameters but not for FLOPs,
// because each of the 3 R (2L+1) keys is multiplied by the whole stream of a token.
func (n *counter) doublingClaims(in TrainingInputs) []Claim {
	vectorParameters, vectorFLOPs := n.doubled(in.Transformer, func(spec models.Spec) map[string]int {
		return map[string]int{"stream.d_model": 2 * spec.Width(), "attention.head_dim": spec.HeadDim()}
	})
	parameters, flops := n.doubled(in.Matrix, func(spec models.Spec) map[string]int { return map[string]int{"stream.dk": 2 * keySize(spec)} })
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
