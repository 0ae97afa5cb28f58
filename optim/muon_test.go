package optim_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/optim"
)

// storeOf makes parameters of the given specs, with noise as gradients.
func storeOf(t *testing.T, specs ...graph.ParamSpec) *graph.Store {
	b := graph.On(gorgonia.NewGraph(), graph.Options{DType: tensor.Float64, Seed: 5})
	for _, s := range specs {
		b.Param(s)
	}
	require.NoError(t, b.Err())
	for _, p := range b.Store().Params() {
		p.Grad = tensor.New(tensor.Of(tensor.Float64), tensor.WithShape(p.Shape...))
	}
	setGradients(t, b.Store(), 0)
	return b.Store()
}

// moved returns how far each entry of a parameter goes down in one step of Muon at rate 1.
func moved(t *testing.T, s *graph.Store, name string, scale optim.MuonScale) []float64 {
	before := graph.Float64s(s.Param(name).Value)
	_, err := newOptimizer(t, s, 1, optim.Group(optim.Matrices, optim.Muon(0.95, scale), optim.Rate(1, nil))).Step(1)
	require.NoError(t, err)
	for i, w := range graph.Float64s(s.Param(name).Value) {
		before[i] -= w
	}
	return before
}

// TestMuonOneMatrixAtATime: matrices that a parameter packs in its columns or stacks in its first
// axes are updated like the same matrices as parameters of their own.
func TestMuonOneMatrixAtATime(t *testing.T) {
	packed := storeOf(t, graph.ParamSpec{Name: "w", Shape: []int{2, 6, 9}, Init: graph.Normal(1), Role: graph.RoleHidden, Columns: []int{4, 5}})
	got, gradients := moved(t, packed, "w", optim.ScaleOriginal), graph.Float64s(packed.Param("w").Grad)
	matrices := packed.Param("w").Matrices()
	require.Len(t, matrices, 4)
	for _, m := range matrices {
		own := storeOf(t, graph.ParamSpec{Name: "w", Shape: []int{m.Rows, m.Columns}, Role: graph.RoleHidden})
		var g, mine []float64
		for i := range m.Rows {
			at := m.Offset + i*m.Stride
			g, mine = append(g, gradients[at:at+m.Columns]...), append(mine, got[at:at+m.Columns]...)
		}
		require.NoError(t, graph.SetFloat64s(own.Param("w").Grad, g))
		assert.InDeltaSlice(t, moved(t, own, "w", optim.ScaleOriginal), mine, 1e-12)
	}
}

// TestMuonScales: if a gradient is already orthogonal, the update is the gradient times the scale.
// fan_out/fan_in is columns/rows; for reading keys it is rows/columns.
func TestMuonScales(t *testing.T) {
	one := 0.0 // what the iteration makes of singular values that are all equal
	for _, c := range []struct {
		role           graph.Role
		rows, columns  int
		original, like float64
	}{
		{graph.RoleHidden, 4, 4, 1, 0.4},
		{graph.RoleHidden, 4, 16, 2, 0.8},
		{graph.RoleHidden, 16, 4, 1, 0.8},
		{graph.RoleWriteKeys, 4, 16, 2, 0.8},
		{graph.RoleReadKeys, 4, 16, 1, 0.8},
	} {
		for scale, want := range map[optim.MuonScale]float64{optim.ScaleOriginal: c.original, optim.ScaleMatchRMSAdamW: c.like} {
			s := storeOf(t, graph.ParamSpec{Name: "w", Shape: []int{c.rows, c.columns}, Role: c.role})
			g := make([]float64, c.rows*c.columns)
			for i := range min(c.rows, c.columns) {
				g[i*c.columns+i] = 3
			}
			require.NoError(t, graph.SetFloat64s(s.Param("w").Grad, g))
			u := moved(t, s, "w", scale)
			if one == 0 {
				one = u[0] / want
				assert.InDelta(t, 0.95, one, 0.27, "singular values end in 0.68..1.21")
			}
			for i, v := range u {
				assert.InDelta(t, want*one*g[i]/3, v, 1e-6, "%s %dx%d %s", c.role, c.rows, c.columns, scale)
			}
		}
	}
}

// TestGroups: a group's parts override those of the whole optimizer, in any order; state is
// allocated for exactly what a rule keeps of a parameter, and has its names.
func TestGroups(t *testing.T) {
	s := newStore(t, tensor.Float32)
	o := newOptimizer(t, s, 1,
		optim.Group(optim.HiddenMatrices, optim.Decay(0.5, optim.Coupled, nil), optim.Rate(0.02, nil), optim.Muon(0.9, optim.ScaleMatchRMSAdamW)),
		optim.Rate(0.3, optim.Constant{}), optim.MuP(), optim.Group(func(p *graph.Param) bool { return p.Name == "gain" }, optim.SGD(), optim.Rate(7, nil)))
	for i, want := range []struct {
		rule        string
		rate, decay float64
		state       []string
	}{
		{"AdamW with betas 0.9, 0.999 and eps 1e-08", 0.3, 0, []string{"embedding.moment1", "embedding.moment2"}},
		{"Muon with momentum 0.9 and scale match_rms_adamw", 0.02 / math.Sqrt(4), 0.5 * 0.01, []string{"hidden.momentum"}},
		{"AdamW with betas 0.9, 0.999 and eps 1e-08", 0.3, 0, []string{"write.moment1", "write.moment2"}},
		{"SGD", 7, 0, nil},
	} {
		r := o.Table()[i]
		assert.Equal(t, want.rule, r.Rule.String())
		assert.InDelta(t, want.rate, r.Rate, 1e-15, r.Param.Name)
		assert.InDelta(t, want.decay, r.Decay, 1e-15, r.Param.Name)
		var names []string
		for _, x := range o.State() {
			if x.Name[:3] == r.Param.Name[:3] {
				names = append(names, x.Name)
			}
		}
		assert.Equal(t, want.state, names)
		assert.Equal(t, len(want.state) > 1, r.Param.Moment2 != nil, "%s: memory", r.Param.Name)
		assert.Equal(t, len(want.state) > 0, r.Param.Moment1 != nil, "%s: memory", r.Param.Name)
	}
	assert.InDelta(t, 0.02, newOptimizer(t, s, 1, optim.MuP(), optim.Group(optim.HiddenMatrices, optim.Rate(0.02, nil), optim.Muon(0.9, optim.ScaleOriginal))).Table()[1].Rate, 1e-15,
		"the original update has one spectral norm at each width")
}

// TestCheckState: the state of another rule is refused with an error that names the parameter and
// both rules.
func TestCheckState(t *testing.T) {
	adam, muon := newOptimizer(t, newStore(t, tensor.Float32), 1), newOptimizer(t, newStore(t, tensor.Float32), 1, muonParts()...)
	sgd := newOptimizer(t, newStore(t, tensor.Float32), 1, optim.SGD())
	names := func(o *optim.Optimizer) (all []string) {
		for _, s := range o.State() {
			all = append(all, s.Name)
		}
		return all
	}
	for _, o := range []*optim.Optimizer{adam, muon, sgd} {
		assert.NoError(t, o.CheckState(names(o)))
	}
	assert.EqualError(t, muon.CheckState(names(adam)), `parameter "hidden": want the state of Muon, got that of AdamW`)
	assert.EqualError(t, adam.CheckState(names(muon)), `parameter "hidden": want the state of AdamW, got that of Muon`)
	assert.EqualError(t, adam.CheckState(names(sgd)), `parameter "embedding": want the state of AdamW, got that of no rule`)
	assert.EqualError(t, sgd.CheckState(names(muon)), `parameter "embedding": want the state of SGD, got that of AdamW`)
}

// TestMuonPrecision: in bf16 a large matrix is updated by nearly as much as in 32 bits; a small
// matrix, or one of float64, by exactly as much.
func TestMuonPrecision(t *testing.T) {
	moves := func(dt tensor.Dtype, precision graph.Precision) (large, little []float64) {
		b := graph.On(gorgonia.NewGraph(), graph.Options{DType: dt, Seed: 5})
		b.Param(graph.ParamSpec{Name: "large", Shape: []int{80, 200}, Role: graph.RoleHidden})
		b.Param(graph.ParamSpec{Name: "little", Shape: []int{8, 200}, Role: graph.RoleHidden})
		require.NoError(t, b.Err())
		s := b.Store()
		for _, p := range s.Params() {
			p.Grad = tensor.New(tensor.Of(dt), tensor.WithShape(p.Shape...))
		}
		setGradients(t, s, 0)
		_, err := newOptimizer(t, s, 2, optim.Precision(precision), optim.Muon(0.95, optim.ScaleOriginal), optim.Rate(1, optim.Constant{})).Step(1)
		require.NoError(t, err)
		return graph.Float64s(s.Param("large").Value), graph.Float64s(s.Param("little").Value)
	}
	exact, exactLittle := moves(tensor.Float32, graph.FP32)
	rounded, roundedLittle := moves(tensor.Float32, graph.BF16)
	assert.Equal(t, exactLittle, roundedLittle)
	assert.NotEqual(t, exact, rounded)
	off, size := 0.0, 0.0
	for i, v := range exact {
		off, size = off+(v-rounded[i])*(v-rounded[i]), size+v*v
	}
	assert.Less(t, math.Sqrt(off/size), 0.01)
	exact, _ = moves(tensor.Float64, graph.FP32)
	rounded, _ = moves(tensor.Float64, graph.BF16)
	assert.Equal(t, exact, rounded)
}
