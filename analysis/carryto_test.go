package analysis_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/cache"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/stream"
)

// TestCarryToSums: for every stream and site, the terms of all writers, carried to the site, and
// the constants add up to what the site read in the run.
func TestCarryToSums(t *testing.T) {
	t.Parallel()
	for name, c := range withOptions(t, few(t)) {
		t.Run(name, func(t *testing.T) {
			store := modeltest.PerturbedStore(t, c, tensor.Float64)
			run, err := analysis.Run(store, c, tokensFor(c, c.Seq, 3), readHooks(t, store, c)...)
			require.NoError(t, err)
			d, err := analysis.Decompose(run)
			require.NoError(t, err)
			frozen, err := run.Model().Stream().(stream.Additive).Freeze(run)
			require.NoError(t, err)
			require.NotEmpty(t, frozen.Readers())
			for _, reader := range frozen.Readers() {
				want := readBy(t, run, reader)
				for token := range c.Seq {
					require.InDeltaSlice(t, want[token], carriedTo(t, d, frozen, run, reader, token), 1e-9, "%s, token %d", reader, token)
				}
			}
		})
	}
}

// readHooks lists the activations that sites read, and the streams before them.
func readHooks(t *testing.T, store *graph.Store, spec models.Spec) []string {
	names, err := cache.Names(store, spec)
	require.NoError(t, err)
	return slices.DeleteFunc(names, func(name string) bool {
		return name != "embedding.out" && !strings.HasSuffix(name, ".read") && !isStream(name)
	})
}

// isStream tells whether a hook shows the stream after a site or a block.
func isStream(name string) bool {
	return slices.ContainsFunc([]string{".stream", ".aggregate", ".dwa.out", ".x0.out"}, func(end string) bool { return strings.HasSuffix(name, end) })
}

// readBy returns what a site read, by token: from the hook for it, or from the last stream before
// the site.
func readBy(t *testing.T, run *cache.Cache, reader string) [][]float64 {
	name := reader + ".read"
	if !slices.Contains(run.Names(), name) {
		name = "embedding.out"
		for _, kept := range run.Names() {
			if strings.HasPrefix(kept, reader+".") {
				break
			}
			if isStream(kept) {
				name = kept
			}
		}
	}
	site, via := splitVia(reader)
	if via >= 0 {
		name = site + ".read"
	}
	a, err := run.Get(name)
	require.NoError(t, err)
	var rows [][]float64
	for token := range run.Tokens() {
		row, err := a.Token(token)
		require.NoError(t, err)
		if via >= 0 {
			row = row[via*len(row)/3:][:len(row)/3]
		}
		rows = append(rows, row)
	}
	return rows
}

// splitVia splits the name of a reader of queries (0), keys (1) or values (2); -1: it is none.
func splitVia(reader string) (site string, via int) {
	for via, name := range []string{".q", ".k", ".v"} {
		if site, is := strings.CutSuffix(reader, name); is {
			return site, via
		}
	}
	return reader, -1
}

// carriedTo returns the sum of the constants and of all writers' activations, weighted and carried.
func carriedTo(t *testing.T, d *analysis.Decomposition, frozen *stream.Frozen, run *cache.Cache, reader string, token int) []float64 {
	sum, err := frozen.ConstantTo(reader, token)
	require.NoError(t, err)
	for _, w := range d.Writers() {
		term, err := frozen.CarryTo(w.Source, reader, token, written(t, run, w, token))
		require.NoError(t, err)
		if term != nil {
			require.Len(t, term, len(sum))
			floats.Add(sum, term)
		}
	}
	return sum
}

// written returns what a writer writes for a token, by the equation in the comment of
// stream.Writer.
func written(t *testing.T, run *cache.Cache, w stream.Writer, token int) []float64 {
	activation, err := run.Get(w.Activation)
	require.NoError(t, err)
	a, err := activation.Token(token)
	require.NoError(t, err)
	parameter := func(name string) []float64 {
		return run.Model().Store().Param(name).Value.Data().([]float64)
	}
	y := a
	switch {
	case w.Weight != "":
		weight := parameter(w.Weight)
		y = make([]float64, len(weight)/len(a))
		for i := range weight {
			y[i%len(y)] += a[i/len(y)] * weight[i]
		}
	case w.Whole:
		y = make([]float64, len(a)/w.Parts)
		for i, v := range a {
			y[i%len(y)] += v
		}
	}
	if w.Bias != "" {
		floats.Add(y, parameter(w.Bias))
	}
	return y
}
