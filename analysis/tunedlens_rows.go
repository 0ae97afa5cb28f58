package analysis

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/residua-go/residua/analysis/numerics"
	"github.com/residua-go/residua/models"
)

// lensRows holds the inputs of lenses for tokens of text.
type lensRows struct {
	width   int
	cap     float64    // soft cap of logits; 0: none
	weights *mat.Dense // of the unembedding, [F, Vocab]
	after   []string
	seen    [][]float64    // for each writer [tokens, F]
	ends    []float64      // the features at the end, [tokens, F]
	normed  *Decomposition // its readout has a norm after the maps; nil: no norm follows them
}

func newLensRows(m *models.Model, spec models.Spec) *lensRows {
	return &lensRows{width: spec.Features(), cap: spec.LogitSoftcap, weights: mat.NewDense(spec.Features(), spec.Vocab, m.UnembeddingWeights())}
}

func (r *lensRows) tokens() int { return len(r.ends) / r.width }

// add keeps the inputs of lenses from a run.
func (r *lensRows) add(d *Decomposition) {
	point, tokens := 0, d.frozen.Tokens()
	var features []float64
	d.eachEnd(0, tokens, func(after string, ends []float64) {
		x, normed := d.lensInputs(ends, 0, tokens)
		if normed {
			r.normed = d
		}
		if point == len(r.seen) {
			r.after, r.seen = append(r.after, after), append(r.seen, nil)
		}
		r.seen[point] = append(r.seen[point], x...)
		point++
		features = d.featuresOf(ends, 0, tokens)
	})
	r.ends = append(r.ends, features...)
}

// choose returns the rows of x [tokens, F] that batch lists.
func (r *lensRows) choose(x []float64, batch []int) *mat.Dense {
	chosen := mat.NewDense(len(batch), r.width, nil)
	for i, token := range batch {
		chosen.SetRow(i, x[token*r.width:][:r.width])
	}
	return chosen
}

// logits returns the logits [n, Vocab] of features [n, F].
func (r *lensRows) logits(features *mat.Dense) *mat.Dense {
	logits := numerics.Mul(features, r.weights)
	if r.cap > 0 {
		logits.Apply(func(_, _ int, v float64) float64 { return r.cap * math.Tanh(v/r.cap) }, logits)
	}
	return logits
}

// final returns the log-probabilities [n, Vocab] that the model itself gives.
func (r *lensRows) final(batch []int) *mat.Dense {
	logits := r.logits(r.choose(r.ends, batch))
	for i := range batch {
		row := logits.RawRowView(i)
		floats.AddConst(-floats.LogSumExp(row), row)
	}
	return logits
}

// gradient returns the gradients with respect to a map's weight and bias of the mean of KL(final ||
// lens) over a batch, for the map after writer number i. final has the batch's log-probabilities.
func (r *lensRows) gradient(i int, t Translator, batch []int, final *mat.Dense) (weight *mat.Dense, bias []float64) {
	x := r.choose(r.seen[i], batch)
	logits, back := r.look(t, x)
	for n := range batch {
		r.rowGradient(logits.RawRowView(n), final.RawRowView(n))
	}
	logits.Scale(1/float64(len(batch)), logits)
	dz := back(numerics.Mul(logits, r.weights.T()))
	bias = make([]float64, r.width)
	for n := range batch {
		floats.Add(bias, dz.RawRowView(n))
	}
	return numerics.Mul(x.T(), dz), bias
}

// look returns the logits [n, Vocab] of x [n, F] through a map, and the function that takes a
// gradient with respect to the features back to the map's output.
func (r *lensRows) look(t Translator, x *mat.Dense) (logits *mat.Dense, back func(dy *mat.Dense) *mat.Dense) {
	z := t.apply(x)
	if r.normed == nil {
		return r.logits(z), func(dy *mat.Dense) *mat.Dense { return dy }
	}
	features, back := r.normed.normed(z)
	return r.logits(features), back
}

// rowGradient returns KL(final || lens) and replaces a token's logits by its gradient with respect
// to the logits before the soft cap.
func (r *lensRows) rowGradient(logits, final []float64) float64 {
	logZ, kl := floats.LogSumExp(logits), 0.0
	for v, logit := range logits {
		p, logQ := math.Exp(final[v]), logit-logZ
		kl += p * (final[v] - logQ)
		logits[v] = math.Exp(logQ) - p
		if r.cap > 0 {
			logits[v] *= 1 - logit*logit/(r.cap*r.cap)
		}
	}
	return kl
}

// divergence returns the mean of KL(final || lens) over all tokens, for the map after writer number
// i.
func (r *lensRows) divergence(i int, t Translator) float64 {
	sum := 0.0
	for from := 0; from < r.tokens(); from += lensChunk {
		var batch []int
		for token := from; token < min(from+lensChunk, r.tokens()); token++ {
			batch = append(batch, token)
		}
		final := r.final(batch)
		logits, _ := r.look(t, r.choose(r.seen[i], batch))
		for n := range batch {
			sum += r.rowGradient(logits.RawRowView(n), final.RawRowView(n))
		}
	}
	return sum / float64(r.tokens())
}
