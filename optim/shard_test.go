package optim_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/optim"
)

// stacked lists parameters that hold several matrices, and others.
var stacked = append([]graph.ParamSpec{
	{Name: "experts", Shape: []int{5, 4, 6}, Init: graph.Normal(1), Decay: true, Role: graph.RoleHidden},
	{Name: "qkv", Shape: []int{6, 14}, Columns: []int{6, 4, 4}, Init: graph.Normal(1), Decay: true, Role: graph.RoleHidden},
	{Name: "bias", Shape: []int{13}, Init: graph.Zeros()},
}, specs...)

// storeOfStacked returns a store of these parameters with room for gradients.
func storeOfStacked(t *testing.T) *graph.Store {
	t.Helper()
	b := graph.On(gorgonia.NewGraph(), graph.Options{DType: tensor.Float32, Seed: 5})
	for _, s := range stacked {
		b.Param(s)
	}
	require.NoError(t, b.Err())
	for _, p := range b.Store().Params() {
		p.Grad = tensor.New(tensor.Of(tensor.Float32), tensor.WithShape(p.Shape...))
	}
	return b.Store()
}

// TestShards checks that several ranks that each update their own entries compute the same bits
// together as one rank: clipping takes the norm over all of them.
func TestShards(t *testing.T) {
	rate := optim.Rate(1e-2, optim.Constant{})
	for name, parts := range map[string][]optim.Part{
		"adamw": {optim.Clip(1), rate, optim.Decay(0.1, optim.Coupled, nil)},
		"sgd":   {optim.Clip(1), rate, optim.SGD()},
		"muon":  {optim.Clip(1), rate, optim.Group(optim.Matrices, optim.Muon(0.9, optim.ScaleOriginal))},
	} {
		for _, ranks := range []int{2, 3, 4} {
			t.Run(fmt.Sprintf("%s over %d", name, ranks), func(t *testing.T) { compareShards(t, parts, ranks) })
		}
	}
}

func compareShards(t *testing.T, parts []optim.Part, ranks int) {
	alone := storeOfStacked(t)
	one := newOptimizer(t, alone, 1, parts...)
	stores, all := make([]*graph.Store, ranks), make([]*optim.Optimizer, ranks)
	for r := range ranks {
		stores[r] = storeOfStacked(t)
		all[r] = newOptimizer(t, stores[r], 1, append(parts[:len(parts):len(parts)], optim.Shard(optim.Shards{Rank: r, Ranks: ranks, Bucket: 60}))...)
		require.Equal(t, len(all[0].Buckets()), len(all[r].Buckets()))
	}
	for step := range 3 {
		setGradients(t, alone, step)
		want, err := one.Step(0.5)
		require.NoError(t, err)
		sum := 0.0
		for r, o := range all {
			setGradients(t, stores[r], step)
			s, err := o.SumSquares()
			require.NoError(t, err)
			sum += s
		}
		for _, o := range all {
			got, err := o.Update(sum, 0.5)
			require.NoError(t, err)
			require.InDelta(t, want.GradNorm, got.GradNorm, 1e-6*want.GradNorm)
		}
	}
	owned := map[*graph.Param]int{}
	for _, bucket := range all[0].Buckets() {
		for _, p := range bucket {
			owned[p.Param] += p.To - p.From
			want := graph.Float64s(alone.Param(p.Param.Name).Value)[p.From:p.To]
			got := graph.Float64s(stores[p.Owner].Param(p.Param.Name).Value)[p.From:p.To]
			require.InDeltaSlice(t, want, got, 1e-6, "%s, owner %d", p.Param.Name, p.Owner)
		}
	}
	for _, p := range stores[0].Params() {
		require.Equal(t, p.Size(), owned[p], "%s: each entry has one owner", p.Name)
	}
	entries, whole := 0, 0
	for _, s := range one.State() {
		whole += s.Value.DataSize()
	}
	for _, o := range all {
		for _, s := range o.State() {
			if s.Value != nil {
				entries += s.Value.DataSize()
				require.Equal(t, s.To-s.From, s.Value.DataSize())
			}
		}
	}
	require.Equal(t, whole, entries, "the state is kept once")
}

// TestSharesAreEqual checks that every rank updates about the same number of entries of each
// bucket, that Muon's matrices stay whole, and that their work is dealt out evenly.
func TestSharesAreEqual(t *testing.T) {
	const ranks = 4
	s := storeOfStacked(t)
	o := newOptimizer(t, s, 1, optim.Shard(optim.Shards{Ranks: ranks, Bucket: 60}))
	require.Greater(t, len(o.Buckets()), 2)
	for _, bucket := range o.Buckets() {
		var shares [ranks]int
		all := 0
		for _, p := range bucket {
			shares[p.Owner] += p.To - p.From
			all += p.To - p.From
		}
		for _, share := range shares {
			require.InDelta(t, float64(all)/ranks, share, 1)
		}
	}
	o = newOptimizer(t, storeOfStacked(t), 1, optim.Shard(optim.Shards{Ranks: ranks}), optim.Group(optim.Matrices, optim.Muon(0.9, optim.ScaleOriginal)))
	for _, bucket := range o.Buckets() {
		for _, p := range bucket {
			for _, m := range p.Param.Matrices() {
				end := m.Offset + (m.Rows-1)*m.Stride + m.Columns
				require.True(t, end <= p.From || p.To <= m.Offset || p.From <= m.Offset && end <= p.To, "%s: %+v in %d to %d", p.Param.Name, m, p.From, p.To)
			}
		}
	}
}

// TestShardOrder checks that buckets follow the order of the gradients, and that bad shards are
// refused.
func TestShardOrder(t *testing.T) {
	s := storeOfStacked(t)
	order := append([]*graph.Param(nil), s.Params()...)
	for i, j := 0, len(order)-1; i < j; i, j = i+1, j-1 {
		order[i], order[j] = order[j], order[i]
	}
	o := newOptimizer(t, s, 1, optim.Shard(optim.Shards{Ranks: 2, Order: order, Bucket: 1}))
	for i, bucket := range o.Buckets() {
		require.Same(t, order[i], bucket[0].Param)
	}
	for want, bad := range map[string]optim.Shards{
		"want a rank from 0 to 1, got 2":      {Rank: 2, Ranks: 2},
		"want a rank from 0 to 0, got -1":     {Rank: -1},
		"want an order of all 7 parameters":   {Order: order[:2]},
		"want each parameter of the store":    {Order: append(order[:6:6], order[0])},
		"that another optimizer has left: us": {Ranks: 3},
	} {
		_, err := optim.New(s, 1, optim.Shard(bad))
		require.ErrorContains(t, err, want)
	}
}
