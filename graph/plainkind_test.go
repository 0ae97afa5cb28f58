package graph

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"gorgonia.org/tensor"
)

// named is a Primitive with any name.
type named struct {
	add
	name string
}

func (k named) String() string { return k.name }

func TestPlainKind(t *testing.T) {
	for want, k := range map[string]Primitive{
		"GradX of Linear":       named{name: "GradX of Linear(transposed=false, scale=1)"},
		"GradGain of LayerNorm": secondaryOutput{what: "GradGain of LayerNorm", result: Signature{Shape: tensor.Shape{3, 4}}},
		"Linear then Gelu":      named{name: "Linear(transposed=false, scale=1) then Gelu(exact=true)"},
		"Add":                   add{},
	} {
		assert.Equal(t, want, opType(k))
	}
}
