package report

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/analysis/check"
	"github.com/residua-go/residua/models"
)

// Index chooses one of several by its number; the zero value leaves the choice open.
type Index struct {
	n     int
	given bool
}

// UnmarshalText reads the number.
func (i *Index) UnmarshalText(text []byte) error {
	n, err := strconv.Atoi(string(text))
	if err != nil {
		return errors.Errorf("want a whole number, got %q", text)
	}
	*i = At(n)
	return nil
}

// At chooses number n, from 0; below 0 it counts from the end.
func At(n int) Index { return Index{n, true} }

// of is the index into n entries; usual where it is open.
func (i Index) of(name string, n, usual int) (int, error) {
	switch {
	case !i.given:
		return usual, nil
	case i.n < -n || i.n >= n:
		return 0, check.Value(name, fmt.Sprintf("0 to %d, or -1 to -%d from the end", n-1, n), i.n)
	case i.n < 0:
		return i.n + n, nil
	}
	return i.n, nil
}

// Place chooses layers and heads; where one is open, all.
type Place struct {
	Layer Index `yaml:"layer" help:"show layer <L> alone, from 0; below 0: from the last; without, all"`
	Head  Index `yaml:"head" help:"show head <H> alone, from 0; below 0: from the last; without, all"`
}

// place is a Place that has been found: all where it is below 0.
type place struct{ layer, head int }

// in refuses a layer or a head that the model does not have.
func (p Place) in(c models.Spec) (found place, err error) {
	if found.layer, err = p.Layer.of("layer", c.Depth(), -1); err == nil {
		found.head, err = p.Head.of("head", c.HeadCount(), -1)
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
// blocks.3.attention is chosen: where a head is, it alone.
func (p place) hasPart(writer, part string, index int) bool {
	if p.layer >= 0 && !strings.HasPrefix(writer, fmt.Sprintf("blocks.%d.", p.layer)) {
		return false
	}
	return p.head < 0 || part == "head" && index == p.head
}
