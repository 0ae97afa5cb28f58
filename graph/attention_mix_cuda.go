//go:build cuda

package graph

import "github.com/residua-go/residua/graph/cuda"

func (k attentionMix) launch(c *deviceCall) error {
	pattern, err := c.inAs(0, cuda.F32)
	if err != nil {
		return err
	}
	qkv, err := c.inAs(1, c.out().Type)
	if err != nil {
		return err
	}
	return k.launchEach(c, "attention_mix"+qkv.Suffix(), pattern, qkv, c.op.in[1])
}

// launchEach launches a kernel that has a thread for each element of the output.
func (k attentionMix) launchEach(c *deviceCall, name string, x, y cuda.Array, qkv Signature) error {
	out := c.out()
	return c.launch(name, cuda.Over(out.N, 256), out.Arg(), x.Arg(), y.Arg(),
		cuda.Long(out.N), cuda.Int(k.seq), cuda.Int(k.heads), cuda.Int(k.attention().params(qkv).HeadDim))
}

func (k attentionMixGradPattern) launch(c *deviceCall) error {
	dout := c.in(0)
	qkv, err := c.inAs(1, dout.Type)
	if err != nil {
		return err
	}
	return k.launchEach(c, "attention_mix_pattern"+qkv.Suffix(), dout, qkv, c.op.in[1])
}

func (k attentionMixGradValues) launch(c *deviceCall) error {
	pattern, err := c.inAs(0, cuda.F32)
	if err != nil {
		return err
	}
	dout, err := c.inAs(1, c.out().Type)
	if err != nil {
		return err
	}
	return k.launchEach(c, "attention_mix_values"+dout.Suffix(), pattern, dout, k.qkv)
}
