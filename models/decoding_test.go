package models_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
)

// TestDecoding feeds tokens one by one to a program with a cache: the logits equal those from the
// whole row.
func TestDecoding(t *testing.T) {
	for _, masked := range []bool{false, true} {
		eachConfig(t, func(t *testing.T, c models.Config) {
			c.MaskDocuments, c.BOS, c.Separator = masked, bos, bos+1
			const rows = 3
			store := graph.NewStore(tensor.Float64, 1)
			o := graph.Options{Store: store, DType: tensor.Float64, Threads: 2}
			whole := compileModel(t, graph.ProgramOptions{Options: o}, c, rows, c.Seq)
			wake(t, store)
			var err error
			o.Cache, err = graph.NewCache(rows, c.Seq)
			require.NoError(t, err)
			one := compileModel(t, graph.ProgramOptions{Options: o}, c, rows, 1)
			for seed := range uint64(2) { // the second time after a Reset
				drawTokens(whole.Ints("tokens"), seed)
				whole.run(t, graph.RunOptions{})
				want := graph.Float64s(whole.logits.Value().(*tensor.Dense)) // [rows*seq, vocab]
				for i := range c.Seq {
					for row := range rows {
						one.Ints("tokens")[row] = whole.Ints("tokens")[row*c.Seq+i]
					}
					require.Equal(t, i, o.Cache.Len(rows-1))
					one.run(t, graph.RunOptions{})
					got := graph.Float64s(one.logits.Value().(*tensor.Dense)) // [rows, vocab]
					for row := range rows {
						require.InDeltaSlice(t, want[(row*c.Seq+i)*vocab:][:vocab], got[row*vocab:][:vocab], 1e-11, "token %d, row %d", i, row)
					}
				}
				require.ErrorContains(t, one.Run(graph.RunOptions{}), "capacity of 9")
				o.Cache.Reset()
			}
		})
	}
}

// TestDecodingInPieces feeds a prompt in several runs of several tokens.
func TestDecodingInPieces(t *testing.T) {
	c := smallConfig("matrix", models.PositionsRoPE)
	c.MaskDocuments, c.BOS = true, bos
	store := graph.NewStore(tensor.Float64, 1)
	o := graph.Options{Store: store, DType: tensor.Float64, Threads: 1}
	whole := compileModel(t, graph.ProgramOptions{Options: o}, c, 1, c.Seq)
	wake(t, store)
	var err error
	o.Cache, err = graph.NewCache(1, c.Seq)
	require.NoError(t, err)
	piece := compileModel(t, graph.ProgramOptions{Options: o}, c, 1, 3)
	drawTokens(whole.Ints("tokens"), 3)
	whole.run(t, graph.RunOptions{})
	want := graph.Float64s(whole.logits.Value().(*tensor.Dense))
	for i := 0; i < c.Seq; i += 3 {
		copy(piece.Ints("tokens"), whole.Ints("tokens")[i:])
		piece.run(t, graph.RunOptions{})
		require.InDeltaSlice(t, want[i*vocab:][:3*vocab], graph.Float64s(piece.logits.Value().(*tensor.Dense)), 1e-11)
	}
}
