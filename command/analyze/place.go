package analyze

import (
	"flag"
	"fmt"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/models"
)

// place is the flags that choose a layer and a head; all where they are below 0.
type place struct{ layer, head int }

// all is what -layer and -head are unless given.
const all = -1

func (p *place) flags(flags *flag.FlagSet) {
	p.layerFlag(flags)
	flags.IntVar(&p.head, "head", all, "show head `H` alone, from 0; -1: all")
}

func (p *place) layerFlag(flags *flag.FlagSet) {
	p.head = all
	flags.IntVar(&p.layer, "layer", all, "show layer `L` alone, from 0; -1: all")
}

// check refuses a layer or a head that the model does not have.
func (p *place) check(c models.Spec) error {
	if p.layer < all || p.layer >= c.Layers {
		return errors.Errorf("-layer: want 0 to %d, or -1 for all, got %d", c.Layers-1, p.layer)
	}
	if p.head < all || p.head >= c.HeadCount() {
		return errors.Errorf("-head: want 0 to %d, or -1 for all, got %d", c.HeadCount()-1, p.head)
	}
	return nil
}

// holds tells whether a layer's head is chosen.
func (p *place) holds(layer, head int) bool {
	return (p.layer == all || p.layer == layer) && (p.head == all || p.head == head)
}

// holdsPart tells whether part number index, of a kind, of a writer such as
// blocks.3.attention is chosen: where a head is, it alone.
func (p *place) holdsPart(writer, part string, index int) bool {
	if p.layer != all && !strings.HasPrefix(writer, fmt.Sprintf("blocks.%d.", p.layer)) {
		return false
	}
	return p.head == all || part == "head" && index == p.head
}

// checkTop refuses a list of nothing.
func checkTop(n int) error {
	if n < 1 {
		return errors.Errorf("-top: want >= 1, got %d", n)
	}
	return nil
}

// maxCount bounds what is drawn or repeated again and again.
const maxCount = 1_000_000

func atMost(flag string, n int) error {
	if n > maxCount {
		return errors.Errorf("%s: want at most %d, got %d", flag, maxCount, n)
	}
	return nil
}
