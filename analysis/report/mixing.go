package report

import (
	"context"
	"errors"
	"fmt"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/models/mixing"
)

// Mixing measures how far a stream's coefficients have moved since their start. Its fields say on
// what prompt.
type Mixing struct {
	Prompt
	Seed    uint64          `yaml:"seed" default:"1" help:"compare with the start that seed <N> draws; give the run's seed"`
	History []mixing.Logged // nil: read from the metrics of the model's run
}

// Name is mixing.
func (Mixing) Name() string { return "mixing" }

// Card describes Mixing.
func (Mixing) Card() Card {
	return Card{
		Summary: "does the stream mix? how far its coefficients moved, who reads which layer, what a row holds",
		Example: `
			analyze mixing -checkpoint runs/attnres
			analyze mixing -checkpoint runs/mhc -out /tmp/mixing    # after train -set train.log_mixing=50 with its steps, too`,
		Notes: `
			The coefficients of a run on the prompt are compared with those of the model before its
			first step. Each row of the stream is set to 0 after a site and restored after the next:
			the share of the rise that goes away then is what only the row held. Where sites read sums over depth:
			who reads which layer, and what the loss is when a source is left out of all sums, or kept by
			one reader alone.`,
		Needs: analysis.CheckMixing,
	}
}

// Run reports how far a stream's mixing coefficients have moved from their start, what they amplify
// through depth and, where the stream has rows, what each holds.
func (o Mixing) Run(ctx context.Context, m *Model) (*Report, error) {
	ids, err := o.Prompt.Read(m, 2)
	if err == nil && o.History == nil && m.Path != "" {
		o.History, err = mixing.ReadHistory(m.Path)
	}
	if err != nil {
		return nil, err
	}
	start, err := mixing.Start(m.Spec, o.Seed, ids)
	if err != nil {
		return nil, err
	}
	now, err := mixing.Run(m.Store, m.Spec, ids)
	if err != nil {
		return nil, err
	}
	r := m.NewReport("Does it mix?", ids)
	r.Add("moves", "Coefficients and their start",
		"How far each matrix of coefficients has moved from its start, and how much tokens differ in it.",
		now.Since(start))
	if len(o.History) > 0 {
		r.Add("history", "In training", "How far the coefficients were from their start, step by step, as train.log_mixing wrote it.", mixing.History(o.History))
	}
	r.addDepth(m, now, ids)
	if sources, err := analysis.AblateSources(ctx, m.Store, m.Spec, ids); !errors.Is(err, mixing.ErrNone) {
		r.part("sources", "What a source is worth", "A source's weight is set to 0 in all sums over depth, the others left as they are; then one reader "+
			"alone keeps it. What the loss regains is what that reader needs of it.")(sources, err)
	}
	if rescue, err := analysis.AblateRows(ctx, m.Store, m.Spec, ids); !errors.Is(err, mixing.ErrNone) {
		r.part("rescue", "What a row holds", "A row is set to 0 after a site, and restored after the next one. The share of the rise that goes away then is "+
			"what only this row held.")(rescue, err)
	}
	return r, r.err
}

// Curves are the distances of the coefficients from their start.
func (Mixing) Curves(_ *Model, r *Report) (all []Curve, err error) {
	for _, p := range r.Results["moves"].(*mixing.Moves).Places {
		all = append(all, Curve{fmt.Sprintf("%s %s", p.Name, p.Kind), "distance from the start", p.Moved, new(0.0)})
	}
	return all, nil
}

// addDepth adds who reads which layer, for streams whose readers take a sum over layers, or
// multiply what each layer wrote by a number.
func (r *Report) addDepth(m *Model, now *mixing.Coefficients, ids []int32) {
	text := "Each reader's weights of what was written before it, averaged over tokens, and how much tokens differ in them."
	depth, err := now.Depth(), error(nil)
	if depth == nil {
		text = "How much of what each source wrote is in what each reader reads: the product of the coefficients on the way, averaged over tokens, and how " +
			"much tokens differ in it."
		if depth, err = analysis.Reach(m.Store, m.Spec, ids); errors.Is(err, mixing.ErrNone) {
			return
		}
	}
	p := r.part("depth", "Who reads which layer", text)(depth, err)
	if r.err == nil {
		strongest := depth.Strongest()
		p.Brief = &strongest
	}
}
