package report

import (
	"fmt"
	"strings"

	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/check"
)

// index resolves asked, the index of an option into n entries; an index below 0 counts from the
// end. If asked is nil, it returns usual.
func index(name string, asked *int, n, usual int) (int, error) {
	switch {
	case asked == nil:
		return usual, nil
	case *asked < -n || *asked >= n:
		return 0, check.Valuef(name, *asked, "0 to %d, or -1 to -%d from the end", n-1, n)
	case *asked < 0:
		return *asked + n, nil
	}
	return *asked, nil
}

// Place chooses layers and heads; an index that is not set chooses all.
type Place struct {
	Layer *int `yaml:"layer" help:"show layer <L> alone, from 0; below 0: from the last; without, all"`
	Head  *int `yaml:"head" help:"show head <H> alone, from 0; below 0: from the last; without, all"`
}

// place is a Place whose indices have been checked; below 0 means all.
type place struct{ layer, head int }

// in checks the indices against a model, and returns an error if it has no such layer or head.
func (p Place) in(spec models.Spec) (found place, err error) {
	if found.layer, err = index("layer", p.Layer, spec.Depth(), -1); err == nil {
		found.head, err = index("head", p.Head, spec.HeadCount(), -1)
	}
	return found, err
}

// one tells whether it is one head of one layer.
func (p place) one() bool { return p.layer >= 0 && p.head >= 0 }

// has tells whether a layer's head is chosen.
func (p place) has(layer, head int) bool {
	return (p.layer < 0 || p.layer == layer) && (p.head < 0 || p.head == head)
}

// hasPart tells whether part number index, a head or another kind, of a writer such as
// blocks.3.attention is chosen. If a head is chosen, only that head is.
func (p place) hasPart(writer, part string, index int) bool {
	if p.layer >= 0 && !strings.HasPrefix(writer, fmt.Sprintf("blocks.%d.", p.layer)) {
		return false
	}
	return p.head < 0 || part == "head" && index == p.head
}
