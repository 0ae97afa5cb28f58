package cache

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/check"
)

// Names lists all activations of a model in the order in which they are computed.
func Names(store *graph.Store, spec models.Spec) ([]string, error) {
	m, err := Sketch(store, spec)
	if err != nil {
		return nil, err
	}
	return m.Builder().ActivationNames(), nil
}

// Sketch builds the graph of a model over the Store's parameters, for one token, without
// running it. It shows the model's writers, and the names and shapes of its activations.
func Sketch(store *graph.Store, spec models.Spec) (*models.Model, error) {
	if err := models.CheckStore(store); err != nil {
		return nil, err
	}
	b := graph.On(gorgonia.NewGraph(), graph.Options{Store: store.Serve(), DType: store.DType()})
	m, err := models.On(b, spec)
	if err != nil {
		return nil, err
	}
	m.Logits(m.Forward(b.Input("tokens", tensor.Int32, 1, 1)))
	return m, m.Err()
}

// match returns the names, of those known, that patterns ask for, in the order of known. A
// pattern is a name or a glob (path.Match) in which * stands for a part between dots:
// "blocks.*.attention.pattern".
func match(known, patterns []string) ([]string, error) {
	wanted := map[string]bool{}
	for _, p := range patterns {
		found := false
		for _, name := range known {
			ok, err := path.Match(slashed(p), slashed(name))
			if err != nil {
				return nil, check.Value("activations", "a name or a glob such as blocks.*.attention.pattern", strconv.Quote(p))
			}
			if ok {
				wanted[name], found = true, true
			}
		}
		if !found {
			unknown := check.Unknown("activation", p, known)
			unknown.Known = globs(known)
			return nil, unknown
		}
	}
	return slices.DeleteFunc(slices.Clone(known), func(name string) bool { return !wanted[name] }), nil
}

// slashed replaces the dots of a name by slashes, because path.Match lets * match anything but
// a slash.
func slashed(name string) string { return strings.ReplaceAll(name, ".", "/") }

// globs replaces the blocks' numbers in names by *, and drops names that are then the same.
func globs(known []string) []string {
	var all []string
	for _, name := range known {
		parts := strings.Split(name, ".")
		if len(parts) > 2 && parts[0] == "blocks" {
			parts[1] = "*"
		}
		if glob := strings.Join(parts, "."); !slices.Contains(all, glob) {
			all = append(all, glob)
		}
	}
	return all
}
