package shape

import (
	"fmt"
	"hash/fnv"

	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// constant emits fixed numbers. Its input is not read; it makes the node a part of a graph.
type constant struct {
	graph.NoGradient
	values []float64
	shape  tensor.Shape
	device *graph.DeviceMemory // the copy on a GPU
}

// Constant makes a tensor of fixed numbers in row-major order, such as the zeros and ones of a
// matrix whose other entries are learned. near is any node of the graph, such as a parameter that
// the numbers go with; the tensor has its type.
func Constant(b *graph.Builder, near *gorgonia.Node, values []float64, axes ...int) *gorgonia.Node {
	return b.Apply(constant{values: values, shape: axes, device: new(graph.DeviceMemory)}, near)
}

// String returns a name that differs where the values do: it lists a few, and a digest of more.
func (k constant) String() string {
	if len(k.values) <= listedValues {
		return fmt.Sprintf("Constant %v %v", k.shape, k.values)
	}
	digest := fnv.New64a()
	fmt.Fprint(digest, k.values)
	return fmt.Sprintf("Constant %v %016x", k.shape, digest.Sum64())
}

// listedValues is the largest number of values that the name of a constant lists.
const listedValues = 8

func (constant) KeepsFloat32() bool { return true }

func (k constant) Infer(in []graph.Signature) (graph.Signature, error) {
	s := graph.Signature{DType: in[0].DType, Shape: k.shape}
	if len(k.values) != s.Size() {
		return s, errors.Errorf("values: want %d for shape %v, got %d", s.Size(), k.shape, len(k.values))
	}
	return s, nil
}

func (k constant) Run(c *graph.Call) {
	graph.Dispatch(c, k, runConstant, runConstant)
}

func runConstant[T kernel.Float](k constant, c graph.CallOf[T]) {
	for i, y := 0, c.Out(); i < len(y); i++ {
		y[i] = T(k.values[i])
	}
}
