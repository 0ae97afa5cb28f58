package analysis_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/stream"
)

// access is what a site reads with or writes by, columns.
type access struct {
	site  string
	reads bool
	w     *mat.Dense
}

// naiveFold is C diag(g) W, entry by entry.
func naiveFold(spec models.Spec, gain []float64, w *mat.Dense) *mat.Dense {
	d, m := w.Dims()
	folded := mat.NewDense(d, m, nil)
	for j := range m {
		mean := 0.0
		for i := range d {
			folded.Set(i, j, gain[i]*w.At(i, j))
			mean += folded.At(i, j) / float64(d)
		}
		for i := range d {
			if spec.Norm != models.NormRMS {
				folded.Set(i, j, folded.At(i, j)-mean)
			}
		}
	}
	return folded
}

// param returns a parameter as a matrix with the given number of rows.
func param(store *graph.Store, name string, rows int) *mat.Dense {
	w := graph.Float64s(store.Param(name).Value)
	return mat.NewDense(rows, len(w)/rows, w)
}

// expertsOf returns the parts of a feed-forward's weights: one, or one for each expert.
func expertsOf(spec models.Spec, store *graph.Store, name string, rows int) []*mat.Dense {
	n := expertCount(spec)
	w := graph.Float64s(store.Param(name).Value)
	var all []*mat.Dense
	for e := range n {
		part := w[e*len(w)/n:][:len(w)/n]
		all = append(all, mat.NewDense(rows, len(part)/rows, part))
	}
	return all
}

// valueWeights are a feed-forward's W1 [F, N] of all experts side by side, or its W3 if W1 makes
// gates.
func valueWeights(spec models.Spec, store *graph.Store, site string) *mat.Dense {
	if store.Param(site+".w3") != nil {
		return param(store, site+".w3", spec.Width())
	}
	return sideBySide(expertsOf(spec, store, site+".w1", spec.Width()))
}

// sideBySide joins matrices of as many rows.
func sideBySide(all []*mat.Dense) *mat.Dense {
	joined := all[0]
	for _, w := range all[1:] {
		var next mat.Dense
		next.Augment(joined, w)
		joined = &next
	}
	return joined
}

// accessesOf are a model's reads and writes, in the order of the run.
func accessesOf(spec models.Spec, store *graph.Store) []access {
	if on[stream.MatrixConfig](spec) {
		return matrixAccesses(spec, store)
	}
	return vectorAccesses(spec, store)
}

// vectorAccesses are a stream of vectors' reads and writes, in the order of the run.
func vectorAccesses(spec models.Spec, store *graph.Store) []access {
	gain := func(name string) []float64 { return graph.Float64s(store.Param(name).Value) }
	transposed := func(w *mat.Dense) *mat.Dense { return mat.DenseCopyOf(w.T()) }
	embedding, last := transposed(param(store, "embedding", spec.Vocab)), lastAccess(spec, store)
	if spec.MuP != nil {
		embedding.Scale(spec.MuP.InputMultiplier, embedding)
		last.w.Scale(spec.MuP.OutputMultiplier*float64(spec.MuP.Base.Stream.(stream.VectorConfig).D)/float64(spec.Width()), last.w)
	}
	all := []access{{"embedding", false, embedding}}
	if spec.Attention.Positions == models.PositionsLearned {
		all = append(all, access{"positions", false, transposed(param(store, "positions", spec.Seq))})
	}
	if store.Param("reduce") != nil { // of a stream that is no vector
		all = nil
	}
	for l := range spec.Layers {
		a, f := fmt.Sprintf("blocks.%d.attention", l), fmt.Sprintf("blocks.%d.feedforward", l)
		o := graph.Float64s(store.Param(a + ".o").Value)
		var written []*mat.Dense
		for _, w2 := range expertsOf(spec, store, f+".w2", hidden(spec)) {
			written = append(written, transposed(w2))
		}
		read := expertsOf(spec, store, f+".w1", spec.Width())
		if store.Param(f+".w3") != nil {
			read = append(read, param(store, f+".w3", spec.Width()))
		}
		all = append(all,
			access{a, true, attentionAccess(spec, store, a)},
			access{a, false, transposed(mat.NewDense(len(o)/spec.Width(), spec.Width(), o))},
			access{f, true, naiveFold(spec, gain(f+".norm"), sideBySide(read))},
			access{f, false, sideBySide(written)})
	}
	if store.Param("reduce") != nil {
		return all
	}
	return append(all, last)
}

// attentionAccess are W_Q | W_K | W_V, each after its norm.
func attentionAccess(spec models.Spec, store *graph.Store, site string) *mat.Dense {
	w := param(store, site+".qkv", spec.Width())
	_, columns := w.Dims()
	var all []*mat.Dense
	for via := range 3 {
		part := mat.DenseCopyOf(w.Slice(0, spec.Width(), via*columns/3, (via+1)*columns/3))
		all = append(all, naiveFold(spec, gainOf(spec, store, site, via), part))
	}
	return sideBySide(all)
}

// lastAccess is the unembedding after the last norm.
func lastAccess(spec models.Spec, store *graph.Store) access {
	last := "norm"
	for _, name := range []string{"aggregate.norm", fmt.Sprintf("blocks.%d.aggregate.norm", spec.Layers-1)} {
		if store.Param(name) != nil {
			last = name
		}
	}
	u := mat.DenseCopyOf(param(store, "embedding", spec.Vocab).T())
	if !spec.TieEmbeddings {
		u = param(store, "unembedding", spec.Width())
	}
	return access{"unembedding", true, naiveFold(spec, graph.Float64s(store.Param(last).Value), u)}
}

// matrixAccesses are a matrix stream's keys, reading ones times their norm's mean gain.
func matrixAccesses(spec models.Spec, store *graph.Store) []access {
	s := matrixOf(spec)
	reading := func(keys, norm string) *mat.Dense {
		k, g := param(store, keys, 1), graph.Float64s(store.Param(norm).Value)
		_, n := k.Dims()
		w := mat.NewDense(s.Dk, n/s.Dk, nil)
		w.Apply(func(d, i int, _ float64) float64 {
			mean := 0.0
			for v := range s.Dv {
				mean += g[d*s.Dv+v] / float64(s.Dv)
			}
			return k.At(0, i*s.Dk+d) * mean
		}, w)
		return w
	}
	writing := func(keys string) *mat.Dense { return mat.DenseCopyOf(param(store, keys, s.Rank).T()) }
	all := []access{{"embedding", false, writing("write_embedding")}}
	if spec.Attention.Positions == models.PositionsLearned {
		all = append(all, access{"positions", false, writing("write_positions")})
	}
	for l := range spec.Layers {
		for _, kind := range []string{".attention", ".feedforward"} {
			site := fmt.Sprintf("blocks.%d%s", l, kind)
			all = append(all, access{site, true, reading(site+".read", site+".norm")}, access{site, false, writing(site + ".write")})
		}
	}
	return append(all, access{"unembedding", true, reading("read_unembedding", "norm")})
}

// svd takes a matrix apart: singular values, and an orthonormal basis of the directions that
// hold 90% of the energy.
func svd(t *testing.T, w *mat.Dense) (values []float64, basis *mat.Dense) {
	var s mat.SVD
	require.True(t, s.Factorize(w, mat.SVDThin))
	var u mat.Dense
	s.UTo(&u)
	values = s.Values(nil)
	total, held, k := 0.0, 0.0, 0
	for _, v := range values {
		total += v * v
	}
	for held < 0.9*total {
		held += values[k] * values[k]
		k++
	}
	d, _ := u.Dims()
	return values, mat.DenseCopyOf(u.Slice(0, d, 0, k))
}
