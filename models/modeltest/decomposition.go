package modeltest

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/cache"
	"github.com/residua-go/residua/stream"
)

// checkDecomposition checks that the parts that the stream's writers add, carried as the
// stream says (stream.Additive), add up to the model's own stream and to its logits.
func checkDecomposition(t *testing.T, spec models.Spec) {
	store := PerturbedStore(t, spec, tensor.Float64)
	m, err := cache.Sketch(store, spec)
	require.NoError(t, err)
	if _, ok := m.Stream().(stream.Additive); !ok {
		t.Skipf("%T is no stream.Additive: analyses that need one refuse it", m.Stream())
	}
	run, err := analysis.Run(store, spec, RandomBatch(spec, 1, spec.Seq, 3).Inputs)
	require.NoError(t, err)
	d, err := analysis.Decompose(run)
	require.NoError(t, err)
	for token := range spec.Seq {
		CheckStream(t, d, token, 1e-12)
	}
}

// CheckStream checks that the terms of all writers' parts, their biases and the constant add up to
// a token's stream after all writes, within tolerance of its largest entry.
func CheckStream(t *testing.T, d *analysis.Decomposition, token int, tolerance float64) {
	t.Helper()
	sum, err := d.Constant(token)
	require.NoError(t, err)
	add := func(term []float64, err error) {
		require.NoError(t, err)
		floats.Add(sum, term)
	}
	for _, w := range d.Writers() {
		whole := slices.Clone(sum)
		for part := range w.Parts {
			add(d.Term(w.Name, part, token))
		}
		add(d.BiasTerm(w.Name, token))
		term, err := d.WriterTerm(w.Name, token)
		require.NoError(t, err)
		floats.Add(whole, term)
		require.InDeltaSlice(t, whole, sum, 1e-9, "%s: the writer as a whole and the sum of its parts", w.Name)
	}
	want, err := d.Output(token)
	require.NoError(t, err)
	require.LessOrEqual(t, floats.Distance(sum, want, math.Inf(1)), tolerance*floats.Norm(want, math.Inf(1)),
		"token %d: the sum of what Writers and Carry say against the stream of the run", token)
}
