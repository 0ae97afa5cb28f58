package graph

import (
	"fmt"
	"slices"

	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Hooks maps names of activations to functions that watch or replace them. After each run of the
// node, the function gets a tensor of its own and may change its content; the rest of the graph
// sees the changed content. A nil function only keeps the value (Program.Hooked).
type Hooks map[string]HookFunc

// HookFunc looks at, or overwrites, a named activation.
type HookFunc func(name string, x *tensor.Dense) error

// hook passes a value on, after a caller's function has seen it.
type hook struct {
	name string
	call HookFunc
}

// Activation is a named tensor of a graph.
type Activation struct {
	Name  string
	Axes  []string // a name for each axis; "token" for the axis of batch*seq tokens
	Shape tensor.Shape
}

// TokenAxis is the name of the axis of batch*seq tokens.
const TokenAxis = "token"

// Hook names an activation and its last axes; the axis before those is the token axis. It returns x
// itself unless Options.Hooks has the name; then it returns a copy of x that the hook's function
// may change. The gradient passes unchanged.
func (b *Builder) Hook(name string, x *gorgonia.Node, axes ...string) *gorgonia.Node {
	b.recordHook(name)
	f, wanted := b.options.Hooks[name]
	if b.err == nil && x != nil {
		b.activations = append(b.activations, Activation{Name: name, Axes: axesOf(x, axes), Shape: x.Shape().Clone()})
	}
	if !wanted || b.err != nil {
		return x
	}
	n := b.Apply(hook{name, f}, x)
	b.hooked = append(b.hooked, n)
	return n
}

// Hooked tells whether Options.Hooks has the name. A layer that would fuse the activation away then
// builds the unfused form.
func (b *Builder) Hooked(name string) bool {
	b.recordHook(name)
	_, wanted := b.options.Hooks[name]
	return wanted
}

// recordHook notes that the graph has an activation of that name.
func (b *Builder) recordHook(name string) {
	if !b.hookKnown[name] {
		b.hookKnown[name] = true
		b.hookNames = append(b.hookNames, name)
	}
}

// axesOf names all axes of x, given the names of the last ones.
func axesOf(x *gorgonia.Node, last []string) []string {
	dims := x.Shape().Dims()
	axes := make([]string, dims)
	for i := range axes {
		switch named := i - (dims - len(last)); {
		case named >= 0:
			axes[i] = last[named]
		case i == 0:
			axes[i] = TokenAxis
		default:
			axes[i] = fmt.Sprintf("axis%d", i)
		}
	}
	return axes
}

// ActivationNames lists the names that Options.Hooks may have for the graph built so far, in
// the order of computation. Some activations exist only if they are hooked; otherwise a fused
// op replaces them.
func (b *Builder) ActivationNames() []string { return slices.Clone(b.hookNames) }

// Activations lists the named tensors of the graph built so far, hooked or not, without those
// that a fused op replaces.
func (b *Builder) Activations() []Activation { return slices.Clone(b.activations) }

func (k hook) String() string { return fmt.Sprintf("Hook(%s)", k.name) }

func (k hook) Infer(in []Signature) (Signature, error) {
	if in[0].Scalar() {
		return Signature{}, errors.New("want a tensor, got a scalar: read it with Scalar after a run")
	}
	return in[0], nil
}

func (k hook) SameType() bool { return true }

func (k hook) VJP(d *Derivative) { d.Set(0, d.Gradient()) }

func (k hook) Run(c *Call) {
	duplicate{}.Run(c)
	if dense, ok := c.result.(*tensor.Dense); ok && k.call != nil {
		c.Fail(k.call(k.name, dense))
	}
}
