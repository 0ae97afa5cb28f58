package attention

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
)

func (k attentionMix) Launch(c *graph.DeviceCall) error {
	pattern, err := c.InAs(0, cuda.F32)
	if err != nil {
		return err
	}
	qkv, err := c.InAs(1, c.Out().Type)
	if err != nil {
		return err
	}
	return k.launchEach(c, "attention_mix"+qkv.Suffix(), pattern, qkv, c.Signature(1))
}

// launchEach launches a kernel that has a thread for each element of the output.
func (k attentionMix) launchEach(c *graph.DeviceCall, name string, x, y cuda.Array, qkv graph.Signature) error {
	out, p := c.Out(), k.attention().params(qkv)
	return c.Launch(name, cuda.Over(out.N, 256), out.Arg(), x.Arg(), y.Arg(),
		cuda.Long(out.N), cuda.Int(p.Seq), cuda.Int(p.Heads), cuda.Int(p.KVHeads), cuda.Int(p.HeadDim))
}

func (k attentionMixGradPattern) Launch(c *graph.DeviceCall) error {
	dout := c.In(0)
	qkv, err := c.InAs(1, dout.Type)
	if err != nil {
		return err
	}
	return k.of.launchEach(c, "attention_mix_pattern"+qkv.Suffix(), dout, qkv, c.Signature(1))
}

func (k attentionMixGradValues) Launch(c *graph.DeviceCall) error {
	pattern, err := c.InAs(0, cuda.F32)
	if err != nil {
		return err
	}
	dout, err := c.InAs(1, c.Out().Type)
	if err != nil {
		return err
	}
	return k.of.launchEach(c, "attention_mix_values"+dout.Suffix(), pattern, dout, k.qkv)
}
