package analysis_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/analysis/memory"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/cache"
	"github.com/residua-go/residua/models/check"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/stream"
)

// TestRetrievalAddsUpToTheRead: what a feed-forward's keys get of each writer, carried there and
// read one writer after another, adds up to what the feed-forward got in the run, and has the
// shares and the energies that are said; keys of each token's own included.
func TestRetrievalAddsUpToTheRead(t *testing.T) {
	t.Parallel()
	const reader = "blocks.1.feedforward"
	for _, name := range []string{"matrix/bias", "matrix/authors", "matrix/dynamic"} {
		t.Run(name, func(t *testing.T) {
			c := zoo(t)[name]
			store := modeltest.PerturbedStore(t, c, tensor.Float64)
			run, err := analysis.Run(store, c, tokensFor(c, 6, 3), reader+".in", "blocks.1.attention.stream")
			require.NoError(t, err)
			got, err := memory.RetrieveWrites(run, 1)
			require.NoError(t, err)
			requireResult(t, got)
			assert.Equal(t, reader, got.Figures()[2].(figure.Lines).XNames[slices.IndexFunc(got.Reads, func(r memory.KeyedRead) bool { return r.Reader == reader })], "readers have names")
			at := slices.IndexFunc(got.Reads, func(r memory.KeyedRead) bool { return r.Reader == reader })
			require.GreaterOrEqual(t, at, 0)
			x, err := run.Activation("blocks.1.attention.stream")
			require.NoError(t, err)
			in, err := run.Activation(reader + ".in")
			require.NoError(t, err)
			share, energy := readByWriters{t, run, reader, got.Dk, got.Dv, x, in}.shares()
			assert.InDeltaSlice(t, share, got.Reads[at].Share, 1e-10)
			assert.InDeltaSlice(t, energy, got.Reads[at].Energy, 1e-10)
			for _, r := range got.Reads {
				assert.InDelta(t, 1, floats.Sum(r.Share), 1e-9, r.Reader)
				assert.InDelta(t, 1, floats.Sum(r.Energy), 1e-9, r.Reader)
				assert.InDelta(t, 1, floats.Sum(r.Chance), 1e-9, r.Reader)
				assert.True(t, r.Model.Effective >= 1 && r.Model.Effective <= float64(r.Writes)+1e-9, r.Reader)
				assert.True(t, r.Model.Top*float64(r.Writes) >= 1-1e-9 && r.Model.Top <= 1, r.Reader)
			}
			requireResult(t, got.Distances)
		})
	}
}

// readByWriters reads with a site's keys what each writer alone has put into the stream.
type readByWriters struct {
	t      *testing.T
	run    *cache.Cache
	reader string
	dk, dv int
	stream []float64 // [T, Dk*Dv] where the site reads
	in     []float64 // [T, m, Dv], what the site got
}

// shares returns the writers' shares of what the site reads. It first checks that what the writers
// give adds up to what the site got.
func (n readByWriters) shares() (share, energy []float64) {
	d, err := analysis.Decompose(n.run)
	require.NoError(n.t, err)
	frozen, err := n.run.Model().Stream().(stream.Additive).Freeze(n.run)
	require.NoError(n.t, err)
	squares, reads := 0.0, 0.0
	m := len(n.in) / n.run.Tokens() / n.dv
	for token := range n.run.Tokens() {
		var states [][]float64
		for _, w := range d.Writers() {
			state, err := frozen.CarryTo(w.Source, n.reader, token, written(n.t, n.run, w, token))
			require.NoError(n.t, err)
			if state != nil {
				states = append(states, state)
			}
		}
		if share == nil {
			share, energy = make([]float64, len(states)), make([]float64, len(states))
		}
		for j := range m {
			key := n.key(token, j, m)
			parts, q := n.read(token, key, states)
			total := 0.0
			require.InDeltaSlice(n.t, n.in[(token*m+j)*n.dv:][:n.dv], n.withBias(q, key), 1e-10)
			for _, part := range parts {
				total += floats.Dot(part, part)
			}
			for i, part := range parts {
				share[i] += floats.Dot(part, q)
				energy[i] += floats.Dot(part, part) / total
			}
			squares, reads = squares+floats.Dot(q, q), reads+1
		}
	}
	floats.Scale(1/squares, share)
	floats.Scale(1/reads, energy)
	return share, energy
}

// read is what a key reads of each state [Dk*Dv] after the norm at the scale of the stream, and
// their sum.
func (n readByWriters) read(token int, key []float64, states [][]float64) (parts [][]float64, q []float64) {
	spec, size := n.run.Model().Spec(), n.dk*n.dv
	gain := n.parameter("norm")
	centred := func(x []float64) []float64 {
		y := slices.Clone(x)
		if spec.Norm != models.NormRMS {
			floats.AddConst(-floats.Sum(x)/float64(size), y)
		}
		return y
	}
	x := centred(n.stream[token*size:][:size])
	scale := 1 / math.Sqrt(floats.Dot(x, x)/float64(size)+spec.NormEps)
	q = make([]float64, n.dv)
	for _, state := range states {
		part := make([]float64, n.dv)
		for i, v := range centred(state) {
			part[i%n.dv] += key[i/n.dv] * gain[i] * scale * v
		}
		parts = append(parts, part)
		floats.Add(q, part)
	}
	return parts, q
}

// withBias adds what the key reads of the norm's bias, which is of no writer.
func (n readByWriters) withBias(q, key []float64) []float64 {
	q = slices.Clone(q)
	for i, v := range n.parameter("norm_bias") {
		q[i%n.dv] += key[i/n.dv] * v
	}
	return q
}

// key is the site's key number j of m, [Dk]: a token's own, or all tokens'.
func (n readByWriters) key(token, j, m int) []float64 {
	key := make([]float64, n.dk)
	if all := n.parameter("read"); all != nil {
		copy(key, all[j*n.dk:])
		return key
	}
	keys, err := n.run.Activation(n.reader + ".read.keys") // [T, Dk, m]
	require.NoError(n.t, err)
	for d := range key {
		key[d] = keys[(token*n.dk+d)*m+j]
	}
	return key
}

// parameter is the site's of that name, nil if it has none.
func (n readByWriters) parameter(name string) []float64 {
	p := n.run.Model().Store().Param(n.reader + "." + name)
	if p == nil {
		return nil
	}
	return graph.Float64s(p.Value)
}

// TestRetrievalOfOneWrite: what one key alone has written is read by every key as it is, and by its
// own without an error; what a second site adds is what the first is read with.
func TestRetrievalOfOneWrite(t *testing.T) {
	c := modeltest.Resolve(t, tinyMatrix(func(c *models.Config) {
		c.Stream, c.Layers, c.Attention.Positions, c.Norm = stream.MatrixConfig{Dk: 2, Dv: 6, Rank: 1}, 1, models.PositionsNone, models.NormRMS
	}))
	store := modeltest.PerturbedStore(t, c, tensor.Float64)
	set := func(name string, values ...float64) {
		require.NoError(t, graph.SetFloat64s(store.Param(name).Value, values))
	}
	set("write_embedding", 2, 0)
	set("blocks.0.attention.write", 0, 3)   // orthogonal
	set("blocks.0.feedforward.write", 0, 1) // along the attention's
	run, err := analysis.Run(store, c, tokensFor(c, 5, 3))
	require.NoError(t, err)
	got, err := memory.RetrieveWrites(run, 1)
	require.NoError(t, err)
	one := memory.Sharpness{Effective: 1, Top: 1, Signal: 1}
	for _, r := range got.Reads[:3] { // queries, keys, values
		assert.InDelta(t, one.Effective, r.Model.Effective, 1e-12)
		assert.InDelta(t, one.Signal, r.Random.Signal, 1e-12)
		assert.InDeltaSlice(t, []float64{1}, r.Share, 1e-12)
	}
	assert.Equal(t, []string{"embedding", "blocks.0.attention", "blocks.0.feedforward"}, got.Writers)
	last := got.Backs[len(got.Backs)-3:]
	assert.InDelta(t, 0, last[0].Error, 1e-20, "orthogonal to all others")
	assert.Positive(t, last[0].Random)
	assert.InDelta(t, 1, last[2].Error*last[1].Error, 1e-9, "each is read with the other: |y_2|² / 9 |y_1|², and 9 |y_1|² / |y_2|²")
	assert.Equal(t, []int{2, 1, 0}, []int{last[0].Distance, last[1].Distance, last[2].Distance})
}

// TestRetrievalRefuses: a stream without keys has no such analysis.
func TestRetrievalRefuses(t *testing.T) {
	c := zoo(t)["vector"]
	run, err := analysis.Run(modeltest.NewStore(t, c, tensor.Float32, 1), c, tokensFor(c, 3, 1))
	require.NoError(t, err)
	_, err = memory.RetrieveWrites(run, 1)
	assert.ErrorIs(t, err, check.UnsupportedError{Stream: "vector"})
}
