package graph

import (
	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"
)

// sharing is the state of Share while it builds.
type sharing struct {
	name  func(asked string) string
	asked map[string]bool
	made  map[string]*gorgonia.Node
}

// Share calls build and renames each parameter that it requests to name(asked). Parameters that get
// the same name are one parameter: one node, whose gradient is the sum over all its readers. The
// first request determines its initial values. Parameters that are Unshared keep their own names.
func (b *Builder) Share(name func(asked string) string, build func()) {
	outer := b.share
	b.share = &sharing{name, map[string]bool{}, map[string]*gorgonia.Node{}}
	build()
	b.share = outer
}

// shared renames p as Share says, and returns the parameter's node if it exists already.
func (b *Builder) shared(p *ParamSpec) *gorgonia.Node {
	if b.share == nil || p.Unshared {
		return nil
	}
	if b.share.asked[p.Name] {
		b.fail(errors.Errorf("graph: parameter %q: want each asked for once, got it twice", p.Name))
		return nil
	}
	b.share.asked[p.Name] = true
	p.Name = b.share.name(p.Name)
	made := b.share.made[p.Name]
	if made == nil {
		return nil
	}
	if _, err := b.options.Store.ensure(*p); err != nil { // refuses another shape
		b.fail(err)
	}
	return made
}
