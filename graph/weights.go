package graph

import (
	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph/kernel"
)

// INT8 is a precision for models that are used but not trained, on the CPU: see Options.For.
const INT8 Precision = "int8"

// leastWeight is the smallest number of rows and columns for which a weight is stored in fewer
// bits. Smaller matrices are coefficients of streams, which take little memory.
const leastWeight = 64

// WeightsReader is a Primitive that can read input i in fewer bits, by Call.Weights. The input is B
// of a matrix product, stored transposed or not.
type WeightsReader interface {
	ReadsWeights(i int) (transposed, ok bool)
}

// For returns o for a model that is used but not trained, at precision p. On a GPU it sets
// Precision. On the CPU, for BF16 and INT8, it sets Weights: the weights of products are stored in
// bfloat16, or in int8 with scales, and everything else in float32.
func (o Options) For(p Precision) Options {
	if o.Device.OnGPU() || p != BF16 && p != INT8 {
		o.Precision = p
		return o
	}
	o.Weights = kernel.WeightFormat(p)
	return o
}

// checkWeights refuses Weights where they are not possible.
func (o *Options) checkWeights() error {
	switch {
	case o.Weights == "":
		return nil
	case o.Weights != kernel.WeightsBF16 && o.Weights != kernel.WeightsInt8:
		return errors.Errorf("graph: weights: want %q or %q, got %q", kernel.WeightsBF16, kernel.WeightsInt8, o.Weights)
	case o.Device.OnGPU():
		return errors.Errorf("graph: weights: want none on %s, got %q: set Precision", o.Device, o.Weights)
	case o.DType != tensor.Float32 || o.Store == nil || o.Store.mode == initialises:
		return errors.Errorf("graph: weights: want a store of float32 that serves, for %q, got one that may train: use Store.Serve", o.Weights)
	}
	return nil
}

// weightReads says which ops read a parameter as a weight, and whether as a transposed matrix.
type weightReads struct {
	ops        []*Op
	inputs     []int
	transposed bool
	others     bool // some ops need its float32 values
}

// convertWeights gives ops the parameters' weights in fewer bits. A parameter that no op needs in
// float32 is no longer an input of the graph.
func (p *Program) convertWeights() error {
	if p.options.Weights == "" || p.builder.planning() {
		return nil
	}
	if p.options.Gradients || p.options.HookGradients {
		return errors.Errorf(`weights: want "" in a program with gradients, which reads float32, got %q`, p.options.Weights)
	}
	reads := p.weightReads()
	for _, parameter := range p.builder.params {
		r, param := reads[parameter.node], parameter.param
		if r == nil || r.ops == nil {
			continue
		}
		w, err := p.options.Store.converted(p.builder, param, r)
		if err != nil {
			return err
		}
		if w == nil {
			continue
		}
		if p.options.RowsAlone {
			w = w.RowsAlone()
		}
		for i, op := range r.ops {
			op.readWeights(r.inputs[i], w)
		}
		if !r.others {
			if err := gorgonia.Let(parameter.node, float32(0)); err != nil { // a tape machine requires some value; nothing reads it
				return err
			}
		}
	}
	return nil
}

// weightReads returns, for each parameter, how ops read it.
func (p *Program) weightReads() map[*gorgonia.Node]*weightReads {
	reads := map[*gorgonia.Node]*weightReads{}
	for _, parameter := range p.builder.params {
		reads[parameter.node] = &weightReads{}
	}
	for _, n := range p.builder.g.AllNodes() {
		op := opOf(n)
		for i, input := range Inputs(n) {
			r := reads[input]
			if r == nil {
				continue
			}
			transposed, ok := false, false
			if op != nil {
				transposed, ok = op.readsWeights(i)
			}
			if !ok || r.ops != nil && transposed != r.transposed {
				r.others = true
				continue
			}
			r.ops, r.inputs, r.transposed = append(r.ops, op), append(r.inputs, i), transposed
		}
	}
	return reads
}

// readsWeights calls the Primitive's ReadsWeights, if it has one.
func (op *Op) readsWeights(i int) (transposed, ok bool) {
	if k, is := op.Primitive.(WeightsReader); is {
		return k.ReadsWeights(i)
	}
	return false, false
}

// readWeights makes w the op's input i.
func (op *Op) readWeights(i int, w *kernel.Weights) {
	if op.weights == nil {
		op.weights = make([]*kernel.Weights, len(op.in))
	}
	op.weights[i] = w
}

// weightsOf returns the weights that input i is read as; nil for float32.
func (op *Op) weightsOf(i int) *kernel.Weights {
	if op.weights == nil {
		return nil
	}
	return op.weights[i]
}

// Weights returns input i in fewer bits; nil if it is a float32 tensor.
func (c *Call) Weights(i int) *kernel.Weights { return c.op.weightsOf(i) }

// convertedWeight holds one parameter's weights in fewer bits, in a Store that serves.
type convertedWeight struct {
	weights    *kernel.Weights
	format     kernel.WeightFormat
	transposed bool
	others     bool // some program also reads the float32 values
}

// converted returns a parameter's weights, converting them at the first call; nil if the parameter
// is too small.
func (s *Store) converted(b *Builder, p *Param, r *weightReads) (*kernel.Weights, error) {
	rows := p.Shape[0]
	columns := p.Size() / rows
	if r.transposed {
		rows, columns = columns, rows
	} else if len(p.Shape) > 2 {
		columns = p.Shape[len(p.Shape)-1]
		rows = p.Size() / columns
	}
	if min(rows, columns) < leastWeight {
		return nil, nil
	}
	c := s.weights[p]
	switch {
	case c == nil && p.Value == nil:
		return nil, errors.Errorf("parameter %q: want its float32 values, got none: they were released", p.Name)
	case c == nil:
		c = &convertedWeight{kernel.NewWeights(b.runtime.workers(), b.options.Weights, elements[float32](p.Value), rows, columns, r.transposed), b.options.Weights,
			r.transposed, false}
		s.weights[p] = c
	case c.format != b.options.Weights || c.transposed != r.transposed:
		return nil, errors.Errorf("parameter %q: want one form of its weights for all programs of a store that serves, got another: call Store.Serve for each",
			p.Name)
	}
	c.others = c.others || r.others
	return c.weights, nil
}

// Release sets Param.Value to nil for each parameter that all programs made so far over this Store
// read only in fewer bits (Options.Weights). The value is gone also for other Stores that share the
// parameter. New programs over this Store can still read the parameter in fewer bits.
func (s *Store) Release() {
	for p, c := range s.weights {
		if !c.others {
			p.Value = nil
		}
	}
}
