package graph

import (
	"fmt"

	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Hooks name the activations to watch or replace. The function gets a tensor of its own
// after each run of the node and may change its content: what it leaves is what the rest
// of the graph sees. A nil function only keeps the value (Program.Hooked).
type Hooks map[string]HookFunc

// HookFunc looks at, or overwrites, a named activation.
type HookFunc func(name string, x *tensor.Dense) error

// hook is an identity through which a caller sees a value.
type hook struct {
	name string
	call HookFunc
}

// Hook gives an activation a name. It returns x itself unless Options.Hooks asks for
// that name; then it returns a copy of x that has passed through the hook's function.
// The gradient passes unchanged.
func (b *Builder) Hook(name string, x *gorgonia.Node) *gorgonia.Node {
	f, wanted := b.options.Hooks[name]
	if !wanted || b.err != nil {
		return x
	}
	n := b.apply(hook{name, f}, x)
	b.hooked = append(b.hooked, n)
	return n
}

// Hooked tells whether Options.Hooks asks for that name: a layer that would fuse the
// activation away then builds the unfused form.
func (b *Builder) Hooked(name string) bool {
	_, wanted := b.options.Hooks[name]
	return wanted
}

func (k hook) String() string { return fmt.Sprintf("Hook(%s)", k.name) }

func (k hook) signature(in []signature) (signature, error) {
	if in[0].scalar() {
		return signature{}, errors.New("want a tensor, got a scalar: read it with Scalar after a run")
	}
	return in[0], wantFloats(in)
}

func (k hook) passes() bool { return true }

func (k hook) differentiable(int) bool { return true }

func (k hook) diff(d *derivative) { d.set(0, d.grad) }

func (k hook) run(c *call) error {
	if err := (duplicate{}).run(c); err != nil {
		return err
	}
	if dense, ok := c.result.(*tensor.Dense); ok && k.call != nil {
		return k.call(k.name, dense)
	}
	return nil
}
