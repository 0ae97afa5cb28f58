package theory

import (
	"fmt"
	"math"

	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/models/check"
)

// TrainingInputs describe the runs of the paper's Tables 3 and 4: a transformer and an RMT trained
// on equal tokens, and the step at which the RMT reaches the transformer's loss.
type TrainingInputs struct {
	Transformer    string `json:"transformer"` // preset
	Matrix         string `json:"matrix"`      // preset
	Batch          int    `json:"batch"`       // rows a step
	Seq            int    `json:"seq"`         // tokens a row
	Steps          int    `json:"steps"`
	EqualLossSteps int    `json:"equal_loss_steps"`
}

// PaperTraining returns the runs of rmt-305m and transformer-405m on batches of 256 rows of 512
// tokens (paper, Tables 8 and 9). [impliedSteps] infers the steps from the printed FLOPs: 46,000 is
// the only multiple of 1,000, 27,050 the only multiple of 50, at which the totals that the printed
// FLOPs imply give 1.18e19, 8.45e18 and 4.97e18. Table 4's times, divided by section 4.2's seconds
// a step, are about 46,000 steps, too.
func PaperTraining() TrainingInputs {
	return TrainingInputs{Transformer: mediumTransformer, Matrix: mediumRMT, Batch: 256, Seq: 512, Steps: 46_000, EqualLossSteps: 27_050}
}

// TrainingRun holds the FLOPs of a run: 3 x forward FLOPs per token x tokens, since the backward
// pass takes twice the forward pass.
type TrainingRun struct {
	Name      string  `json:"name"`
	Model     string  `json:"model"`
	Steps     int     `json:"steps"`
	Tokens    int     `json:"tokens"`
	Paper     float64 `json:"paper"`      // FLOPs as printed in Tables 3 and 4
	StepsLow  float64 `json:"steps_low"`  // steps that the printed FLOPs allow
	StepsHigh float64 `json:"steps_high"` // by the implied totals
	// Counts holds the run's FLOPs by four counts of the forward FLOPs of a token: Printed by
	// Table 7's totals as printed, Implied by the totals that give the FLOPs of Tables 3 and 4,
	// Corrected by what Table 7 means, and Exact by what our models compute, where a look-up costs
	// nothing and causal attention half of full attention.
	Counts[float64]
}

// Change compares what a run takes with the transformer's run, as a share: -0.28 is 28% less.
type Change struct {
	Name      string  `json:"name"`
	Paper     float64 `json:"paper"`      // as printed
	FromPaper float64 `json:"from_paper"` // computed from the printed FLOPs
	Counts[float64]
}

// TrainingFLOPs holds the FLOPs columns of the paper's Tables 3 and 4, computed from Table 7's
// totals as printed, from the totals that give the printed FLOPs, and from the corrected ones.
type TrainingFLOPs struct {
	Inputs  TrainingInputs `json:"inputs"`
	Runs    []TrainingRun  `json:"runs"` // the transformer's first
	Changes []Change       `json:"changes"`
}

// flopsOf returns the training FLOPs of the given number of steps: 3 x forward FLOPs a token x
// steps x batch x seq, where the backward pass counts twice the forward pass.
func flopsOf(forwardFLOPs, steps, batch, seq int) float64 {
	return 3 * float64(forwardFLOPs) * float64(steps) * float64(batch) * float64(seq)
}

// impliedSteps returns the fewest and the most steps whose FLOPs round to a number printed with
// three significant digits.
func impliedSteps(printed float64, forwardFLOPs, batch, seq int) (low, high float64) {
	half := 0.5 * math.Pow(10, math.Floor(math.Log10(printed))-2)
	step := flopsOf(forwardFLOPs, 1, batch, seq)
	return (printed - half) / step, (printed + half) / step
}

// NewTrainingFLOPs computes the FLOPs of the paper's Tables 3 and 4 from the runs' inputs.
func NewTrainingFLOPs(in TrainingInputs) (TrainingFLOPs, error) {
	if in.Batch < 1 || in.Seq < 1 || in.Steps < 1 || in.EqualLossSteps < 1 {
		return TrainingFLOPs{}, check.Value("training", "batch, seq and steps of at least 1", fmt.Sprintf("%+v", in))
	}
	t := TrainingFLOPs{Inputs: in}
	for _, run := range []struct {
		name, preset string
		steps        int
		paper        float64
	}{
		{"transformer", in.Transformer, in.Steps, 1.18e19},
		{"RMT, equal tokens", in.Matrix, in.Steps, 8.45e18},
		{"RMT, equal loss", in.Matrix, in.EqualLossSteps, 4.97e18},
	} {
		r, err := count(run.preset, map[string]int{"seq": in.Seq})
		if err != nil {
			return TrainingFLOPs{}, err
		}
		flops := func(forward int) float64 { return flopsOf(forward, run.steps, in.Batch, in.Seq) }
		low, high := impliedSteps(run.paper, r.FLOPs.Implied, in.Batch, in.Seq)
		t.Runs = append(t.Runs, TrainingRun{
			run.name, run.preset, run.steps, run.steps * in.Batch * in.Seq, run.paper, low, high,
			Counts[float64]{flops(r.FLOPs.Printed), flops(r.FLOPs.Implied), flops(r.FLOPs.Corrected), flops(r.FLOPs.Exact)},
		})
	}
	t.Changes = []Change{change(t.Runs[0], t.Runs[1], -0.28), change(t.Runs[0], t.Runs[2], -0.58)}
	return t, nil
}

func change(from, to TrainingRun, paper float64) Change {
	return Change{to.Name, paper, relative(from.Paper, to.Paper), from.growth(to.Counts)}
}

// relative returns the change from a to b as a share of a.
func relative[N int | float64](a, b N) float64 { return float64(b)/float64(a) - 1 }

// Table has a row for each run and each comparison.
func (t TrainingFLOPs) Table() figure.Table {
	table := figure.NewTable("Tables 3 and 4: training FLOPs", "llrrrrrrrr",
		"run", "model", "steps", "tokens, billions", "FLOPs in print", "as Table 7 prints", "as the printed totals imply", "corrected", "exact",
		"steps that the printed number allows")
	for _, r := range t.Runs {
		table.Row(
			r.Name, r.Model, r.Steps, fmt.Sprintf("%.3f", float64(r.Tokens)/1e9), power(r.Paper),
			power(r.Printed), power(r.Implied), power(r.Corrected), power(r.Exact), fmt.Sprintf("%.0f to %.0f", r.StepsLow, r.StepsHigh),
		)
	}
	for _, c := range t.Changes {
		table.Row(
			c.Name+" against transformer", "", "", "", fmt.Sprintf("%+.0f%%", 100*c.Paper),
			percent(c.Printed), percent(c.Implied), percent(c.Corrected), percent(c.Exact), "of the printed FLOPs "+percent(c.FromPaper),
		)
	}
	return table
}

// trainingFLOPsNotes says where inputs and formulas come from.
const trainingFLOPsNotes = "as Table 7 prints: its totals, with 4 V for the transformer's vocabulary (4 V D is meant), 4 V R Dv for the RMT's " +
	"(right), (1+L) for (1+2L) in the RMT's keys, and the softmax. as the printed totals imply: the same with 4 V R for the RMT's vocabulary, with its " +
	"positions and without the softmax, from which the FLOPs of Tables 3 and 4 follow. With the softmax and without positions they would be 8.44e18 and " +
	"4.96e18, and no number of steps would give the FLOPs of both models. corrected: all put right, look-ups counted as products, attention over all " +
	"tokens, as the paper counts. exact: as our models run, look-ups free, causal attention at its half.\n\n" +
	"Steps are inferred: those at which the implied totals give the printed FLOPs, with the batches of 256 x 512 tokens that Tables 8 and 9 print."

// Figures shows the runs' FLOPs as printed and corrected.
func (t TrainingFLOPs) Figures() []figure.Figure {
	bars := figure.Bars{Title: "Training FLOPs of Tables 3 and 4", YLabel: "FLOPs / 1e18"}
	for _, r := range t.Runs {
		bars.Add(r.Name+", paper", r.Paper/1e18)
		bars.Add(r.Name+", corrected", r.Corrected/1e18)
	}
	return []figure.Figure{bars}
}
