package graph_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
)

// TestMatrices: the last two axes of a parameter form weight matrices, counted by the axes before
// them and packed side by side in the last axis.
func TestMatrices(t *testing.T) {
	for _, c := range []struct {
		name string
		spec graph.ParamSpec
		want []graph.Matrix
	}{
		{"no role", graph.ParamSpec{Shape: []int{4, 6}}, nil},
		{"one", graph.ParamSpec{Shape: []int{4, 6}, Role: graph.RoleHidden}, []graph.Matrix{{0, 4, 6, 6, 4, 6}}},
		{"packed", graph.ParamSpec{Shape: []int{4, 8}, Role: graph.RoleHidden, Columns: []int{4, 2, 2}},
			[]graph.Matrix{{0, 4, 4, 8, 4, 4}, {4, 4, 2, 8, 4, 2}, {6, 4, 2, 8, 4, 2}}},
		{"stacked", graph.ParamSpec{Shape: []int{2, 4, 6}, Role: graph.RoleHidden}, []graph.Matrix{{0, 4, 6, 6, 4, 6}, {24, 4, 6, 6, 4, 6}}},
		{"stacked and packed", graph.ParamSpec{Shape: []int{2, 3, 4}, Role: graph.RoleHidden, Columns: []int{2, 2}},
			[]graph.Matrix{{0, 3, 2, 4, 3, 2}, {2, 3, 2, 4, 3, 2}, {12, 3, 2, 4, 3, 2}, {14, 3, 2, 4, 3, 2}}},
		{"keys to read", graph.ParamSpec{Shape: []int{3, 2, 5}, Role: graph.RoleReadKeys},
			[]graph.Matrix{{0, 2, 5, 5, 5, 2}, {10, 2, 5, 5, 5, 2}, {20, 2, 5, 5, 5, 2}}},
		{"keys to write", graph.ParamSpec{Shape: []int{2, 5}, Role: graph.RoleWriteKeys}, []graph.Matrix{{0, 2, 5, 5, 2, 5}}},
		{"one column", graph.ParamSpec{Shape: []int{4, 1}, Role: graph.RoleHidden}, nil},
		{"one row", graph.ParamSpec{Shape: []int{1, 4}, Role: graph.RoleHidden}, nil},
		{"one axis", graph.ParamSpec{Shape: []int{4}, Role: graph.RoleHidden}, nil},
	} {
		require.Equal(t, c.want, c.spec.Matrices(), c.name)
	}
	b := graph.On(gorgonia.NewGraph(), graph.Options{})
	require.Nil(t, b.Param(graph.ParamSpec{Name: "w", Shape: []int{2, 6}, Role: graph.RoleHidden, Columns: []int{2, 2}}))
	require.ErrorContains(t, b.Err(), `parameter "w": want columns [2 2] that add up to the last axis of shape [2 6], got 4`)
}
