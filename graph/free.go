package graph

import (
	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"
)

// The functions of this file and of free_stream.go are a Builder's methods for code that has
// no Builder: each works on the graph of its nodes as On(g, Options{}) does, and returns the
// error itself. T is the number of tokens of a batch, all its rows one after the other.
// Dropout and Hook, which do nothing under those options, need a Builder, and so do
// caches and parameters.

// Embedding gathers rows of a table, a token's for its id (RMT paper eq. 18; GPT-2's wte
// and wpe):
//
//	y_t = scale * table[ids_t]
//
// table [V, ...], ids Int32 of any shape with T entries, y [T, ...]. The table's gradient
// is added up in token order. An id outside [0, V) is an error of the run.
func Embedding(table, ids *gorgonia.Node, scale float64) (*gorgonia.Node, error) {
	return free(func(b *Builder) *gorgonia.Node { return b.Embedding(table, ids, scale) }, table, ids)
}

// Linear is an affine map of each token's features:
//
//	y_t = scale * x_t W + bias
//
// x [T, ...in] is read flattened over its last axes; w [in, out], or [out, in] with
// o.Transposed; y [T, out]. Scale and bias come from o; its zero value is a plain product.
func Linear(x, w *gorgonia.Node, o LinearOptions) (*gorgonia.Node, error) {
	return free(func(b *Builder) *gorgonia.Node { return b.Linear(x, w, o) }, x, w)
}

// Bias adds one vector to the features of every token:
//
//	y_t = x_t + bias
//
// x [T, ...n], bias [n], y as x.
func Bias(x, bias *gorgonia.Node) (*gorgonia.Node, error) {
	return free(func(b *Builder) *gorgonia.Node { return b.Bias(x, bias) }, x, bias)
}

// Norm normalises each token jointly over the last axes of x, as many as the gain has:
//
//	LayerNorm: y = (x - mean(x)) / sqrt(var(x) + eps) * gain + bias
//	RMSNorm:   y = x / sqrt(mean(x^2) + eps) * gain + bias
//
// (Ba et al. 2016; Zhang & Sennrich 2019 with o.RMS.) x [T, ...gain's axes], y as x; the
// variance is the biased one, eps is 1e-6 unless o says otherwise. With o.Groups the gain's
// first axis counts groups, each normalised for itself (Wu & He 2018). A transformer
// normalises over D, the RMT over all Dk*Dv entries of its matrix (paper section 3.2).
func Norm(x, gain *gorgonia.Node, o NormOptions) (*gorgonia.Node, error) {
	return free(func(b *Builder) *gorgonia.Node { return b.Norm(x, gain, o) }, x, gain)
}

// LayerNorm normalises each token to mean 0 and variance 1 and multiplies it by the gain
// (Ba et al. 2016):
//
//	y = (x - mean(x)) / sqrt(var(x) + 1e-6) * gain
//
// x [T, ...gain's axes], y as x. There is no bias: Norm has it, with another eps or groups.
func LayerNorm(x, gain *gorgonia.Node) (*gorgonia.Node, error) {
	return Norm(x, gain, NormOptions{})
}

// RMSNorm divides each token by its root mean square and multiplies it by the gain (Zhang
// & Sennrich 2019):
//
//	y = x / sqrt(mean(x^2) + 1e-6) * gain
//
// x [T, ...gain's axes], y as x. There is no bias: Norm has it, with another eps or groups.
func RMSNorm(x, gain *gorgonia.Node) (*gorgonia.Node, error) {
	return Norm(x, gain, NormOptions{RMS: true})
}

// Reshape gives each token's features other axes and leaves the tokens' own axis:
//
//	x [T, ...] -> [T, axes...]
//
// The product of the axes is the number of a token's features. It costs nothing where
// nothing else reads x later, else a copy.
func Reshape(x *gorgonia.Node, axes ...int) (*gorgonia.Node, error) {
	return free(func(b *Builder) *gorgonia.Node { return b.Reshape(x, axes...) }, x)
}

// Gelu is the Gaussian error linear unit (Hendrycks & Gimpel 2016) of every entry:
//
//	tanh form: 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
//	exact:     x Phi(x) = 0.5 x (1 + erf(x / sqrt 2))
//
// x and y have the same shape.
func Gelu(x *gorgonia.Node, exact bool) (*gorgonia.Node, error) {
	return free(func(b *Builder) *gorgonia.Node { return b.Gelu(x, exact) }, x)
}

// LinearGelu is a product without a bias and the GELU of it, in one pass over the result:
//
//	h_t = x_t W;  y_t = gelu(h_t)
//
// x [T, ...in], w [in, out]; h and y [T, out]. y is what goes on, h is there to be looked
// at; exact chooses the form as in Gelu.
func LinearGelu(x, w *gorgonia.Node, exact bool) (h, y *gorgonia.Node, err error) {
	y, err = free(func(b *Builder) *gorgonia.Node {
		before, after := b.LinearGelu(x, w, exact)
		h = before
		return after
	}, x, w)
	return h, y, err
}

// Sigmoid is the logistic function of every entry:
//
//	y = 1 / (1 + exp(-x))
//
// x and y have the same shape.
func Sigmoid(x *gorgonia.Node) (*gorgonia.Node, error) {
	return free(func(b *Builder) *gorgonia.Node { return b.Sigmoid(x) }, x)
}

// GLU is the product of a gated linear unit (Dauphin et al. 2017, section 2), with the gate
// before the value, and what it is added to:
//
//	y_t = sigmoid(gate_t) o value_t + addends_t,   x_t = [gate_t | value_t]
//
// x [T, 2D]; y and the addends, of which there may be none, [T, D].
func GLU(x *gorgonia.Node, addends ...*gorgonia.Node) (*gorgonia.Node, error) {
	return free(func(b *Builder) *gorgonia.Node { return b.GLU(x, addends...) }, x)
}

// MoE is a feed-forward of E experts of which each token uses the k that a router prefers
// (Shazeer et al. 2017, arXiv 1701.06538, section 2; gates as in Mixtral, Jiang et al. 2024,
// arXiv 2401.04088, section 2.1):
//
//	p_t = softmax(u_t router)
//	c_t = the k experts of the highest p_te, ties going to the lowest index
//	g_ti = p_ti / sum over j in c_t of p_tj; for k = 1 it is p_ti (Fedus et al. 2021)
//	y_t = sum over i in c_t of g_ti E_i(u_t),   E_i(u) = gelu(u W1_i + b1_i) W2_i + b2_i
//
// u [T, ...F] is read flattened over its last axes, D entries a token; router [D, E], w1
// [E, D, FF], w2 [E, FF, D], y [T, D]. No token is dropped, however many choose an expert.
// m.Y is y; m's methods make the losses that balance the experts.
func MoE(u, router, w1, w2 *gorgonia.Node, o MoEOptions) (m MoEOutput, err error) {
	_, err = free(func(b *Builder) *gorgonia.Node {
		m = b.MoE(u, router, w1, w2, o)
		return m.Y
	}, u, router, w1, w2)
	return m, err
}

// CausalAttention is multi-head attention in which token i sees the tokens from its
// document's start to itself (Vaswani et al. 2017; the linear biases: Press et al. 2022):
//
//	o_i = sum_j softmax_j(Scale q_i.k_j - Slopes (i-j)) v_j,  starts_i <= j <= i
//
// qkv [T, 3*H*Dh] in the order (q, k, v), head, entry, T tokens in rows of o.Seq, q and k
// turned by their positions with o.RopeBase (Su et al. 2021); the result is [T, H, Dh]. It is computed in blocks with an online softmax (Dao et al. 2022): no
// Seq x Seq matrix exists.
func CausalAttention(qkv *gorgonia.Node, o AttentionOptions) (*gorgonia.Node, error) {
	return free(func(b *Builder) *gorgonia.Node { return b.CausalAttention(qkv, o) }, qkv)
}

// AttentionPattern is the softmax inside CausalAttention (Vaswani et al. 2017, eq. 1), for
// looking at it or changing it:
//
//	p_ij = softmax_j(Scale q_i.k_j - Slopes (i-j)),  starts_i <= j <= i; exactly 0 elsewhere
//
// qkv [T, 3*H*Dh] in the order (q, k, v), head, entry; p [T, H, Seq]: query, head, and the
// key's index in its row. AttentionMix makes the output of it. It takes memory for all
// T*H*Seq entries.
func AttentionPattern(qkv *gorgonia.Node, o AttentionOptions) (*gorgonia.Node, error) {
	return free(func(b *Builder) *gorgonia.Node { return b.AttentionPattern(qkv, o) }, qkv)
}

// AttentionMix is what attention does with its pattern (Vaswani et al. 2017, eq. 1): each
// token's output is a sum of its row's values,
//
//	o_i = sum_j p_ij v_j
//
// pattern [T, H, Seq] (query, head, key's index in its row), whatever its entries are: no
// key is masked; qkv [T, 3*H*Dh] as in AttentionPattern, of which only v is read; the result
// is [T, H, Dh]. Of the options Heads and Seq count.
func AttentionMix(pattern, qkv *gorgonia.Node, o AttentionOptions) (*gorgonia.Node, error) {
	return free(func(b *Builder) *gorgonia.Node { return b.AttentionMix(pattern, qkv, o) }, pattern, qkv)
}

// CrossEntropy is the mean loss in nats of predicting targets from features, a scalar:
//
//	logits_t = scale * x_t W;  loss = mean_t(log Z_t - logits_t[target_t]) + z * mean_t (log Z_t)^2
//
// with Z_t = sum_v exp logits_t[v]; scale and z, the weight of the z-loss (PaLM, Chowdhery
// et al. 2022), come from o. x [T, ...F], w [F, V], or [V, F] with o.Transposed, targets
// Int32 with T entries, of which negative ones are not counted. Logits exist for a chunk of
// tokens at a time only.
func CrossEntropy(x, w, targets *gorgonia.Node, o LossOptions) (*gorgonia.Node, error) {
	return free(func(b *Builder) *gorgonia.Node { return b.CrossEntropy(x, w, targets, o) }, x, w, targets)
}

// TokenLosses is each token's loss in nats of predicting its target from features:
//
//	loss_t = log Z_t - logits_t[target_t],   logits_t = scale * x_t W,   Z_t = sum_v exp logits_t[v]
//
// x [T, ...F], w [F, V], or [V, F] with o.Transposed, targets Int32 with T entries, the
// result [T], 0 for a negative target. CrossEntropy is the mean of those that count.
func TokenLosses(x, w, targets *gorgonia.Node, o LossOptions) (*gorgonia.Node, error) {
	return free(func(b *Builder) *gorgonia.Node { return b.TokenLosses(x, w, targets, o) }, x, w, targets)
}

// Add sums nodes of one shape, any number of them, in the order given and in one pass:
//
//	y = inputs_0 + inputs_1 + ...
//
// y has the inputs' shape.
func Add(inputs ...*gorgonia.Node) (*gorgonia.Node, error) {
	return free(func(b *Builder) *gorgonia.Node { return b.Add(inputs...) }, inputs...)
}

// Concat puts the features of its inputs side by side, each flattened over its last axes:
//
//	y_t = [x0_t | x1_t | ...]
//
// inputs [T, ...], y [T, the sum of their widths].
func Concat(inputs ...*gorgonia.Node) (*gorgonia.Node, error) {
	return free(func(b *Builder) *gorgonia.Node { return b.Concat(inputs...) }, inputs...)
}

// Slice takes the features from number from up to, not including, number to out of each
// token's, flattened over their axes:
//
//	y_t = x_t[from:to]
//
// x [T, ...], y [T, to-from].
func Slice(x *gorgonia.Node, from, to int) (*gorgonia.Node, error) {
	return free(func(b *Builder) *gorgonia.Node { return b.Slice(x, from, to) }, x)
}

// Scale multiplies every entry by a factor that is fixed when the graph is built:
//
//	y = factor * x
//
// x and y have the same shape.
func Scale(x *gorgonia.Node, factor float64) (*gorgonia.Node, error) {
	return free(func(b *Builder) *gorgonia.Node { return b.Scale(x, factor) }, x)
}

// Positions returns each token's index in its row, counted from 0. tokens and the result
// are [batch, seq] Int32.
func Positions(tokens *gorgonia.Node) (*gorgonia.Node, error) {
	return free(func(b *Builder) *gorgonia.Node { return b.Positions(tokens) }, tokens)
}

// DocumentStarts returns for each token the index in its row of its document's first
// token, which keeps attention inside documents. A document begins at a token of id bos
// whose previous token is not bos, so that a run of them opens one document; a row may begin
// inside a document. tokens and the result are [batch, seq] Int32.
func DocumentStarts(tokens *gorgonia.Node, bos int) (*gorgonia.Node, error) {
	return free(func(b *Builder) *gorgonia.Node { return b.DocumentStarts(tokens, bos) }, tokens)
}

// free makes a node in the graph that nodes belong to.
func free(make func(*Builder) *gorgonia.Node, nodes ...*gorgonia.Node) (*gorgonia.Node, error) {
	for _, n := range nodes {
		if n == nil {
			continue
		}
		b := On(n.Graph(), Options{})
		b.join()
		return make(b), b.Err()
	}
	return nil, errors.New("graph: want a node, got nil")
}

// join makes b's nodes run on the workers of the nodes of ours that its graph has already.
func (b *Builder) join() {
	if b.err != nil {
		return
	}
	nodes := b.g.AllNodes()
	for i := len(nodes) - 1; i >= 0; i-- {
		if op := opOf(nodes[i]); op != nil {
			b.runtime, b.options.salt = op.builder.runtime, op.builder.options.salt
			return
		}
	}
}
