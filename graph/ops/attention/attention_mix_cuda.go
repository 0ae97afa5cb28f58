package attention

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
)

func (k attentionMix) Launch(c *graph.DeviceCall) {
	pattern := c.InAs(0, cuda.F32)
	qkv := c.InAs(1, c.Out().Type)
	k.launchEach(c, "attention_mix"+qkv.Suffix(), pattern, qkv, c.Signature(1))
}

// launchEach launches a kernel that has a thread for each element of the output.
func (k attentionMix) launchEach(c *graph.DeviceCall, name string, x, y cuda.Array, qkv graph.Signature) {
	out, p := c.Out(), k.attention().params(qkv)
	c.Launch(name, cuda.Over(out.N, 256), out, x, y,
		cuda.Long(out.N), cuda.Ints(p.Seq, p.Heads, p.KVHeads, p.HeadDim))
}

func (k attentionMixGradPattern) Launch(c *graph.DeviceCall) {
	dout := c.In(0)
	qkv := c.InAs(1, dout.Type)
	k.of.launchEach(c, "attention_mix_pattern"+qkv.Suffix(), dout, qkv, c.Signature(1))
}

func (k attentionMixGradValues) Launch(c *graph.DeviceCall) {
	pattern := c.InAs(0, cuda.F32)
	dout := c.InAs(1, c.Out().Type)
	k.of.launchEach(c, "attention_mix_values"+dout.Suffix(), pattern, dout, c.Result())
}
