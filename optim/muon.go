package optim

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/pkg/errors"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// MuonScale says how large Muon's update is: the update's singular values are about as large as the
// scale.
type MuonScale string

const (
	// ScaleOriginal is sqrt(max(1, fan_out/fan_in)) (Jordan 2024), for learning rates of about
	// 0.02.
	ScaleOriginal MuonScale = "original"
	// ScaleMatchRMSAdamW is 0.2 sqrt(max(fan_in, fan_out)) (Liu et al. 2025, arXiv 2502.16982): the
	// update's entries are as large as AdamW's, so that the learning rate and weight decay of AdamW
	// can be kept.
	ScaleMatchRMSAdamW MuonScale = "match_rms_adamw"
)

// of returns the factor for a matrix.
func (s MuonScale) of(m graph.Matrix) float64 {
	in, out := float64(m.FanIn), float64(m.FanOut)
	if s == ScaleMatchRMSAdamW {
		return 0.2 * math.Sqrt(max(in, out))
	}
	return math.Sqrt(max(1, out/in))
}

// Muon updates weight matrices by their orthogonalised momentum (Jordan 2024):
//
//	m <- b m + (1-b) g;  d = b m + (1-b) g;  u = scale * NewtonSchulz(d / (|d| + 1e-7))
//
// Matrices that a parameter stacks or packs are updated separately. NewtonSchulz takes five
// steps of the quintic with the published coefficients, in the precision of the parameters, or
// with products of bfloat16 (Precision); a device uses the precision of its matrix products.
// It is a part of a Group of parameters that have Matrices. With muP the rate stays as it is
// at scale original, whose update has the same spectral norm at each width, and is divided by
// the root of the width ratio at match_rms_adamw.
func Muon(momentum float64, scale MuonScale) Part {
	return func(c *composer) error {
		if !(momentum >= 0 && momentum < 1) {
			return errors.Errorf("muon: want a momentum in [0, 1), got %g", momentum)
		}
		if scale != ScaleOriginal && scale != ScaleMatchRMSAdamW {
			return errors.Errorf("muon: want scale %s or %s, got %q", ScaleOriginal, ScaleMatchRMSAdamW, scale)
		}
		return Use(&muon{momentum: momentum, scale: scale})(c)
	}
}

// HiddenMatrices accepts the weight matrices of hidden layers.
func HiddenMatrices(p *graph.Param) bool { return p.Role == graph.RoleHidden && p.Matrices() != nil }

// Matrices accepts the parameters that HiddenMatrices accepts, and the key vectors of matrix
// streams.
func Matrices(p *graph.Param) bool { return p.Matrices() != nil }

// muon is Muon with the matrices of its parameters.
type muon struct {
	momentum float64
	scale    MuonScale
	places   []muonPlace
	f32      muonKernel[float32]
	f64      muonKernel[float64]
}

// muonPlace is one matrix within a parameter.
type muonPlace struct {
	graph.Matrix
	row *Row
}

func (m *muon) String() string {
	return fmt.Sprintf("Muon with momentum %g and scale %s", m.momentum, m.scale)
}

func (*muon) State() []string { return []string{"momentum"} }

func (m *muon) WidthDivisor(ratio float64) (float64, error) {
	if m.scale == ScaleMatchRMSAdamW {
		return math.Sqrt(ratio), nil
	}
	return 1, nil
}

// Unit returns the entries of the matrices that lie side by side in a parameter, or of one matrix
// if none do.
func (m *muon) Unit(p *graph.Param) (entries int, work float64) {
	matrices := p.Matrices()
	if matrices == nil {
		return p.Size(), 0 // Open refuses it
	}
	entries = matrices[0].Rows * matrices[0].Stride
	for _, at := range matrices {
		if at.Offset < entries {
			work += workOf(at)
		}
	}
	return entries, work
}

// workOf estimates how long a matrix takes, up to a constant factor.
func workOf(m graph.Matrix) float64 {
	return float64(m.Rows) * float64(m.Columns) * float64(min(m.Rows, m.Columns))
}

// Open lists this rank's matrices of all parameters in the order in which workers take them: the
// slowest first.
func (m *muon) Open(rows []*Row) error {
	for _, r := range rows {
		matrices := r.Param.Matrices()
		if matrices == nil {
			return errors.Errorf("muon: parameter %q %v: want weight matrices of a hidden layer, got none: choose parameters by HiddenMatrices", r.Param.Name,
				r.Param.Shape)
		}
		for _, at := range matrices {
			if r.From <= at.Offset && at.Offset < r.To {
				m.places = append(m.places, muonPlace{at, r})
			}
		}
	}
	slices.SortStableFunc(m.places, func(a, b muonPlace) int { return cmp.Compare(workOf(b.Matrix), workOf(a.Matrix)) })
	return nil
}

func (m *muon) OnDevice(row *graph.UpdateRow) {
	row.Muon = &graph.MuonRow{Momentum: m.momentum}
	for _, at := range row.Param.Matrices() {
		row.Muon.Scales = append(row.Muon.Scales, m.scale.of(at))
	}
}

func (m *muon) Update(rows []*Row, n Now) {
	if rows[0].Param.Value.Dtype() == tensor.Float64 {
		m.f64.update(m, n, (*tensor.Dense).Float64s)
	} else {
		m.f32.update(m, n, (*tensor.Dense).Float32s)
	}
}

// muonKernel is the kernel for one element type with its arguments.
type muonKernel[T kernel.Float] struct {
	kernel   kernel.Muon[T]
	matrices []kernel.MuonMatrix[T]
}

func (k *muonKernel[T]) update(m *muon, n Now, data func(*tensor.Dense) []T) {
	k.matrices = k.matrices[:0]
	for _, at := range m.places {
		p := at.row.Param
		k.matrices = append(k.matrices, kernel.MuonMatrix[T]{
			Weight: data(p.Value)[at.Offset:], Gradient: data(p.Grad)[at.Offset:], Momentum: data(p.Moment1)[at.Offset-at.row.From:],
			Rows: at.Rows, Columns: at.Columns, Stride: at.Stride, Rate: at.row.Rate * m.scale.of(at.Matrix), Decay: at.row.Decay})
	}
	k.kernel.BFloat16 = n.Precision == graph.BF16
	k.kernel.Run(n.Pool, k.matrices, kernel.MuonParams{Factor: n.Factor, Momentum: m.momentum, GradScale: n.GradScale})
}
