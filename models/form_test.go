package models_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/stream"
)

// formConfigs returns small models of all streams.
func formConfigs(t *testing.T) map[string]models.Spec {
	specs := map[string]models.Spec{
		"hieragg/bias": modeltest.Resolve(t, tinyZoo(stream.HieraggConfig{}, biased)),
		"hyper/three":  modeltest.Resolve(t, tinyZoo(stream.HyperConfig{N: 3}, plainly)),
		"vwn/groups":   modeltest.Resolve(t, tinyZoo(stream.VWNConfig{M: 3, N: 6}, plainly)),
	}
	for _, p := range modeltest.Small(models.Standard()) {
		specs[p.Name] = modeltest.Resolve(t, p.Config)
	}
	// At these sizes 20 iterations nearly converge.
	specs["quickstart-mhc"] = modeltest.Resolve(t, tinyZoo(stream.MHCConfig{N: 4}, plainly))
	return specs
}

func coefficients(f stream.Form) []stream.Coefficient {
	return []stream.Coefficient{f.Res, f.Down, f.Up}
}

// TestResidualFormParameters: a fixed coefficient has numbers and no parameters; one that is
// learned or depends on the input has parameters, and each of them gets a gradient.
func TestResidualFormParameters(t *testing.T) {
	for name, c := range formConfigs(t) {
		forms, err := models.ResidualForm(c)
		require.NoError(t, err, name)
		store := modeltest.PerturbedStore(t, c, tensor.Float64)
		modeltest.Compile(t, c, store, modeltest.Setup{Gradients: true, LossOnly: true}).On(t, modeltest.RandomBatch(c, 2, c.Seq, 1), graph.RunOptions{})
		gradients := modeltest.Gradients(store)
		reached := func(parameters []string) {
			for _, p := range parameters {
				assert.True(t, slices.ContainsFunc(gradients[p], func(g float64) bool { return math.Abs(g) > 1e-9 }), "%s: gradient of %q", name, p)
			}
		}
		for _, f := range forms {
			assert.NotEmpty(t, f.Source, name)
			for _, x := range coefficients(f) {
				assert.NotEmpty(t, x.Axes, name)
				assert.NotEmpty(t, x.Start.Text, name)
				assert.Equal(t, x.Choice == stream.Fixed, len(x.Parameters) == 0, "%s %s: %+v", name, f.Site, x)
				if x.Choice == stream.Fixed || x.Start.Values != nil {
					assert.Len(t, x.Start.Values, x.Rows*x.Columns, name)
				}
				reached(x.Parameters)
			}
			for _, term := range f.Beyond {
				reached(term.Parameters)
			}
		}
	}
}

// TestResidualFormSites: there is a form for each sublayer, and learned keys have the shape that it
// states.
func TestResidualFormSites(t *testing.T) {
	for name, c := range formConfigs(t) {
		forms, err := models.ResidualForm(c)
		require.NoError(t, err, name)
		store := modeltest.NewStore(t, c, tensor.Float64, 0)
		sites := []string{"blocks.0.attention", "blocks.0.feedforward"}
		if _, ok := c.Stream.(stream.DWLSTMConfig); ok {
			sites = sites[:1]
		}
		require.Len(t, forms, len(sites), name)
		for i, f := range forms {
			assert.Equal(t, sites[i], f.Site)
			if _, keyed := c.Stream.(stream.MatrixConfig); keyed {
				assert.Equal(t, f.Down.Rows*f.Down.Columns, store.Param(f.Down.Parameters[0]).Size())
				assert.Equal(t, f.Up.Rows*f.Up.Columns, store.Param(f.Up.Parameters[0]).Size())
			}
		}
	}
	_, err := models.ResidualForm(models.Spec{})
	assert.EqualError(t, err, "models: want a Spec that Config.Resolve made, got the zero value")
}

// watched holds the state before and after a site, what was read and written, and the coefficients,
// as a run computed them; the first axis of each counts tokens.
type watched struct {
	tokens                                     int
	before, read, written, after, coefficients []float64
}

// watch runs a model with hooks around a site of the first block.
func watch(t *testing.T, spec models.Spec, store *graph.Store, site string, seed uint64) watched {
	before := "embedding.out"
	if site == "blocks.0.feedforward" {
		before = "blocks.0.attention.stream"
	}
	names, hooks := []string{before, site + ".read", site + ".write", site + ".stream", site + ".coefficients"}, graph.Hooks{}
	for _, name := range names {
		hooks[name] = nil
	}
	p := modeltest.Compile(t, spec, store, modeltest.Setup{Hooks: hooks})
	p.On(t, modeltest.RandomBatch(spec, 2, spec.Seq, seed), graph.RunOptions{})
	values := make([][]float64, len(names))
	for i, name := range names {
		if x, err := p.Hooked(name); err == nil {
			values[i] = graph.Float64s(x)
		}
	}
	return watched{2 * spec.Seq, values[0], values[1], values[2], values[3], values[4]}
}

// unpack returns A_res, A_down and B_up from a token's packed coefficients [n, 2m+n]: down | carry
// | up', of which the first two are transposed (graph.MixRead, graph.MixWrite).
func unpack(packed []float64, n, m int) [3][]float64 {
	columns := len(packed) / n
	at := func(row, column int) float64 {
		switch {
		case columns > 2*m || column < m:
			return packed[row*columns+column]
		case column >= m+n:
			return packed[row*columns+column-n]
		case row == column-m: // rows are carried as they are
			return 1
		}
		return 0
	}
	matrix := func(rows, columns int, f func(i, j int) float64) (x []float64) {
		for i := range rows {
			for j := range columns {
				x = append(x, f(i, j))
			}
		}
		return x
	}
	return [3][]float64{
		matrix(n, n, func(i, j int) float64 { return at(j, m+i) }),
		matrix(m, n, func(i, j int) float64 { return at(j, i) }),
		matrix(n, m, func(i, j int) float64 { return at(i, m+n+j) }),
	}
}

// product returns a [rows, inner] times x [inner, d].
func product(a, x []float64, rows, inner int) []float64 {
	d := len(x) / inner
	y := make([]float64, rows*d)
	for i := range rows {
		for k := range inner {
			for j := range d {
				y[i*d+j] += a[i*inner+k] * x[k*d+j]
			}
		}
	}
	return y
}

func plus(x, y []float64) []float64 {
	z := slices.Clone(x)
	for i := range z {
		z[i] += y[i]
	}
	return z
}

// TestResidualFormOfFixedOnes: where A_res is fixed and B_up does not depend on the token, the
// state after a site is the state before it plus what was written. The matrix stream writes with
// its keys.
func TestResidualFormOfFixedOnes(t *testing.T) {
	fixed := 0
	for name, c := range formConfigs(t) {
		forms, err := models.ResidualForm(c)
		require.NoError(t, err)
		if res := forms[0].Res; res.Choice != stream.Fixed || res.Rows != res.Columns || forms[0].Up.Choice == stream.Dependent || mixesRows(forms[0]) {
			continue
		}
		fixed++
		for _, f := range forms {
			if len(f.Beyond) > 0 { // such as a sum with h_0 before the block
				continue
			}
			w := watch(t, c, modeltest.PerturbedStore(t, c, tensor.Float64), f.Site, 1)
			require.Nil(t, w.coefficients, "%s: none to be seen", name)
			n := f.Res.Rows
			size := len(w.before) / w.tokens
			for at := 0; at < len(w.before); at += size {
				want := plus(product(f.Res.Start.Values, w.before[at:at+size], n, n), w.written[at:at+size])
				require.InDeltaSlice(t, want, w.after[at:at+size], 1e-12, "%s %s", name, f.Site)
			}
		}
	}
	assert.Greater(t, fixed, 5)
}

// mixesRows tells whether a site of a stream of several rows has packed coefficients. It has none
// if there is one row, if the state has another size, or if the site reads and writes with keys or
// gates of entries instead of factors of rows.
func mixesRows(f stream.Form) bool {
	square := f.Res.Rows > 1 && f.Res.Rows == f.Down.Columns && !f.Res.Diagonal
	return square && (f.Res.Choice != stream.Fixed || f.Down.Constraint == stream.WithinOne && !f.Down.Diagonal && f.Up.Constraint == stream.WithinTwo)
}

// TestResidualFormOfMixedOnes: with the coefficients that a run has computed, reading and writing
// follow the linear form. The coefficients have the shape that the form states, change with the
// token if it says so, and are doubly stochastic or bounded if it says so.
func TestResidualFormOfMixedOnes(t *testing.T) {
	mixed := 0
	for name, c := range formConfigs(t) {
		forms, err := models.ResidualForm(c)
		require.NoError(t, err)
		if !mixesRows(forms[0]) {
			continue
		}
		mixed++
		for _, f := range forms {
			store := modeltest.PerturbedStore(t, c, tensor.Float64)
			w, each := watch(t, c, store, f.Site, 1), f.Up.Choice == stream.Dependent
			copies := 1
			if each {
				copies = w.tokens
			}
			size := len(w.coefficients) / copies
			require.Contains(t, []int{f.Res.Rows * (2*f.Down.Rows + f.Res.Rows), f.Res.Rows * 2 * f.Down.Rows}, size, "%s: coefficients of each token: %t", name, each)
			for token := range w.tokens {
				checkLinear(t, name, f, w, token, w.coefficients[token%copies*size:][:size])
			}
			other := watch(t, c, store, f.Site, 2)
			assert.Equal(t, each, modeltest.Distance(other.coefficients, w.coefficients) > 1e-4, "%s: with other tokens", name)
		}
	}
	assert.Greater(t, mixed, 5)
}

// checkLinear checks what a site did with a token, given the token's packed coefficients.
func checkLinear(t *testing.T, name string, f stream.Form, w watched, token int, packed []float64) {
	t.Helper()
	n, m := f.Res.Rows, f.Down.Rows
	of := func(x []float64) []float64 { size := len(x) / w.tokens; return x[token*size : (token+1)*size] }
	a := unpack(packed, n, m)
	if !singlePass(f) {
		require.InDeltaSlice(t, product(a[1], of(w.before), m, n), of(w.read), 1e-12, "%s: A_down h", name)
	}
	require.InDeltaSlice(t, plus(product(a[0], of(w.before), n, n), product(a[2], of(w.written), n, m)), of(w.after), 1e-11, "%s: h'", name)
	first := unpack(w.coefficients[:len(packed)], n, m)
	for i, x := range coefficients(f) {
		if !singlePass(f) || x.Constraint != stream.DoublyStochastic { // the op that mixes is checked without a single pass
			checkConstraint(t, name, x, a[i])
		}
		if x.Choice == stream.Dependent && token == 1 {
			assert.Greater(t, modeltest.Distance(first[i], a[i]), 1e-4, "%s: %s of two tokens", name, x.Axes)
		}
	}
}

// singlePass tells whether the site's input was read by the site before.
func singlePass(f stream.Form) bool {
	return slices.ContainsFunc(f.Beyond, func(b stream.Term) bool { return strings.HasPrefix(b.Text, "A_down reads the result") })
}

// checkConstraint checks that a coefficient's numbers obey its constraint.
func checkConstraint(t *testing.T, name string, x stream.Coefficient, values []float64) {
	t.Helper()
	top := map[stream.Constraint]float64{stream.DoublyStochastic: 1, stream.WithinOne: 1, stream.WithinTwo: 2, "": math.Inf(1)}[x.Constraint]
	for _, v := range values {
		if x.Constraint != "" {
			require.True(t, v >= 0 && v <= top+1e-12, "%s: %g, want %s", name, v, x.Constraint)
		}
	}
	if x.Constraint != stream.DoublyStochastic {
		return
	}
	for i := range x.Rows {
		row, column := 0.0, 0.0
		for j := range x.Rows {
			row, column = row+values[i*x.Rows+j], column+values[j*x.Rows+i]
		}
		require.InDelta(t, 1, row, 1e-12, "%s: row %d", name, i)
		require.InDelta(t, 1, column, 1e-6, "%s: column %d, as far as 20 iterations come", name, i)
	}
}
