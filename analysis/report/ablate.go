package report

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/analysis/blocks"
	"github.com/residua-go/residua/models/cache"
	"github.com/residua-go/residua/models/check"
)

// Ablate measures what a model loses when activations are taken away. Its fields say which
// activations, and what is measured.
type Ablate struct {
	Prompt
	Contrast // by default the mean loss of the next token
	OverRows
	With    analysis.Replacement `yaml:"with" default:"zero" choices:"zero, mean, resample" help:"replace it by <WHAT>: zero or, over texts, mean or resample"`
	Restore bool                 `yaml:"restore" help:"of several texts, take all heads away and give back one at a time"`
	Blocks  bool                 `yaml:"blocks" help:"ablate what each block and each sublayer writes, in turn: over 8 rows of text, or as -rows or -prompt say"`
	Names   []string             `yaml:"names" help:"ablate together the activations <G>, a name or glob; may be repeated; without, each head and writer in turn"`
	At      cache.At             `yaml:"at" help:"with -names: ablate the entries <AXIS=N,...> alone, such as head=3,token=5"`
	Top     int                  `yaml:"top" default:"20" min:"1" max:"1000000" help:"list the <N> largest effects"` // 0: 20
	// Prompts, like OverRows, replace Prompt. The effects of Names or, without names, of all heads
	// are averaged over them.
	Prompts Prompts `yaml:"prompts" help:"average over the prompts of <FILE>, each line's text; of a .jsonl, each line's string, or its object's \"prompt\""`
}

// Name is ablate.
func (Ablate) Name() string { return "ablate" }

// Card describes Ablate.
func (Ablate) Card() Card {
	return Card{
		Summary: "what the model loses when activations are taken away: heads, writers, or named ones",
		Example: `
			analyze ablate -checkpoint runs/quickstart -out /tmp/ablate
			analyze ablate -checkpoint runs/quickstart -names blocks.1.attention.heads -at head=3,token=5 -target b
			analyze ablate -checkpoint runs/quickstart -rows 16 -with resample    # over validation text, standard errors
			analyze ablate -checkpoint runs/quickstart -blocks    # what each block and sublayer is worth`,
		Notes: `
			Without -names, every head is set to 0 in turn, and all that each writer writes, token by
			token. What changes is measured on the mean loss of the next token or, with -token,
			-target or -against, on a logit. -prompts and -rows average the effects of heads over several
			texts, where -with mean leaves what is the same at all tokens and -with resample puts in
			what another text gives.`,
	}
}

// Run reports what the model loses when activations are replaced, by default by 0.
func (o Ablate) Run(ctx context.Context, m *Model) (*Report, error) {
	if o.Blocks {
		return o.blocks(ctx, m)
	}
	if len(o.Names) == 0 && len(o.At) > 0 {
		return nil, check.Value("at", "names with it", "none")
	}
	if len(o.Names) > 0 && o.Restore {
		return nil, check.Value("restore", "all heads, without names", strings.Join(o.Names, ", "))
	}
	rows, ids, err := m.read(ctx, o.Prompt, o.Prompts, o.Rows)
	if err != nil {
		return nil, err
	}
	if ids == nil {
		return o.over(ctx, m, rows)
	}
	if o.Restore {
		return nil, check.Value("restore", "several rows (prompts, or rows of validation text)", "one prompt")
	}
	if o.With != analysis.ReplaceZero {
		return nil, check.Valuef("with", o.With, "%s for one prompt, or several rows (prompts, or rows of validation text)", analysis.ReplaceZero)
	}
	metric, err := o.metric(m, ids)
	if err != nil {
		return nil, err
	}
	ablations, err := analysis.NewAblations(ctx, m.Store, m.Spec, rows, o.Names, o.With)
	if err != nil {
		return nil, err
	}
	r := m.NewReport("Ablation", ids)
	if len(o.Names) > 0 {
		r.part("ablation", "Named activations", o.together())(ablations.Together(ctx, 0, o.At, metric))
		return r, r.err
	}
	r.sweep(m, "heads", "Heads", "Each head's output is set to 0 at all tokens: how the metric changes.", nil, o.Top)(
		ablations.Heads(ctx, 0, metric))
	r.sweep(m, "writers", "Writers", "What a writer writes is set to 0, at one token or at all.", ids, o.Top)(
		ablations.Writers(ctx, 0, metric))
	return r, r.err
}

// Curves are the effects of heads and, at all tokens, of writers; of blocks; or of what is named. A
// logit's target must be set.
func (o Ablate) Curves(_ *Model, r *Report) (all []Curve, err error) {
	if err := o.Contrast.fixed(); err != nil && o.Contrast.given() {
		return nil, err
	}
	unit, none := "change of the "+o.quantity(), new(0.0)
	for _, p := range r.Parts {
		switch of := r.Results[p.Name].(type) {
		case *blocks.Worth:
			for _, part := range of.Parts {
				all = append(all, Curve{part.Name, unit, part.Rise, none})
			}
		case *Averages:
			all = append(all, of.curves(unit)...)
		case *analysis.Sweep:
			for i, row := range of.Rows {
				switch p.Name {
				case "heads":
					for h, v := range of.Effect[i] {
						all = append(all, Curve{of.HeadName(i, h), unit + " without a head", v, none})
					}
				default:
					all = append(all, Curve{row, unit + " without a writer", of.Effect[i][len(of.Columns)-1], none})
				}
			}
		}
	}
	return all, nil
}

// quantity names what is measured.
func (o Ablate) quantity() string {
	switch {
	case o.Contrast.Against != "":
		return "logits' difference"
	case o.Contrast.given():
		return "logit"
	}
	return "loss"
}

// blockRows is the default number of rows of validation text on which blocks are ablated.
const blockRows = 8

// blocks takes blocks and sublayers away, on a prompt or rows of validation text.
func (o Ablate) blocks(ctx context.Context, m *Model) (*Report, error) {
	if len(o.Names) > 0 || len(o.At) > 0 || o.Prompts != nil || o.Restore || o.Contrast.given() || o.With != analysis.ReplaceZero {
		return nil, check.Value("blocks", "only rows, prompt or ids with it", "another setting")
	}
	if !o.Prompt.given() && m.Text != nil {
		o.Rows = cmp.Or(o.Rows, blockRows)
	}
	rows, _, err := m.read(ctx, o.Prompt, nil, o.Rows)
	if err != nil {
		return nil, err
	}
	r := m.NewReport("What blocks are worth", nil)
	r.part("blocks", "Blocks and sublayers", "All that a sublayer writes to the stream is set to 0, then all that a block writes: how the loss of "+
		"the next token rises.")(
		blocks.Ablate(ctx, m.Store, m.Spec, rows, 0))
	return r, r.err
}

// over averages effects over rows of text.
func (o Ablate) over(ctx context.Context, m *Model, rows [][]int32) (*Report, error) {
	if o.Rows == 1 {
		return nil, check.Value("rows", "at least 2, for a standard error", o.Rows)
	}
	effects := (*analysis.Ablations).Heads
	if o.Restore {
		effects = (*analysis.Ablations).Restored
	}
	ablations, err := analysis.NewAblations(ctx, m.Store, m.Spec, rows, o.Names, o.With)
	if err != nil {
		return nil, err
	}
	averages, err := average(ctx, rows, func(i int, ids []int32) ([]value, error) {
		metric, err := o.metric(m, ids)
		if err != nil {
			return nil, err
		}
		if len(o.Names) > 0 {
			one, err := ablations.Together(ctx, i, o.At, metric)
			if err != nil {
				return nil, err
			}
			return []value{{strings.Join(o.Names, ", "), one.Effect[0][0]}}, nil
		}
		each, err := effects(ablations, ctx, i, metric)
		if err != nil {
			return nil, err
		}
		return headValues(each), nil
	})
	if err != nil {
		return nil, err
	}
	if o.Rows > 0 {
		averages.unit = "rows of validation text"
	}
	r := m.NewReport("Ablation", nil)
	text := fmt.Sprintf("What is named is %s at %s of each prompt or row: how the metric changes.", replaced(o.With), cmp.Or(o.entries(), "all tokens"))
	if o.Restore {
		text = fmt.Sprintf("The output of every head is %s at all tokens of each prompt or row, and then that of every head but one: how the metric "+
			"changes with that one.", replaced(o.With))
	}
	r.addAverages("average", "Ablation", text, "change of the "+o.quantity(), averages, o.Top)
	return r, nil
}

// replaced describes how activations are replaced.
func replaced(with analysis.Replacement) string {
	switch with {
	case analysis.ReplaceMean:
		return "replaced by its mean over all tokens"
	case analysis.ReplaceResample:
		return "replaced by its values in another row"
	}
	return "set to 0"
}

// metric returns what is measured on a prompt.
func (o Ablate) metric(m *Model, ids []int32) (analysis.Metric, error) {
	if !o.Contrast.given() {
		return analysis.NextTokenLoss(), nil
	}
	run, err := m.run(ids, nil)
	if err != nil {
		return analysis.Metric{}, err
	}
	a, err := o.Contrast.find(m, run)
	return a.metric(), err
}

// together describes which named activations are set to 0, and where.
func (o Ablate) together() string {
	text := "All of it is set to 0 together: " + strings.Join(o.Names, ", ")
	if len(o.At) > 0 {
		text += " at " + o.entries()
	}
	return text + "."
}

// entries lists the chosen entries of activations, as in "head=3,token=5"; "" if all are chosen.
func (o Ablate) entries() string {
	var entries []string
	for _, axis := range slices.Sorted(maps.Keys(o.At)) {
		entries = append(entries, fmt.Sprintf("%s=%d", axis, o.At[axis]))
	}
	return strings.Join(entries, ",")
}
