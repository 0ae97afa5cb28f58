package modeltest

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/models"
)

// checkShapes checks that features are [T, ...F] with Spec.Features entries for each token,
// logits [T, vocab], the loss a scalar and token losses [T], and that no two parameters share
// a name.
func checkShapes(t *testing.T, spec models.Spec) {
	p := Compile(t, spec, NewStore(t, spec, tensor.Float32, 0), Setup{})
	tokens := rows * spec.Seq
	assert.Equal(t, tokens, p.Features.Shape()[0], "tokens of the features")
	assert.Equal(t, tokens*spec.Features(), p.Features.Shape().TotalSize(), "entries of the features")
	assert.Equal(t, tensor.Shape{tokens, spec.Vocab}, p.Logits.Shape(), "logits")
	assert.True(t, p.Roots().Loss.IsScalar(), "loss of shape %v", p.Roots().Loss.Shape())
	assert.Equal(t, tensor.Shape{tokens}, p.TokenLosses.Shape(), "token losses")
	assert.Equal(t, spec, p.Model.Spec())
	names := map[string]bool{}
	for i, n := range p.Model.Learnables() {
		assert.False(t, names[n.Name()], "two parameters are called %q", n.Name())
		names[n.Name()] = true
		assert.Equal(t, p.Store().Params()[i].Name, n.Name())
		assert.Equal(t, p.Store().Params()[i].Shape, []int(n.Shape()), n.Name())
	}
	r := p.On(t, RandomBatch(spec, rows, spec.Seq, 1))
	assert.Len(t, r.Logits, tokens*spec.Vocab)
	assert.Len(t, r.TokenLosses, tokens)
	for _, v := range r.Logits {
		require.False(t, math.IsNaN(v) || math.IsInf(v, 0), "logits have %v", v)
	}
}

// checkLoss checks that the losses equal losses computed here from the logits, token by token,
// and that negative targets are not counted.
func checkLoss(t *testing.T, spec models.Spec) {
	p := Compile(t, spec, PerturbedStore(t, spec, tensor.Float64), Setup{Auxiliary: models.Auxiliary{ZLoss: auxiliary.ZLoss}})
	b := documentBatch(spec, rows, 2)
	b.Targets[3] = -1
	r := p.On(t, b)
	sum, squares, counted := 0.0, 0.0, 0
	for i, target := range b.Targets {
		if target < 0 {
			assert.Zero(t, r.TokenLosses[i], "loss of a token that does not count")
			continue
		}
		logits := r.Logits[i*spec.Vocab : (i+1)*spec.Vocab]
		logZ := floats.LogSumExp(logits)
		require.InDelta(t, logZ-logits[target], r.TokenLosses[i], 1e-12*(1+logZ), "loss of token %d", i)
		sum, squares, counted = sum+logZ-logits[target], squares+logZ*logZ, counted+1
	}
	n := float64(counted)
	assert.InEpsilon(t, sum/n, r.CrossEntropy, 1e-12, "cross-entropy")
	assert.InDelta(t, auxiliary.ZLoss*squares/n, r.ZLoss, 1e-12*squares, "z-loss")
	assert.InEpsilon(t, r.CrossEntropy+r.ZLoss, r.Loss, 1e-12, "loss")
}
