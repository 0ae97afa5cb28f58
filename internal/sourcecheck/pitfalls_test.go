package sourcecheck

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// TestStockOpsOverwrite: stock ops after a stock Reshape still do what docs/embed.md says.
func TestStockOpsOverwrite(t *testing.T) {
	after := func(add func(reshaped, x *gorgonia.Node) (*gorgonia.Node, error)) any {
		g := gorgonia.NewGraph()
		matrix := func(name string, rows, columns int, values ...float32) *gorgonia.Node {
			value := tensor.New(tensor.WithShape(rows, columns), tensor.WithBacking(values))
			return gorgonia.NewMatrix(g, tensor.Float32, gorgonia.WithName(name), gorgonia.WithShape(rows, columns), gorgonia.WithValue(value))
		}
		w, x := matrix("w", 1, 2, 1, 2), matrix("x", 2, 1, 10, 10)
		reshaped, err := gorgonia.Reshape(w, tensor.Shape{2, 1})
		require.NoError(t, err)
		_, err = add(reshaped, x)
		require.NoError(t, err)
		vm := gorgonia.NewTapeMachine(g)
		defer vm.Close()
		require.NoError(t, vm.RunAll())
		return w.Value().Data()
	}
	assert.Equal(t, []float32{11, 12}, after(func(reshaped, x *gorgonia.Node) (*gorgonia.Node, error) { return gorgonia.Add(reshaped, x) }))
	assert.Equal(t, []float32{1, 2}, after(func(reshaped, x *gorgonia.Node) (*gorgonia.Node, error) { return gorgonia.Add(x, reshaped) }))
}
