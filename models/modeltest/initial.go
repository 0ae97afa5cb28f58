package modeltest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/stream"
)

// The initial function may differ from the transformer's by what initialEps brings in.
const (
	initialEps       = 1e-12
	initialTolerance = 1e-9
)

// checkInitialFunction: a stream that starts as a plain transformer does is one at first,
// whatever weights they share: logits, loss and the shared weights' gradients. Why is said at
// the designs' methods Plain. A norm's eps is what the arguments leave out. For other streams
// there is nothing to check.
func checkInitialFunction(t *testing.T, c models.Spec) {
	c = varied(t, c, func(c *models.Config) { c.NormEps = initialEps })
	plain, ok := transformerOf(t, c)
	if !ok {
		t.Skipf("a %s stream does not start as a transformer", c.Stream.Name())
	}
	theirs, ours := PerturbedStore(t, plain, tensor.Float64), NewStore(t, c, tensor.Float64, 0)
	share(t, c, ours, theirs)
	b, s := documentBatch(c, rows, 17), Setup{Gradients: true}
	want := Compile(t, plain, theirs, s).On(t, b, graph.RunOptions{})
	got := Compile(t, c, ours, s).On(t, b, graph.RunOptions{})
	assert.LessOrEqual(t, Distance(got.Logits, want.Logits), initialTolerance, "logits")
	assert.InDelta(t, want.Loss, got.Loss, initialTolerance, "loss")
	if ours.Param(reduced) != nil { // its embedding has another shape
		return
	}
	wanted, all := Gradients(theirs), Gradients(ours)
	shared := map[string][]float64{}
	for name := range wanted {
		shared[name] = all[name]
	}
	requireClose(t, wanted, shared, initialTolerance, 1e-3*largestOf(wanted), "gradient of shared weights")
}

// transformerOf is the transformer that a model starts as, if it does.
func transformerOf(t *testing.T, c models.Spec) (models.Spec, bool) {
	grown, ok := c.Design().(stream.PlainAtInit)
	if !ok {
		return c, false
	}
	plain, ok := grown.Plain()
	if !ok {
		return c, false
	}
	return varied(t, c, func(c *models.Config) { c.Stream = plain }), true
}

// The maps into and out of a stream that is wider than the features.
const (
	expanded = "expand"
	reduced  = "reduce"
)

// share gives a model the weights of the transformer that it starts as.
func share(t *testing.T, c models.Spec, ours, theirs *graph.Store) {
	t.Helper()
	for _, p := range theirs.Params() {
		values, own := graph.Float64s(p.Value), ours.Param(p.Name)
		require.NotNil(t, own, p.Name)
		if own.Size() != p.Size() { // a virtual width network's tables
			values = widened(values, c.Width(), c.StreamSize())
		}
		require.NoError(t, graph.SetFloat64s(own.Value, values))
	}
	wide := c.StreamSize()
	if p := ours.Param(reduced); p != nil {
		require.NoError(t, graph.SetFloat64s(p.Value, identity(wide, c.Width())))
	}
	if p := ours.Param(expanded); p != nil {
		require.NoError(t, graph.SetFloat64s(p.Value, widened(identity(c.Width(), c.Width()), c.Width(), wide)))
	}
	silenceUnits(ours, 2*c.Width())
}

// widened makes rows of width entries longer; further entries are other numbers, which
// nothing should read.
func widened(rows []float64, width, wide int) []float64 {
	out := make([]float64, len(rows)/width*wide)
	for i := range out {
		if at := i % wide; at < width {
			out[i] = rows[i/wide*width+at]
		} else {
			out[i] = float64(i%7) - 2.5
		}
	}
	return out
}

// identity is [rows, columns] with ones on the diagonal.
func identity(rows, columns int) []float64 {
	out := make([]float64, rows*columns)
	for i := range min(rows, columns) {
		out[i*columns+i] = 1
	}
	return out
}

// silenceUnits sets W_2, the second half of each self-dependency unit's rows, and its bias
// to 0.
func silenceUnits(store *graph.Store, width int) {
	for _, p := range store.Params() {
		if !strings.HasSuffix(p.Name, ".sdu") && !strings.HasSuffix(p.Name, ".sdu_bias") {
			continue
		}
		values := p.Value.Float64s()
		for i := range values {
			if i%width >= width/2 {
				values[i] = 0
			}
		}
	}
}
