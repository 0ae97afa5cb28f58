package modeltest

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
)

// checkCache checks that tokens that follow the tokens in a cache have the logits that they
// have in one whole row, whether they are given one by one, several at a time, or by several
// programs in turn in rows of different length.
func checkCache(t *testing.T, spec models.Spec) {
	store := PerturbedStore(t, spec, tensor.Float64)
	b := documentBatch(spec, rows, 5)
	whole := cached{spec: spec, batch: b, want: evaluate(t, spec, store, b).Logits}
	for name, sizes := range map[string][][2]int{ // programs, as numbers of rows and tokens per row
		"one by one": {{rows, 1}}, "half a row at a time": {{rows, spec.Seq / 2}}, "mixed": {{rows, 1}, {1, 4}, {rows, 3}, {1, spec.Seq}},
	} {
		r := whole
		var err error
		r.cache, err = graph.NewCache(rows+1, spec.Seq)
		require.NoError(t, err)
		for _, size := range sizes {
			r.programs = append(r.programs, Compile(t, spec, store, Setup{Rows: size[0], Seq: size[1], Cache: r.cache}))
		}
		for round := range uint64(3) { // each after Reset
			r.cache.Reset()
			r.feed(t, name, rand.New(rand.NewPCG(round, 6)))
		}
	}
}

// checkWindow checks that with a sliding window shorter than the rows, in all layers or in
// some, logits are the same with a cache and without, and the cost in closed form matches the
// graph. It skips models that set an attention kind.
func checkWindow(t *testing.T, spec models.Spec) {
	if spec.Attention.Kind != nil {
		return
	}
	for _, kind := range []layers.SlidingAttention{{Window: 3}, {Window: 2, Sinks: 2, Layers: []int{spec.Layers - 1}}} {
		s := varied(t, spec, func(c *models.Config) { c.Attention.Kind = kind })
		checkCache(t, s)
		checkCost(t, s)
	}
}

// cached feeds the rows of a batch to programs with a cache.
type cached struct {
	spec     models.Spec
	batch    Batch
	want     []float64 // logits [rows, seq, vocab]
	cache    *graph.Cache
	programs []*Program
}

// feed draws a program, rows that are not yet at their end, and how many tokens each of them gets,
// until all rows have ended. Row i of the batch is row rows-i of the cache, whose row 0 stays
// empty.
func (r *cached) feed(t *testing.T, name string, draw *rand.Rand) {
	t.Helper()
	seq, vocab := r.spec.Seq, r.spec.Vocab
	for {
		var open []int
		for row := range r.batch.Rows {
			if r.cache.Len(r.batch.Rows-row) < seq {
				open = append(open, row)
			}
		}
		if len(open) == 0 {
			break
		}
		p := r.programs[draw.IntN(len(r.programs))]
		draw.Shuffle(len(open), func(i, j int) { open[i], open[j] = open[j], open[i] })
		tokens := p.Input("tokens").Shape()
		if open = open[:min(len(open), tokens[0])]; len(open) > 1 {
			open = open[:1+draw.IntN(len(open))]
		}
		var runs []graph.RunRow
		part := Batch{Rows: tokens[0], Seq: tokens[1], Inputs: RandomBatch(r.spec, tokens[0], tokens[1], draw.Uint64()).Inputs}
		for i, row := range open {
			run := graph.RunRow{Row: r.batch.Rows - row}
			run.Tokens = 1 + draw.IntN(min(part.Seq, seq-r.cache.Len(run.Row)))
			copy(part.Inputs[i*part.Seq:], r.batch.Inputs[row*seq+r.cache.Len(run.Row):][:run.Tokens])
			runs = append(runs, run)
		}
		logits := p.On(t, part, graph.RunOptions{Rows: runs}).Logits
		for i, row := range open {
			n := runs[i].Tokens
			want := r.want[(row*seq+r.cache.Len(runs[i].Row)-n)*vocab:][:n*vocab]
			require.LessOrEqual(t, Distance(logits[i*part.Seq*vocab:][:n*vocab], want), 1e-12,
				"%s: row %d, %d tokens up to %d in a program of %v", name, row, n, r.cache.Len(runs[i].Row), tokens)
		}
	}
	require.Zero(t, r.cache.Len(0))
}
