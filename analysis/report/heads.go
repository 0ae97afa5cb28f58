package report

import (
	"cmp"
	"context"
	"fmt"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/models/check"
	"github.com/residua-go/residua/stream"
)

// Heads shows what heads attend to. Its fields say on what they are measured, and which are shown.
type Heads struct {
	Prompt // whose attention is shown; of a model without tokenizer by default the first random row
	Place
	Period int    `yaml:"period" min:"0" max:"1000000" help:"use rows of <N> random tokens, repeated once; 0: 32, or as many as the model has positions for"`
	Rows   int    `yaml:"rows" default:"4" min:"1" max:"1000000" help:"average over <N> rows of random tokens"` // 0: 4
	Seed   uint64 `yaml:"seed" default:"1" help:"seed the random tokens with <N>"`
}

// Name is heads.
func (Heads) Name() string { return "heads" }

// Card describes Heads.
func (Heads) Card() Card {
	return Card{
		Summary: "induction and previous-token heads, and what heads attend to in a prompt",
		Example: `
			analyze heads -checkpoint runs/quickstart
			analyze heads -checkpoint runs/quickstart -prompt "for i := 0; i < n; i++ {" -layer 1 -out /tmp/heads`,
		Notes: `
			With -layer and -head, that head is shown as one linear map of the sequence, A ⊗ W_OV.
			Scores are measured on random tokens that repeat once (Olsson et al. 2022). Without a
			prompt that the model can read, attention is shown on the first of those rows.`,
	}
}

// maxRandomTokens bounds Rows times Period.
const maxRandomTokens = 1_000_000

// Run reports induction and previous-token scores of all heads and what they attend to in a
// prompt or, of one head of one layer, that head as a tensor product.
func (o Heads) Run(ctx context.Context, m *Model) (*Report, error) {
	at, err := o.Place.in(m.Spec)
	if err != nil {
		return nil, err
	}
	period, rows := cmp.Or(o.Period, min(32, m.Spec.Seq/2)), o.Rows
	if period > maxRandomTokens/max(1, rows) {
		return nil, check.Valuef("rows", fmt.Sprintf("%d times %d", rows, period), "rows times period of at most %d", maxRandomTokens)
	}
	if err := m.checkLength("period: twice that", 2*period); err != nil {
		return nil, err
	}
	scores, err := analysis.InductionScores(ctx, m.Store, m.Spec, period, rows, o.Seed)
	if err != nil {
		return nil, err
	}
	ids := analysis.RepeatedTokens(m.Spec.Vocab, period, 1, o.Seed)
	if m.Tokenizer != nil || o.Prompt.given() {
		if ids, err = o.Prompt.Read(m, 2); err != nil {
			return nil, err
		}
	}
	r := m.NewReport("Heads", ids)
	r.Add("scores", "Induction heads",
		"On random tokens that repeat, an induction head attends to what followed this token the last time; a previous-token head, below it, to the token before.",
		scores)
	if at.one() {
		return r, r.addTensorProduct(m, ids, at)
	}
	return r, r.addPatterns(m, ids, at)
}

// Curves are the scores of all heads.
func (Heads) Curves(_ *Model, r *Report) (all []Curve, err error) {
	s := r.Results["scores"].(*analysis.HeadScores)
	induction, previous := s.Chance()
	for _, of := range []struct {
		unit   string
		scores [][]float64 // [layer][head]
		chance *float64
	}{{"induction score", s.Induction, &induction}, {"previous-token score", s.Previous, &previous}} {
		for l, heads := range of.scores {
			for h, score := range heads {
				all = append(all, Curve{stream.PartName(fmt.Sprintf("blocks.%d.attention", l), stream.HeadPart, h), of.unit, score, of.chance})
			}
		}
	}
	return all, nil
}

// addTensorProduct adds one head as a linear map of the sequence.
func (r *Report) addTensorProduct(m *Model, ids []int32, at place) error {
	product, err := analysis.RunTensorProduct(m.Store, m.Spec, ids, at.layer, at.head)
	if err != nil {
		return err
	}
	p := r.Add("tensor-product", product.Name()+" as a tensor product",
		"With its attention pattern A fixed, a head is the linear map A ⊗ W_OV: A moves between tokens, W_OV between entries of the stream. It equals "+
			"what the head wrote.", product)
	p.LabelTokens(m, ids)
	for i, row := range p.Table.Rows {
		row[1] = m.word(int(ids[i]))
	}
	return nil
}

// addPatterns adds the attention patterns of the chosen layers.
func (r *Report) addPatterns(m *Model, ids []int32, at place) error {
	run, err := m.run(ids, []string{"blocks.*.attention.pattern"})
	if err != nil {
		return err
	}
	for l := range m.Spec.Depth() {
		if at.layer >= 0 && at.layer != l {
			continue
		}
		r.part(fmt.Sprintf("attention-%d", l), fmt.Sprintf("Attention of layer %d", l),
			"How much each head attends, at each token, to the tokens up to it.")(analysis.Patterns(run, l)).LabelTokens(m, ids)
	}
	return r.err
}
