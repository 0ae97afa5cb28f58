package models_test

import (
	"go/constant"
	"go/token"
	"go/types"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/models"
)

// formula is an expression of Go constants, such as "base + 4*d*d*blocks", by which a design's file
// gives a number that was derived by hand.
type formula string

// at returns the value of the formula for the given values of its names.
func (f formula) at(t *testing.T, values map[string]int) float64 {
	scope := types.NewPackage("formula", "formula")
	for name, value := range values {
		scope.Scope().Insert(types.NewConst(token.NoPos, scope, name, types.Typ[types.UntypedInt], constant.MakeInt64(int64(value))))
	}
	got, err := types.Eval(token.NewFileSet(), scope, token.NoPos, string(f))
	require.NoError(t, err, f)
	number, _ := constant.Float64Val(got.Value)
	return number
}

// sizesIn returns the values of a formula's names: the sizes of a model.
func sizesIn(spec models.Spec) map[string]int {
	d, rows := spec.Width(), spec.Vocab
	if spec.Attention.Positions == models.PositionsLearned {
		rows += spec.Seq
	}
	hidden := spec.FeedForwardShape().Hidden
	return map[string]int{"d": d, "blocks": spec.Layers, "sites": 2 * spec.Layers, "vocab": spec.Vocab, "rows": rows, "hidden": hidden, "dense": 2 * d * hidden}
}

// TestFormula: a formula is computed as written, without rounding; one with unknown names fails.
func TestFormula(t *testing.T) {
	assert.Equal(t, 3.5, formula("(base + 1)/2.0 + d").at(t, map[string]int{"base": 4, "d": 1}))
	_, err := types.Eval(token.NewFileSet(), types.NewPackage("formula", "formula"), token.NoPos, "1 + width")
	assert.Error(t, err)
}
