package analysis

import (
	"slices"
	"strings"

	"github.com/pkg/errors"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/residua-go/residua/analysis/numerics"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/check"
)

// foldNorms moves everything in a vector stream's norms that depends on the basis into the weights
// after them and in front of them, in a copy that computes the same logits. With gain g,
// bias b and centring C = I - 1 1^T/D a norm before a weight is
//
//	LayerNorm(h) W = (h C / sigma) diag(g) W + b W,   sigma^2 = |h C|^2/D + eps
//	RMSNorm(h) W   = (h / rms) diag(g) W,             rms^2 = |h|^2/D + eps
//
// so that gains become 1 when weights that read become C diag(g) W (no C for RMSNorm), and weights
// that write become W C. A LayerNorm without biases is then an RMSNorm of a centred stream, and the
// config says so (Ashkboos et al. 2024, "SliceGPT", section 3.2). There is no RMSNorm with biases
// here: a LayerNorm with biases stays, and its constant b W goes along the one direction that
// centring leaves free. With the norm's bias 1 (all ones) and W' = C diag(g) W + 1^T (b W)/D it is
// exact for any gain, also 0, and needs no bias of the reader:
//
//	(z + 1) W' = z C diag(g) W + b W    for z = h C / sigma, as z 1^T = 0 and 1 C = 0
//
// A tied unembedding, which reads after the final norm, becomes a separate weight. Errors: another
// stream than vector; a Store that lacks parameters.
func foldNorms(store *graph.Store, spec models.Spec) (*graph.Store, models.Spec, error) {
	if err := checkSpec(spec); err != nil {
		return nil, spec, err
	}
	if !rotatesVectors(spec) {
		return nil, spec, check.Value("stream", "one of vectors that can be rotated", spec.Stream.Name()+", whose gains scale what no single weight reads")
	}
	if err := models.CheckStore(store); err != nil {
		return nil, spec, err
	}
	f := folding{width: spec.Width(), bias: spec.Bias, axisRoles: axisRoles(SpaceStream, rotatableSpaces(spec)), from: store,
		centred: spec.Norm == models.NormLayer, tied: spec.TieEmbeddings}
	folded, err := spec.With(func(folded *models.Config) {
		folded.TieEmbeddings = false
		if f.centred && !keepsLayerNorm(spec) {
			folded.Norm = models.NormRMS
		}
	})
	if err != nil {
		return nil, spec, err
	}
	to, err := emptyModel(folded, store.DType())
	if err != nil {
		return nil, spec, err
	}
	for _, p := range to.Params() {
		if err := f.fold(p); err != nil {
			return nil, spec, err
		}
	}
	return to, folded, nil
}

// keepsLayerNorm tells whether a model's folded norms are still LayerNorms.
func keepsLayerNorm(spec models.Spec) bool {
	return rotatesVectors(spec) && spec.Norm == models.NormLayer && spec.Bias
}

// folding is the state of foldNorms.
type folding struct {
	width         int
	bias          bool
	axisRoles     map[string]axisRole
	from          *graph.Store
	centred, tied bool // the norms are LayerNorms; the unembedding is the embedding's table
}

// fold sets one parameter of the folded model.
func (f folding) fold(p *graph.Param) error {
	values, err := f.values(p.Name)
	if err != nil {
		return err
	}
	switch part := lastPart(p.Name); {
	case part == "norm" || part == "norm_bias":
		values = slices.Repeat([]float64{1}, len(values))
	case f.axisRoles[part] == writes && f.centred:
		for row := range slices.Chunk(values, f.width) {
			centre(row)
		}
	case f.axisRoles[part] == reads:
		if err := f.afterNorm(p, values); err != nil {
			return err
		}
	}
	return errors.Wrapf(graph.SetFloat64s(p.Value, values), "parameter %q", p.Name)
}

// values returns a parameter's values; for a tied unembedding, the transposed table's.
func (f folding) values(name string) ([]float64, error) {
	ofTable := f.tied && name == "unembedding"
	if ofTable {
		name = "embedding"
	}
	p := f.from.Param(name)
	if p == nil {
		return nil, missingParameter(name)
	}
	values := graph.Float64s(p.Value)
	if !ofTable {
		return values, nil
	}
	d := f.width
	table := mat.NewDense(len(values)/d, d, values) // [V, D]
	return numerics.Transposed(table).RawMatrix().Data, nil
}

// afterNorm folds the norm in front of a weight that reads into its values, blocks [D,
// last].
func (f folding) afterNorm(p *graph.Param, values []float64) error {
	norm := strings.TrimSuffix(p.Name, lastPart(p.Name)) + "norm"
	gain, err := f.values(norm)
	if err != nil {
		return err
	}
	var bias []float64
	if f.bias {
		if bias, err = f.values(norm + "_bias"); err != nil {
			return err
		}
	}
	last := p.Shape[len(p.Shape)-1]
	for block := range slices.Chunk(values, f.width*last) {
		f.block(block, last, gain, bias)
	}
	return nil
}

// block returns W [D, last] C diag(g) W + 1^T (b W)/D.
func (f folding) block(w []float64, last int, gain, bias []float64) {
	d := len(gain)
	shift := make([]float64, last) // b W/D minus the mean of diag(g) W's rows
	for i := range d {
		row := w[i*last:][:last]
		if bias != nil {
			floats.AddScaled(shift, bias[i]/float64(d), row)
		}
		floats.Scale(gain[i], row)
		if f.centred {
			floats.AddScaled(shift, -1/float64(d), row)
		}
	}
	for i := range d {
		floats.Add(w[i*last:][:last], shift)
	}
}

// centre subtracts the mean of each row from the row's entries.
func centre(row []float64) { floats.AddConst(-floats.Sum(row)/float64(len(row)), row) }
