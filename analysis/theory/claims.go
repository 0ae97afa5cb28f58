package theory

import (
	"fmt"
	"slices"

	"github.com/residua-go/residua/figure"
)

// Claim is a number that the paper prints, and what its own inputs give.
type Claim struct {
	Name     string  `json:"name"`
	Source   string  `json:"source"` // where it is printed
	Unit     string  `json:"unit"`
	Paper    float64 `json:"paper"` // as printed
	Computed float64 `json:"computed"`
	Reading  string  `json:"reading"` // how the printed number comes about
}

// Claims are the paper's other numbers that can be recomputed: what a stream twice as large takes
// (section 3.1), Table 4's times, the tokens of appendix C.4, and the parameters and tokens of the
// comparison at equal loss.
type Claims struct {
	Claims []Claim `json:"claims"`
}

// Seconds a training step, as they follow from section 4.2; Table 4 prints the seconds of whole runs.
const (
	transformerStepSeconds = 4.06
	matrixStepSeconds      = 7.17
)

// NewClaims computes them; in: the runs of Tables 3 and 4.
func NewClaims(in TrainingInputs) (Claims, error) {
	matrix, err := countPreset(in.Matrix, in.Seq)
	if err != nil {
		return Claims{}, err
	}
	vector, err := countPreset(in.Transformer, in.Seq)
	if err != nil {
		return Claims{}, err
	}
	doubled, err := doublingClaims(in.Transformer, in.Matrix)
	if err != nil {
		return Claims{}, err
	}
	return Claims{slices.Concat(doubled, timeClaims(in), tokenClaims(in.Seq), []Claim{
		{"parameters of the RMT against the transformer's", "abstract, Tables 3-4", "share", -0.25,
			relative(float64(vector.Parameters.Corrected), float64(matrix.Parameters.Corrected)), "as computed"},
		{"tokens to equal loss against the transformer's", "abstract, Tables 3-4", "share", -0.41,
			relative(float64(in.Steps), float64(in.EqualLossSteps)), "as computed, from the steps that the printed FLOPs imply"},
	})}, nil
}

// timeClaims: a share of the larger number is printed as a rise of the smaller; and Table 4's times
// are those of so many steps.
func timeClaims(in TrainingInputs) []Claim {
	claims := []Claim{
		{"time of an RMT's step against a transformer's", "Table 4", "share", 0.43, relative(transformerStepSeconds, matrixStepSeconds),
			"the difference as a share of the RMT's time: " + percent(-relative(matrixStepSeconds, transformerStepSeconds))},
	}
	for _, run := range []struct {
		name          string
		steps         int
		printed, step float64
	}{
		{"transformer", in.Steps, 1.86e5, transformerStepSeconds},
		{"RMT, equal tokens", in.Steps, 3.30e5, matrixStepSeconds},
		{"RMT, equal loss", in.EqualLossSteps, 1.94e5, matrixStepSeconds},
	} {
		name := fmt.Sprintf("seconds of %d steps of %.2f s: %s", run.steps, run.step, run.name)
		claims = append(claims, Claim{name, "Table 4", "seconds", run.printed, float64(run.steps) * run.step, "as computed, to half a percent"})
	}
	return claims
}

// tokenClaims: 5,000 steps stand where 50,000 are needed.
func tokenClaims(seq int) []Claim {
	const batch, printedSteps, printedTokens = 64, 5000, 1.6e9
	step := float64(batch * seq)
	return []Claim{
		{"tokens of 5,000 steps of 64 x 512", "appendix C.4", "tokens", printedTokens, printedSteps * step, "ten times the printed steps"},
		{"steps of 64 x 512 for 1.6e9 tokens", "appendix C.4", "steps", printedSteps, printedTokens / step, "a tenth of the steps"},
	}
}

// Name is the stem of the result's files.
func (c Claims) Name() string { return "claims" }

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

// Notes names the inputs.
func (c Claims) Notes() []string {
	return []string{
		"The stream is doubled at GPT-2 medium's sizes: the transformer's d_model with heads and hidden width held, the RMT's Dk.",
		"4.06 s a step of the transformer and 7.17 s of the RMT follow from section 4.2; Table 4 prints the seconds of whole runs.",
	}
}

// Figures has none.
func (c Claims) Figures() []figure.Figure { return nil }
