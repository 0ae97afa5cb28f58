package modeltest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/stream"
)

// The initial function may differ from the transformer's by what the eps of norms causes.
const (
	initialEps       = 1e-12
	initialTolerance = 1e-9
)

// checkInitialFunction checks that a stream that starts as a plain transformer has the
// transformer's logits, loss and gradients of the shared weights, whatever these weights are.
// The designs' Plain methods say why. Their arguments neglect a norm's eps. Other streams are
// not checked.
func checkInitialFunction(t *testing.T, spec models.Spec) {
	spec = varied(t, spec, func(c *models.Config) { c.NormEps = initialEps })
	plain, ok := transformerOf(t, spec)
	if !ok {
		t.Skipf("a %s stream does not start as a transformer", spec.Stream.Name())
	}
	theirs, ours := PerturbedStore(t, plain, tensor.Float64), NewStore(t, spec, tensor.Float64, 0)
	share(t, spec, ours, theirs)
	b, s := documentBatch(spec, rows, 17), Setup{Gradients: true}
	want := Compile(t, plain, theirs, s).On(t, b)
	got := Compile(t, spec, ours, s).On(t, b)
	assert.LessOrEqual(t, Distance(got.Logits, want.Logits), initialTolerance, "logits")
	assert.InDelta(t, want.Loss, got.Loss, initialTolerance, "loss")
	wanted, all := Gradients(theirs), Gradients(ours)
	shared := map[string][]float64{}
	for name := range wanted {
		if len(all[name]) != len(wanted[name]) { // a table in another shape
			delete(wanted, name)
			continue
		}
		shared[name] = all[name]
	}
	require.NotEmpty(t, shared)
	requireClose(t, wanted, shared, initialTolerance, 1e-3*largestOf(wanted), "gradient of shared weights")
}

// transformerOf returns the transformer that a model starts as, if there is one.
func transformerOf(t *testing.T, spec models.Spec) (models.Spec, bool) {
	grown, ok := spec.Design().(stream.PlainAtInit)
	if !ok {
		return spec, false
	}
	plain, ok := grown.Plain()
	if !ok {
		return spec, false
	}
	return varied(t, spec, func(c *models.Config) { c.Stream = plain }), true
}

// share gives a model the weights of the transformer that it starts as.
func share(t *testing.T, spec models.Spec, ours, theirs *graph.Store) {
	t.Helper()
	adapted, adapts := spec.Design().(stream.PlainWeights)
	for _, p := range theirs.Params() {
		own := ours.Param(p.Name)
		require.NotNil(t, own, p.Name)
		if own.Size() == p.Size() {
			require.NoError(t, graph.SetFloat64s(own.Value, graph.Float64s(p.Value)))
			continue
		}
		require.True(t, adapts, "%s: want %d entries, as the transformer has, got %d: add the method SetPlain of stream.PlainWeights to %T",
			p.Name, p.Size(), own.Size(), spec.Design())
	}
	if adapts {
		require.NoError(t, adapted.SetPlain(ours, theirs))
	}
}
