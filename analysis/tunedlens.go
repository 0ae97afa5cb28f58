package analysis

import (
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/residua-go/residua/analysis/numerics"
)

// TunedLens is a logit lens that has learned the way to the end (Belrose et al. 2023, "Eliciting
// Latent Predictions from Transformers with the Tuned Lens", arXiv 2303.08112, eq. 8): each writer
// but the last is followed by its own affine map,
//
//	logits = Unembed(Norm(u A + b))
//
// with u [F] what the readout reads from the stream so far. In streams where more than a norm makes
// the features (the matrix stream's keys read after it), the map acts on the features x [F]: logits
// = Unembed(x A + b).
type TunedLens struct{ Maps []Translator }

// Translator is a writer's map, z = x Weight + Bias.
type Translator struct {
	After  string    // the writer
	Weight []float64 // A [F, F]
	Bias   []float64 // b [F]
}

// IdentityLens returns the tuned lens that equals the logit lens; training starts with it.
// after lists the writers, and width is F.
func IdentityLens(after []string, width int) *TunedLens {
	l := &TunedLens{}
	for _, writer := range after {
		l.Maps = append(l.Maps, Translator{writer, numerics.Identity(width).RawMatrix().Data, make([]float64, width)})
	}
	return l
}

// apply returns z [n, F] for rows x [n, F].
func (t Translator) apply(x *mat.Dense) *mat.Dense {
	z := numerics.Mul(x, mat.NewDense(len(t.Bias), len(t.Bias), t.Weight))
	n, _ := z.Dims()
	for i := range n {
		floats.Add(z.RawRowView(i), t.Bias)
	}
	return z
}

// Tuned returns the same decomposition with lenses that look through l.
func (d *Decomposition) Tuned(l *TunedLens) *Decomposition {
	tuned := *d
	tuned.lens = l
	return &tuned
}

// lensInputs returns what the maps of a tuned lens act on, [n, F], for n tokens' ends in ends [T,
// Size]; normed tells whether a norm follows.
func (d *Decomposition) lensInputs(ends []float64, first, n int) (x []float64, normed bool) {
	u, _ := d.frozen.ReadoutInput(ends) // as many as Decompose has read out
	if _, _, normed = d.frozen.ReadoutNorm(u); !normed {
		return d.featuresOf(ends, first, n), false
	}
	width := len(u) / d.frozen.Tokens()
	return u[first*width:][:n*width], true
}

// translated returns the features [n, F] after a writer, mapped by the tuned lens if it has a map
// for the writer.
func (d *Decomposition) translated(after string, ends []float64, first, n int) []float64 {
	at := -1
	if d.lens != nil {
		at = slices.IndexFunc(d.lens.Maps, func(t Translator) bool { return t.After == after })
	}
	if at < 0 {
		return d.featuresOf(ends, first, n)
	}
	x, normed := d.lensInputs(ends, first, n)
	z := d.lens.Maps[at].apply(mat.NewDense(n, len(x)/n, x))
	if normed {
		z, _ = d.normed(z)
	}
	return z.RawMatrix().Data
}

// normed returns the readout's norm of rows z [n, F], and the function that takes a gradient back
// through it.
func (d *Decomposition) normed(z *mat.Dense) (y *mat.Dense, back func(dy *mat.Dense) *mat.Dense) {
	n, width := z.Dims()
	norm, bias, _ := d.frozen.ReadoutNorm(z.RawMatrix().Data)
	y = mat.NewDense(n, width, nil)
	for t := range n {
		y.SetRow(t, norm.Apply(t, z.RawRowView(t)))
		if bias != nil {
			floats.Add(y.RawRowView(t), bias)
		}
	}
	return y, func(dy *mat.Dense) *mat.Dense {
		dz := mat.NewDense(n, width, nil)
		for t := range n {
			dz.SetRow(t, norm.Backward(t, z.RawRowView(t), dy.RawRowView(t)))
		}
		return dz
	}
}
