package layers

import (
	"cmp"

	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/moe"
)

// routerStd is the initial standard deviation of a router's weights, whatever its fan-in: the
// probabilities are nearly equal at first.
const routerStd = 0.02

// mixture is a mixture of feed-forward experts, where each token uses a few of them (see
// moe.Mixture): y = sum over the chosen experts i of g_i W2_i gelu(W1_i u + b1_i) + b2_i.
type mixture struct {
	b                      *graph.Builder
	name                   string
	router, w1, w2, b1, b2 *gorgonia.Node
	topK, experts          int
	exact, raw             bool
	last                   moe.Output
}

// MoEConfig holds the settings of a mixture of experts.
type MoEConfig struct {
	Hidden  int `yaml:"hidden" default:"required, or preset" max:"1048576" help:"width of one expert's hidden layer"`
	Experts int `yaml:"experts" default:"required, or preset" max:"4096" help:"number of experts"`
	TopK    int `yaml:"top_k" default:"2, or 1 of one expert" from:"model.feedforward.experts" max:"4096" help:"experts that a token goes to"`
	// RawGates selects the form of Shazeer et al. that DeepSeekMoE uses (Dai et al. 2024, arXiv
	// 2401.06066, eq. 3-5).
	RawGates bool `yaml:"raw_gates" help:"gates are the router's probabilities as they are, instead of divided by their sum over the chosen experts"`
}

// Name returns "moe".
func (MoEConfig) Name() string { return "moe" }

// Card describes a mixture of experts.
func (MoEConfig) Card() Card {
	return Card{
		Title: "Mixture of experts",
		Equation: "p = softmax(W_r u);   T = the k largest;   g_i = p_i / sum of p over T, or p_i with raw_gates\n" +
			"y = sum over i in T of g_i E_i(u);   loss += 0.01 E sum_i f_i P_i",
		Source: "Shazeer et al. 2017, arXiv 1701.06538; gates as in Jiang et al. 2024, arXiv 2401.04088; balance as in Fedus et al. 2021",
		Use: "Not a stream but a feed-forward, on any of them: E experts of which a token uses k. Parameters without FLOPs, for when memory is cheaper " +
			"than arithmetic. No token is dropped; the balance loss keeps experts in use.",
	}
}

// Defaults sets two experts for each token.
func (c MoEConfig) Defaults() FeedForwardDesign {
	if c.TopK == 0 {
		c.TopK = min(2, c.Experts)
	}
	return c
}

// Check returns an error unless there are experts, and at least as many as a token uses.
func (c MoEConfig) Check() error {
	if err := cmp.Or(CheckSize("hidden", c.Hidden), CheckSize("experts", c.Experts)); err != nil {
		return err
	}
	if c.TopK < 1 || c.TopK > c.Experts {
		return Setting("top_k", "want 1 to %d, the number of experts, got %d", c.Experts, c.TopK)
	}
	return nil
}

// Shape returns the hidden width, the number of experts, and how many of them a token uses.
func (c MoEConfig) Shape() FeedForwardShape {
	return FeedForwardShape{Hidden: c.Hidden, Experts: c.Experts, Used: c.TopK}
}

// Cost returns the cost of the experts, of which a token uses TopK, and of the router, which keeps
// its logits and the gates.
func (c MoEConfig) Cost(s FeedForwardSizes) Cost {
	expert := GELUConfig{c.Hidden}.Cost(s)
	experts, used := float64(c.Experts), float64(c.TopK)
	all := Cost{Parameters: experts * expert.Parameters, FLOPs: used * expert.FLOPs, Activations: used * expert.Activations}
	return all.Plus(LinearCost(float64(s.In), experts, false), ActivationCost(experts+used))
}

// New calls newMoE.
func (c MoEConfig) New(b *graph.Builder, name string, s FeedForwardSizes) FeedForward {
	return newMoE(b, name, c, s)
}

// newMoE makes a mixture with the parameters name.router [In, Experts], name.w1 [Experts,
// In, Hidden] and name.w2 [Experts, Hidden, In]. Each expert starts as a GELU does.
func newMoE(b *graph.Builder, name string, c MoEConfig, s FeedForwardSizes) *mixture {
	m := &mixture{b: b, name: name, topK: c.TopK, experts: c.Experts, exact: s.ExactGelu, raw: c.RawGates,
		router: b.Param(graph.ParamSpec{Name: name + ".router", Shape: []int{s.In, c.Experts}, Init: graph.Normal(routerStd), Decay: true, WidthRatio: s.WidthRatio,
			Role: graph.RoleHidden}),
		w1: b.Param(s.Init.Hidden(name+".w1", s.In, s.WidthRatio, c.Experts, s.In, c.Hidden)),
		w2: b.Param(s.LastWeights()(name+".w2", c.Hidden, s.HiddenRatio, c.Experts, c.Hidden, s.In)),
	}
	if s.Bias {
		m.b1 = b.Param(Zero(name+".w1_bias", c.Experts, c.Hidden))
		m.b2 = b.Param(Zero(name+".w2_bias", c.Experts, s.In))
	}
	return m
}

// Units describes the experts.
func (m *mixture) Units() Units {
	return Units{Part: "expert", Count: m.experts, Activation: m.name + ".experts", Whole: true}
}

// Forward maps u [T, ...In] to y [T, In]. If they are hooked, the gates g_ti are computed as
// name.gates [T, Experts], and the terms of y as name.experts [T, Experts, In], each expert's
// output times its gate; both are 0 for experts that a token does not use. If a hook replaces the
// gates, only those of the chosen experts are used.
func (m *mixture) Forward(u *gorgonia.Node) *gorgonia.Node {
	m.last = moe.Mixture(m.b, m.b.Hook(m.name+".in", u, inputAxes(u)...), m.router, m.w1, m.w2,
		moe.Options{TopK: m.topK, ExactGelu: m.exact, RawGates: m.raw, B1: m.b1, B2: m.b2,
			Gates: m.hook("gates", "expert"), Terms: m.hook("experts", "expert", "feature")})
	return m.b.Hook(m.name+".out", m.last.Y, "feature") // [T, In]
}

// hook returns a function that hooks the nodes that moe.Mixture passes to it, or nil if nothing
// hooks them.
func (m *mixture) hook(what string, axes ...string) func(*gorgonia.Node) *gorgonia.Node {
	name := m.name + "." + what
	if !m.b.Hooked(name) {
		return nil
	}
	return func(x *gorgonia.Node) *gorgonia.Node { return m.b.Hook(name, x, axes...) }
}

// Balance returns the load-balancing loss of the last Forward, a scalar: 1 if all experts have the
// same load. The first call makes the node, which the program must then read.
func (m *mixture) Balance() *gorgonia.Node { return m.last.Balance() }

// RouterZ returns the router's z-loss of the last Forward, a scalar; see Balance.
func (m *mixture) RouterZ() *gorgonia.Node { return m.last.RouterZ() }

// Counts returns the number of assignments of each expert in the last Forward, [Experts] Int32;
// see Balance.
func (m *mixture) Counts() *gorgonia.Node { return m.last.Counts() }
