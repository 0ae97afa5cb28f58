package analysis

import (
	"context"
	"fmt"
	"math/rand/v2"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/cache"
	"github.com/residua-go/residua/models/check"
	"github.com/residua-go/residua/optim"
)

// tuneBatch is the number of tokens in a step of training.
const tuneBatch = 512

// heldOut is the number of rows of which one is held out for measuring.
const heldOut = 5

// TuneLens trains a tuned lens of a model on tokens, in rows as long as in training. It minimises
// the divergence of the lens from the model's own distribution, KL(final || lens), averaged over
// tokens and writers, by Adam at a rate of 0.3/F that falls to 0 along half a cosine. Every fifth
// row is held out; LensFit has the divergence there. It returns an error if there are fewer than 2
// rows.
func TuneLens(ctx context.Context, store *graph.Store, spec models.Spec, tokens []int32, steps int) (*TunedLens, *LensFit, error) {
	if err := check.AtLeast("steps", 1, steps); err != nil {
		return nil, nil, err
	}
	train, test, err := gatherLens(ctx, store, spec, tokens)
	if err != nil {
		return nil, nil, err
	}
	lens := IdentityLens(train.after[:len(train.after)-1], spec.Features())
	if err := train.fit(ctx, lens, steps); err != nil {
		return nil, nil, err
	}
	fit := &LensFit{After: train.after[:len(train.after)-1], Tokens: test.tokens()}
	for i, plain := range IdentityLens(fit.After, spec.Features()).Maps {
		fit.Plain, fit.Tuned = append(fit.Plain, test.divergence(i, plain)), append(fit.Tuned, test.divergence(i, lens.Maps[i]))
	}
	return lens, fit, nil
}

// gatherLens runs the model on the rows of tokens and keeps the inputs of lenses.
func gatherLens(ctx context.Context, store *graph.Store, spec models.Spec, tokens []int32) (train, test *lensRows, err error) {
	rows := len(tokens) / spec.Seq
	if rows < 2 {
		return nil, nil, check.Valuef("text", len(tokens), "at least %d tokens, 2 rows of the model's %d", 2*spec.Seq, spec.Seq)
	}
	names, err := DecompositionNames(store, spec)
	if err != nil {
		return nil, nil, err
	}
	r, err := cache.New(store, spec, cache.Options{Names: names})
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	train, test = newLensRows(r.Model(), spec), newLensRows(r.Model(), spec)
	for row := range rows {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		run, err := r.Run(tokens[row*spec.Seq:][:spec.Seq])
		if err != nil {
			return nil, nil, err
		}
		d, err := Decompose(run)
		if err != nil {
			return nil, nil, err
		}
		to := train
		if row%heldOut == 1 {
			to = test
		}
		to.add(d)
	}
	return train, test, nil
}

// fit trains all maps.
func (r *lensRows) fit(ctx context.Context, l *TunedLens, steps int) error {
	store := graph.NewStore(tensor.Float64, 0)
	b := graph.On(gorgonia.NewGraph(), graph.Options{Store: store, DType: tensor.Float64})
	for _, t := range l.Maps {
		b.Param(graph.ParamSpec{Name: t.After + ".weight", Shape: []int{r.width, r.width}})
		b.Param(graph.ParamSpec{Name: t.After + ".bias", Shape: []int{r.width}})
	}
	params := store.Params() // a weight and a bias for each map, which are the map's own
	for i, t := range l.Maps {
		for j, x := range []*[]float64{&t.Weight, &t.Bias} {
			p := params[2*i+j]
			copy(p.Value.Float64s(), *x)
			*x, p.Grad = p.Value.Float64s(), tensor.New(tensor.Of(tensor.Float64), tensor.WithShape(p.Shape...))
		}
		l.Maps[i] = t
	}
	adam, _ := optim.New(store, 0, optim.Adam(0.9, 0.999, 1e-8), optim.Rate(0.3/float64(r.width), optim.WarmupCosine{Total: steps}))
	defer adam.Close()
	random, order := rand.New(rand.NewPCG(0, 0)), []int(nil)
	for range steps {
		if err := ctx.Err(); err != nil {
			return err
		}
		if len(order) < tuneBatch {
			order = append(order, random.Perm(r.tokens())...)
		}
		n := min(tuneBatch, len(order))
		batch := order[:n]
		order = order[n:]
		final := r.final(batch)
		for i, t := range l.Maps {
			weight, bias := r.gradient(i, t, batch, final)
			copy(params[2*i].Grad.Float64s(), weight.RawMatrix().Data)
			copy(params[2*i+1].Grad.Float64s(), bias)
		}
		if _, err := adam.Step(1); err != nil {
			return err
		}
	}
	return nil
}

// LensFit says how far lenses are from the model's own distribution on text that the tuned lens has
// not seen: KL(final || lens) in nats, mean over tokens.
type LensFit struct {
	After  []string  `json:"after"` // writers
	Plain  []float64 `json:"plain"` // of the logit lens
	Tuned  []float64 `json:"tuned"` // of the tuned lens
	Tokens int       `json:"tokens"`
}

func (f *LensFit) title() string {
	return fmt.Sprintf("KL(final || lens) in nats, mean over %d held-out tokens", f.Tokens)
}

// Table lists both lenses' divergence after each writer.
func (f *LensFit) Table() figure.Table {
	t := figure.NewTable(f.title(), "lrr", "after", "logit lens", "tuned lens")
	for i, after := range f.After {
		t.Row(after, f.Plain[i], f.Tuned[i])
	}
	return t
}

// Figures are bars of both lenses' divergence.
func (f *LensFit) Figures() []figure.Figure {
	b := figure.NewBars(f.title(), "nats")
	for i, after := range f.After {
		b.Add(after+", logit lens", f.Plain[i])
		b.Add(after+", tuned lens", f.Tuned[i])
	}
	return []figure.Figure{b}
}
