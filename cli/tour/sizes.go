package tour

import (
	"context"
	"fmt"
	"math"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/runconfig"
	"github.com/residua-go/residua/trainer"
)

// size is the size of an RMT, in the form of the preset quickstart.
type size struct{ layers, width, rank, hidden int } // width: key and value size

// sizes lists what a tour may train, the smallest first.
var sizes = [...]size{{2, 16, 4, 128}, {3, 16, 6, 256}, {4, 16, 8, 384}, {4, 24, 8, 512}, {4, 32, 8, 1024}, {6, 40, 8, 1536}, {8, 48, 12, 2304}}

// tokensPerParameter is how many tokens a model should at least be trained on for each parameter.
const tokensPerParameter = 5

// rmt returns the config's keys of the RMT.
func (s size) rmt() []string {
	return []string{"model.preset=quickstart", fmt.Sprintf("model.layers=%d", s.layers), fmt.Sprintf("model.stream.dk=%d", s.width),
		fmt.Sprintf("model.stream.dv=%d", s.width), fmt.Sprintf("model.stream.rank=%d", s.rank), fmt.Sprintf("model.feedforward.hidden=%d", s.hidden)}
}

// transformer returns the keys of a transformer of the same depth, heads and head size.
func (s size) transformer(hidden int) []string {
	return []string{"model.preset=quickstart-transformer", fmt.Sprintf("model.layers=%d", s.layers), fmt.Sprintf("model.stream.d_model=%d", s.rank*s.width),
		fmt.Sprintf("model.attention.heads=%d", s.rank), fmt.Sprintf("model.feedforward.hidden=%d", hidden)}
}

// pair returns both runs of a size, the RMT first, whose tokens cost the same: the transformer's
// feed-forward is made as wide as fits.
func (c *call) pair(s size, steps int) (pair [2]*runconfig.Run, err error) {
	if pair[0], err = c.config("rmt", steps, s.rmt()); err != nil {
		return pair, err
	}
	const unit = 8 // of the hidden size
	var costs [2]float64
	for i := range costs {
		run, err := c.config("transformer", steps, s.transformer((i+1)*unit))
		if err != nil {
			return pair, err
		}
		costs[i] = cost(run)
	}
	units := 1 + math.Round((cost(pair[0])-costs[0])/(costs[1]-costs[0])) // the cost grows linearly
	pair[1], err = c.config("transformer", steps, s.transformer(unit*int(max(1, units))))
	return pair, err
}

// cost returns the FLOPs of training on a token.
func cost(run *runconfig.Run) float64 { return float64(run.Spec().Cost().TrainFLOPs()) }

// choose picks the largest size that can be trained on enough tokens in the time, and the number of
// steps that both models make.
func (c *call) choose(ctx context.Context, corpus *data.Corpus) (chosen, steps int, err error) {
	budget := c.training()
	pair, err := c.pair(sizes[0], 1)
	if err != nil {
		return 0, 0, err
	}
	second, err := c.step(ctx, pair[0], corpus)
	if err != nil {
		return 0, 0, err
	}
	speed := cost(pair[0]) * float64(pair[0].StepTokens()) / second // FLOP a second
	for i, s := range sizes[1:] {
		run, err := c.config("rmt", 1, s.rmt())
		if err != nil {
			return 0, 0, err
		}
		if speed*budget/(2*cost(run)) >= tokensPerParameter*float64(run.Spec().Cost().Parameters) {
			chosen = 1 + i
		}
	}
	if pair, err = c.pair(sizes[chosen], 1); err != nil {
		return 0, 0, err
	}
	seconds := 0.0 // a step of each
	for _, run := range pair {
		second, err := c.step(ctx, run, corpus)
		if err != nil {
			return 0, 0, err
		}
		seconds += second
	}
	return chosen, max(10, int(budget/seconds)), nil
}

// step returns the seconds that a step of a run takes.
func (c *call) step(ctx context.Context, run *runconfig.Run, corpus *data.Corpus) (float64, error) {
	t, err := trainer.Open(ctx, run, trainer.Options{Dry: true, Corpus: corpus})
	if err != nil {
		return 0, err
	}
	defer t.Close()
	e, err := t.Estimate(ctx)
	const besides = 1.1 // validation, samples and checkpoints
	return besides * (e.MicroBatch.Seconds()*float64(run.Train.Accumulate) + e.Update.Seconds()), errors.Wrap(err, run.Name)
}
