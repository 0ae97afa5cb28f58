package analyze

import (
	"flag"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/analysis/cache"
	"github.com/residua-go/residua/models"
)

// mixing is the prompt of an analysis of weights: a stream that mixes what was written does
// so with the coefficients of a run.
type mixing struct{ prompt }

func (m *mixing) flags(flags *flag.FlagSet) {
	m.prompt.flags(flags)
	for _, name := range []string{"prompt", "ids"} {
		flags.Lookup(name).Usage += "; it matters only in streams that mix what was written"
	}
}

// held runs the model on the prompt where that matters; nil, nil: it does not, or a model
// without tokenizer was given no ids.
func (m *mixing) held(s *subject) (*cache.Cache, []int32, error) {
	given := m.text.given || m.ids.given
	if !given && (s.tokenizer == nil || !mixes(s.Model.Stream)) {
		return nil, nil, nil
	}
	ids, err := m.read(s, 1)
	if err != nil || !mixes(s.Model.Stream) {
		return nil, nil, err
	}
	names, err := analysis.DecompositionNames(s.Store, s.Model)
	if err != nil {
		return nil, nil, err
	}
	run, err := s.run(ids, names)
	return run, ids, err
}

// mixes tells whether a stream carries what was written otherwise than by adding to it.
func mixes(stream string) bool {
	switch stream {
	case models.StreamVector, models.StreamHighway, models.StreamMatrix:
		return false
	}
	return true
}
