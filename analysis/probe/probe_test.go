package probe

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/residua-go/residua/models/check"
)

// planted are tokens of documents whose class is the sign of their first entry, among noise; entry
// 2 is always the same, and 3 is the document's number.
func planted(documents, each int) Data {
	draw := rand.New(rand.NewPCG(1, 2))
	d := Data{X: mat.NewDense(documents*each, 4, nil), Classes: 2}
	for i := range documents * each {
		document := i / each
		d.X.SetRow(i, []float64{draw.NormFloat64(), 10 * draw.NormFloat64(), 5, float64(document)})
		label := 0
		if d.X.At(i, 0) > 0 {
			label = 1
		}
		d.Labels, d.Documents = append(d.Labels, label), append(d.Documents, int32(document))
	}
	return d
}

// TestProbeFindsWhatIsThere: both methods read a planted class, and nothing more than chance from
// shuffled labels or from entries without it.
func TestProbeFindsWhatIsThere(t *testing.T) {
	for _, method := range []Method{Ridge, Logistic} {
		d := planted(20, 40)
		s, err := Measure(t.Context(), d, Options{Method: method, Folds: 5, Seed: 1})
		require.NoError(t, err)
		assert.Greater(t, s.Accuracy.Mean, 0.93, method)
		assert.Less(t, s.Accuracy.Low, s.Accuracy.Mean)
		assert.Greater(t, s.Accuracy.High, s.Accuracy.Mean)
		assert.InDelta(t, 0.5, s.Chance.Mean, 0.06)
		assert.Less(t, s.Chance.High, s.Accuracy.Low)
		require.Len(t, s.Penalties, 5)
		d.X = mat.DenseCopyOf(d.X.Slice(0, 800, 1, 4))
		s, err = Measure(t.Context(), d, Options{Method: method, Folds: 5, Seed: 1})
		require.NoError(t, err)
		assert.InDelta(t, 0.5, s.Accuracy.Mean, 0.06, method)
	}
	_, err := Measure(t.Context(), planted(3, 9), Options{Folds: 2})
	require.ErrorIs(t, err, check.ValueError{Name: "documents"})
}

// TestDocumentsStayTogether: no document is in two parts, each label stays in its document when
// labels are shuffled, and a label that only tells documents apart is no better than chance.
func TestDocumentsStayTogether(t *testing.T) {
	d := planted(11, 7)
	all := make([]int, 77)
	for i := range all {
		all[i] = i
	}
	draw := rand.New(rand.NewPCG(3, 4))
	parts := d.parts(draw, all, 4)
	require.Len(t, parts, 4)
	of := map[int32]int{}
	for p, tokens := range parts {
		for _, i := range tokens {
			before, seen := of[d.Documents[i]]
			require.True(t, !seen || before == p)
			of[d.Documents[i]] = p
		}
		require.ElementsMatch(t, all, append(without(parts, p), tokens...))
	}
	shuffled := d.shuffled(draw)
	require.NotEqual(t, d.Labels, shuffled)
	for document := range 11 {
		require.ElementsMatch(t, d.Labels[document*7:][:7], shuffled[document*7:][:7])
	}
	require.InDeltaSlice(t, []float64{0, 0, 0, 1. / 7, 0, 0, 0, 0, 0, 0, 0}, d.byDocument(slices.Concat(make([]float64, 23), []float64{1}, make([]float64, 53))), 1e-15)
}

// TestFitsAreTheLeast: what is fitted solves the equations of the least by plain loops, entry by
// entry, on standardised entries.
func TestFitsAreTheLeast(t *testing.T) {
	d := planted(4, 30)
	d.Classes = 3
	for i := range d.Labels {
		d.Labels[i] = (d.Labels[i] + i%5) % 3
	}
	tokens := []int{}
	for i := range 100 {
		tokens = append(tokens, i)
	}
	for _, method := range []Method{Ridge, Logistic} {
		f := d.newFit(tokens, method)
		y := d.Labels[:100]
		w, b, err := f.solve(y, 2)
		require.NoError(t, err)
		for c := range 3 {
			gradient := []float64{2 * w.At(0, c), 2 * w.At(1, c), 2 * w.At(2, c), 2 * w.At(3, c), 0}
			for i := range 100 {
				score, sum := make([]float64, 3), 0.0
				for k := range 3 {
					score[k] = b[k]
					for j := range 4 {
						x := (d.X.At(i, j) - f.mean[j]) / f.deviation[j]
						score[k] += x * w.At(j, k)
					}
					sum += math.Exp(score[k])
				}
				residual := score[c]
				if method == Logistic {
					residual = math.Exp(score[c]) / sum
				}
				if y[i] == c {
					residual--
				}
				for j := range 4 {
					gradient[j] += residual * (d.X.At(i, j) - f.mean[j]) / f.deviation[j]
				}
				gradient[4] += residual
			}
			for _, g := range gradient {
				assert.InDelta(t, 0, g, map[Method]float64{Ridge: 1e-10, Logistic: 2e-4}[method], method)
			}
		}
		assert.Zero(t, w.At(2, 0), "of an entry that is always the same")
		assert.InDelta(t, 1, f.x.At(0, 0)*f.deviation[0]/(d.X.At(0, 0)-f.mean[0]), 1e-12)
	}
}
