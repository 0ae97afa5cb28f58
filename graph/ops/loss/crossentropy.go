// Package loss has losses of predicting tokens that never hold all logits in memory.
package loss

import (
	"fmt"

	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
	"github.com/residua-go/residua/graph/ops/linear"
)

// Options vary the loss. The zero value is plain cross-entropy.
type Options struct {
	Transposed bool    // W is stored [V, ...F], as a tied embedding is
	Scale      float64 // factor of the logits (muP output multiplier); 0 means 1
	SoftCap    float64 // c: logits become c tanh(logits / c), after the scale; 0: they are not bounded
	ZLoss      float64 // coefficient of mean (log Z)^2
}

func (o Options) config() lossConfig {
	if o.Scale == 0 {
		o.Scale = 1
	}
	return lossConfig{transposed: o.Transposed, scale: o.Scale, softCap: o.SoftCap, zLoss: o.ZLoss}
}

// lossConfig holds the settings that CrossEntropy and Tokens share.
type lossConfig struct {
	transposed            bool
	scale, softCap, zLoss float64
	logitBytes            int // bound on the logits in a device's memory; 0 means deviceLogitBytes
}

func (k lossConfig) String() string {
	return fmt.Sprintf("(transposed=%t, scale=%g, cap=%g, z=%g)", k.transposed, k.scale, k.softCap, k.zLoss)
}

// ReadsWeights tells that the unembedding, input 1, can be read in fewer bits.
func (k lossConfig) ReadsWeights(i int) (transposed, ok bool) { return k.transposed, i == 1 }

// ReadsInts returns true for the targets.
func (lossConfig) ReadsInts(i int) bool { return i == 2 }

func (k lossConfig) check(in []graph.Signature) error {
	x, w := in[0], in[1]
	f, _ := linear.Product{Transposed: k.transposed}.Sides(w)
	switch {
	case x.Shape.Dims() < 2 || w.Shape.Dims() < 2 || x.Width() != f:
		return errors.Errorf("features: want [tokens, %d] for an unembedding of shape %v, got %v", f, w.Shape, x.Shape)
	case in[2].Size() != x.Leading():
		return errors.Errorf("targets: want %d, one a token, got shape %v", x.Leading(), in[2].Shape)
	}
	return nil
}

func lossArgs[T kernel.Float](k lossConfig, c graph.CallOf[T]) kernel.CrossEntropyArgs[T] {
	x, w := c.Signature(0), c.Signature(1)
	f, vocab := linear.Product{Transposed: k.transposed}.Sides(w)
	return kernel.CrossEntropyArgs[T]{
		Weights: c.Weights(1), Transposed: k.transposed, Targets: c.Ints(2),
		Tokens: x.Leading(), F: f, Vocab: vocab, Scale: k.scale, SoftCap: k.softCap, ZLoss: k.zLoss,
	}
}

// runLoss computes the loss and whatever else args asks for; in precision BF16 its products are of
// bfloat16.
func runLoss[T kernel.Float](c graph.CallOf[T], args kernel.CrossEntropyArgs[T]) (crossEntropy, zLoss float64) {
	var err error
	if x := c.Half(0); x != nil && args.Weights == nil {
		from := kernel.CrossEntropyOperands{Features: x, Logits: c.Packed(1, args.Transposed, args.Vocab, args.F)}
		if args.DFeatures != nil {
			from.Gradient = c.Packed(1, !args.Transposed, args.F, args.Vocab)
		}
		crossEntropy, zLoss, err = graph.State[kernel.CrossEntropyBFloat16](c).Run(c.Pool(), any(args).(kernel.CrossEntropyArgs[float32]), from)
	} else {
		args.Features, args.Weight = c.In(0), c.In(1)
		crossEntropy, zLoss, err = graph.State[kernel.CrossEntropy[T]](c).Run(c.Pool(), args)
	}
	c.Fail(err)
	return crossEntropy, zLoss
}

// crossEntropy computes the loss; it is the primary of the secondaries that emit its gradients.
type crossEntropy struct {
	lossConfig
	parts *lossParts
}

// lossParts holds the two terms of the last run's loss.
type lossParts struct {
	crossEntropy, zLoss float64
	count               float64            // see SetCount
	device              graph.DeviceMemory // a lossStatus
}

// lossStatus is what a device keeps about a run; cuda/crossentropy.cu calls it LossStatus.
type lossStatus struct {
	crossEntropy, zLoss float64
	inverse             float64 // 1 / number of counted tokens
	position, target    float64 // the first target beyond the vocabulary; position is -1 if there is none
}

// lossStatusSize is the number of float64 in a lossStatus.
const lossStatusSize = 5

// download waits for a run on a device and returns its terms. A target beyond the vocabulary, which
// makes the loss NaN there, is an error here.
func (p *lossParts) download(vocab int) (crossEntropy, zLoss float64, err error) {
	v, err := p.device.Float64s(lossStatusSize)
	if err != nil {
		return 0, 0, err
	}
	s := lossStatus{v[0], v[1], v[2], v[3], v[4]}
	if s.position >= 0 {
		return 0, 0, kernel.TargetError(int(s.position), vocab, int(s.target))
	}
	return s.crossEntropy, s.zLoss, nil
}

// CrossEntropy computes the mean loss of predicting targets from features, a scalar:
//
//	logits_t = scale * x_t W;  loss = mean_t(log Z_t - logits_t[target_t]) + z * mean_t (log Z_t)^2
//
// with Z_t = sum_v exp logits_t[v]. With Options.SoftCap c, logits are replaced by c tanh(logits /
// c) (Gemma 2, arXiv 2408.00118, section 2); the z-loss is from PaLM (Chowdhery et al. 2022). x [T,
// ...F], W [F, V], targets Int32 with T entries; a negative target is not counted. Logits exist
// only for a chunk of tokens at a time. If a gradient is taken, the same pass makes both gradients.
func CrossEntropy(b *graph.Builder, x, w, targets *gorgonia.Node, o Options) *gorgonia.Node {
	return b.Apply(crossEntropy{o.config(), &lossParts{}}, x, w, targets)
}

func (k crossEntropy) String() string { return "CrossEntropy" + k.lossConfig.String() }

// logitsFLOPs counts the product of features and unembedding.
func logitsFLOPs(c graph.Cost) int { return 2 * c.Signature(0).Leading() * c.Signature(1).Size() }

func (crossEntropy) FLOPs(c graph.Cost) int { // logits, dx and dW
	return (1 + c.Secondary(0) + c.Secondary(1)) * logitsFLOPs(c)
}

func (k crossEntropy) Infer(in []graph.Signature) (graph.Signature, error) {
	return graph.Signature{DType: in[0].DType, Shape: tensor.ScalarShape()}, k.check(in)
}

func (k crossEntropy) VJP(d *graph.Derivative) {
	for i, name := range [...]string{"GradFeatures of CrossEntropy", "GradW of CrossEntropy"} {
		d.SetScaled(i, d.Output(), i, name)
	}
}

func (k crossEntropy) Run(c *graph.Call) {
	graph.Dispatch(c, k, runCrossEntropy, runCrossEntropy)
}

func runCrossEntropy[T kernel.Float](k crossEntropy, c graph.CallOf[T]) {
	args := lossArgs[T](k.lossConfig, c)
	args.DFeatures, _ = c.SecondaryOut(0)
	args.DWeight, args.Accumulate = c.SecondaryOut(1)
	args.Count = k.parts.count
	ce, z := runLoss(c, args)
	k.parts.crossEntropy, k.parts.zLoss = ce, z
	c.Out()[0] = T(ce + z)
}

// SetCount makes the next runs of a CrossEntropy node, on the CPU, divide their sums over tokens by
// n instead of by the number of their targets; 0 undoes that. If n is the mean number of targets of
// several runs, the mean of the runs' gradients is the gradient of the mean over all their targets.
// Of an Add node SetCount takes the first input, as Parts does.
func SetCount(loss *gorgonia.Node, n float64) error {
	if k, ok := graph.PrimitiveOf(loss).(crossEntropy); ok {
		k.parts.count = n
		return nil
	}
	if terms := graph.Terms(loss); len(terms) > 0 {
		return SetCount(terms[0], n)
	}
	return errors.Errorf("graph: SetCount: want a CrossEntropy node, got %s", graph.NameOf(loss))
}

// Parts returns the terms of a CrossEntropy node's last run: the cross-entropy without the
// z-loss, and the z-loss, both in nats per token, summed in float64. For an Add node they are
// the terms of its first input: other losses may have been added to the cross-entropy.
func Parts(loss *gorgonia.Node) (crossEntropyTerm, zLoss float64, err error) {
	if k, ok := graph.PrimitiveOf(loss).(crossEntropy); ok {
		if graph.RanOnDevice(loss) {
			return k.downloadParts(graph.SignatureOf(graph.Inputs(loss)[1]))
		}
		return k.parts.crossEntropy, k.parts.zLoss, nil
	}
	if terms := graph.Terms(loss); len(terms) > 0 {
		return Parts(terms[0])
	}
	return 0, 0, errors.Errorf("graph: LossParts: want a CrossEntropy node, got %s", graph.NameOf(loss))
}

func (k crossEntropy) downloadParts(w graph.Signature) (crossEntropyTerm, zLoss float64, err error) {
	_, vocab := linear.Product{Transposed: k.transposed}.Sides(w)
	crossEntropyTerm, zLoss, err = k.parts.download(vocab)
	return crossEntropyTerm, zLoss, errors.Wrapf(err, "%s", k)
}

// tokenLosses computes the loss of each token.
type tokenLosses struct {
	graph.NoGradient
	lossConfig
}

// Tokens returns -log p(target) of each token in nats, [T], 0 for a negative target. It takes the
// same inputs as CrossEntropy.
func Tokens(b *graph.Builder, x, w, targets *gorgonia.Node, o Options) *gorgonia.Node {
	return b.Apply(tokenLosses{lossConfig: o.config()}, x, w, targets)
}

func (k tokenLosses) String() string { return "TokenLosses" + k.lossConfig.String() }

func (tokenLosses) FLOPs(c graph.Cost) int { return logitsFLOPs(c) }

func (k tokenLosses) Infer(in []graph.Signature) (graph.Signature, error) {
	return graph.Signature{DType: in[0].DType, Shape: graph.WithTokens(in[0].Leading())}, k.check(in)
}

func (k tokenLosses) KeepsFloat32() bool { return true }

func (k tokenLosses) Run(c *graph.Call) {
	graph.Dispatch(c, k, runTokenLosses, runTokenLosses)
}

func runTokenLosses[T kernel.Float](k tokenLosses, c graph.CallOf[T]) {
	args := lossArgs[T](k.lossConfig, c)
	args.Losses = c.Out()
	runLoss(c, args)
}
