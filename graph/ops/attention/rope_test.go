package attention

import (
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
)

// TestOneRopeTableAProgram: attentions of a graph have a table in common if their positions are the
// same.
func TestOneRopeTableAProgram(t *testing.T) {
	g := gorgonia.NewGraph()
	b := graph.On(g, graph.Options{})
	qkv := gorgonia.NewMatrix(g, tensor.Float32, gorgonia.WithShape(4, 24), gorgonia.WithName("qkv"))
	o := Options{Heads: 2, Seq: 4, RopeBase: 1e4}
	first := o.primitive(b, qkv).rope
	require.NotNil(t, first)
	require.Same(t, first, o.primitive(b, qkv).rope)
	require.NotNil(t, tableOf[float64](first))
	for name, change := range map[string]func(*Options){
		"base": func(o *Options) { o.RopeBase = 5e5 }, "seq": func(o *Options) { o.Seq = 2 },
		"stretch": func(o *Options) { o.Stretch.Amplitude = 2 }, "size of heads": func(o *Options) { o.Heads = 4 },
	} {
		other := o
		change(&other)
		require.NotSame(t, first, other.primitive(b, qkv).rope, name)
	}
	o.RopeBase = 0
	require.Nil(t, o.primitive(b, qkv).rope)
}
