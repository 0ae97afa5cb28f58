package report

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/generate"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/cache"
	"github.com/residua-go/residua/models/check"
	"github.com/residua-go/residua/stream"
)

// Steer shows what the model says with a direction added to its stream. Its fields say which
// direction is added where, and how the text goes on.
type Steer struct {
	Prompt
	// The direction is the activation at the end of Toward minus the activation at the end of Away;
	// if Away is "", it is Toward's alone.
	Toward      string   `yaml:"toward" help:"steer to what the model makes of <TEXT>"`
	Away        string   `yaml:"away" help:"and away from what it makes of <TEXT>"`
	Activation  string   `yaml:"name" help:"add to activation <NAME>; without, the stream after the attention of the middle block"`
	At          cache.At `yaml:"at" help:"add to the entries <AXIS=N,...> of each token alone, such as head=3"`
	Scale       float64  `yaml:"scale" default:"1" help:"add <S> times the direction, to every token; below 0: the other way"`
	Relative    bool     `yaml:"relative" help:"make the direction as long as what it is added to, on average over the prompt: -scale 0.5 adds half of it"`
	Tokens      int      `yaml:"tokens" default:"40" min:"1" max:"1000000" help:"continue the prompt by <N> tokens"` // 0: 40
	Temperature float64  `yaml:"temperature" min:"0" help:"divide the logits by <T> before a token is drawn; 0: the likeliest tokens"`
	Seed        uint64   `yaml:"seed" default:"1" help:"seed the draws with <N>"`
}

// Name is steer.
func (Steer) Name() string { return "steer" }

// Card describes Steer.
func (Steer) Card() Card {
	return Card{
		Summary: "what the model says with a direction added to its stream: text with and without",
		Example: `
			analyze steer -checkpoint runs/quickstart -toward "return err" -away "return nil" -scale 4
			analyze steer -checkpoint runs/quickstart -prompt "if err != " -toward "// " -name blocks.1.attention.heads -at head=2`,
		Notes: `
			The direction is the activation at the last token of -toward, minus that of -away; it is added
			to every token of the prompt and of the text (Turner et al. 2023). -relative makes it as long as
			the activation is, so that scales mean the same in all models. analyze export lists the names.`,
	}
}

// Steering holds what a model says with and without a direction added to an activation.
type Steering struct {
	Activation string      `json:"activation"`
	Scale      float64     `json:"scale"`
	Norm       float64     `json:"norm"`      // of the direction
	Mean       float64     `json:"mean_norm"` // of what it is added to, over the prompt's tokens
	Texts      [2]string   `json:"texts"`     // untouched, steered
	Next       []NextToken `json:"next"`      // the likeliest tokens after the prompt, of either
}

// NextToken is a token's probability after the prompt.
type NextToken struct {
	ID        int     `json:"id"`
	Text      string  `json:"text"`
	Untouched float64 `json:"untouched"`
	Steered   float64 `json:"steered"`
}

// Steer adds a direction to an activation at every token, of a prompt and of the text that
// continues it (Turner et al. 2023, "Activation Addition"), and reports what the model says with
// and without.
func (o Steer) Run(ctx context.Context, m *Model) (*Report, error) {
	o.Activation = cmp.Or(o.Activation, stream.Site{Block: m.Spec.Depth() / 2, Sublayer: stream.Attention}.Name()+".stream")
	if o.Scale == 0 {
		return nil, check.Value("scale", "a number other than 0", o.Scale)
	}
	if o.Toward == "" {
		return nil, check.Value("toward", "a text", "none")
	}
	ids, err := o.Prompt.Read(m, 1)
	if err != nil {
		return nil, err
	}
	r, err := cache.New(m.Store, m.Spec, cache.Options{Names: []string{o.Activation}, Seq: len(ids)})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	direction, err := o.direction(m)
	if err != nil {
		return nil, err
	}
	s := &Steering{Activation: o.Activation, Scale: o.Scale}
	run, err := r.Run(ids)
	if err != nil {
		return nil, err
	}
	of, _ := run.Get(o.Activation) // direction has found it
	for t := range ids {
		x, _ := of.OfToken(o.At, t)
		s.Mean += floats.Norm(x, 2) / float64(len(ids))
	}
	s.Norm = floats.Norm(direction, 2)
	if o.Relative && s.Norm > 0 {
		floats.Scale(s.Mean/s.Norm, direction)
		s.Norm = s.Mean
	}
	change := cache.Steer(o.Activation, o.At, direction, o.Scale)
	if s.Next, err = nextTokens(m, r, ids, change); err != nil {
		return nil, err
	}
	if s.Texts, err = o.texts(ctx, m, ids, of.Axes, change); err != nil {
		return nil, err
	}
	report := m.NewReport("Steering", ids)
	text := fmt.Sprintf("To %s at every token %g times the direction from %q to %q is added.", o.Activation, o.Scale, o.Away, o.Toward)
	report.Add("steering", "With and without", text, s)
	return report, nil
}

// direction returns the difference of the activations at the ends of two texts.
func (o Steer) direction(m *Model) ([]float64, error) {
	toward, err := o.ending(m, "toward", o.Toward)
	if err != nil || o.Away == "" {
		return toward, err
	}
	away, err := o.ending(m, "away", o.Away)
	if err != nil {
		return nil, err
	}
	floats.Sub(toward, away)
	return toward, nil
}

// ending returns the chosen entries at the last token of an option's text.
func (o Steer) ending(m *Model, option, text string) ([]float64, error) {
	ids, err := m.encode(option, text, o.BOS, 1)
	if err != nil {
		return nil, err
	}
	if err := m.checkLength(option, len(ids)); err != nil {
		return nil, err
	}
	run, err := m.run(ids, []string{o.Activation})
	if err != nil {
		return nil, err
	}
	a, err := run.Get(o.Activation)
	if err != nil {
		return nil, check.Value("name", "one activation", o.Activation)
	}
	for axis := range o.At {
		if axis == graph.TokenAxis || a.Axis(axis) < 0 {
			return nil, check.Valuef("at", axis, "axes of %s but that of tokens, %s", o.Activation, strings.Join(a.Axes, ", "))
		}
	}
	return a.OfToken(o.At, len(ids)-1)
}

// nextTokens compares the likeliest tokens after the prompt.
func nextTokens(m *Model, r *cache.Runner, ids []int32, change cache.Intervention) ([]NextToken, error) {
	var logits [2][]float64
	for i, changes := range [][]cache.Intervention{nil, {change}} {
		run, err := r.Run(ids, changes...)
		if err != nil {
			return nil, err
		}
		logits[i], _ = run.TokenLogits(len(ids) - 1)
	}
	var steered []int
	for _, p := range analysis.Predictions(logits[1], answerShown) {
		steered = append(steered, p.ID)
	}
	logZ := floats.LogSumExp(logits[1])
	var next []NextToken
	for _, p := range analysis.Predictions(logits[0], answerShown, steered...) {
		next = append(next, NextToken{p.ID, m.text(p.ID), p.Probability, math.Exp(logits[1][p.ID] - logZ)})
	}
	slices.SortFunc(next, func(a, b NextToken) int { return cmp.Or(cmp.Compare(b.Untouched, a.Untouched), a.ID-b.ID) })
	return next, nil
}

// texts continues the prompt without and with the change, with one program, so that nothing else
// differs.
func (o Steer) texts(ctx context.Context, m *Model, ids []int32, axes []string, change cache.Intervention) (texts [2]string, err error) {
	var changes []cache.Intervention
	options := generate.Options{Hooks: graph.Hooks{o.Activation: func(name string, x *tensor.Dense) error {
		return cache.ApplyAll(name, axes, x, changes...)
	}}}
	if m.Spec.Attention.Positions != models.PositionsLearned {
		options.Window = max(m.Spec.Seq, len(ids)+o.Tokens)
	}
	g, err := generate.New(m.Store, m.Spec, m.Tokenizer, options)
	if err != nil {
		return texts, err
	}
	defer g.Close()
	for i := range texts {
		if i == 1 {
			changes = append(changes, change)
		}
		request := generate.Request{IDs: ids, Tokens: o.Tokens, Temperature: o.Temperature, Seed: o.Seed}
		var text strings.Builder
		if _, err := g.Generate(ctx, request, func(p generate.Piece) error {
			text.WriteString(p.Text)
			return nil
		}); err != nil {
			return texts, err
		}
		texts[i] = text.String()
	}
	return texts, nil
}

// Table shows both texts.
func (s *Steering) Table() figure.Table {
	t := figure.Table{Title: fmt.Sprintf("%s plus %g times a direction of norm %.4g (its own is %.4g on average)", s.Activation, s.Scale, s.Norm, s.Mean),
		Header: []string{"run", "text"}}
	t.Row("untouched", s.Texts[0])
	t.Row("steered", s.Texts[1])
	return t
}

// Figures are the likeliest next tokens' probabilities.
func (s *Steering) Figures() []figure.Figure {
	b := figure.NewBars("The token after the prompt", "probability", "untouched", "steered")
	for _, n := range s.Next {
		b.AddGroup(n.Text, n.Untouched, n.Steered)
	}
	return []figure.Figure{b}
}
