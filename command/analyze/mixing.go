package analyze

import (
	"flag"
	"fmt"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/analysis/cache"
	"github.com/residua-go/residua/stream"
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
	if !given && (s.tokenizer == nil || !s.mixes()) {
		return nil, nil, nil
	}
	ids, err := m.read(s, 1)
	if err != nil || !s.mixes() {
		return nil, nil, err
	}
	names, err := analysis.DecompositionNames(s.Store, s.Spec)
	if err != nil {
		return nil, nil, err
	}
	run, err := s.run(ids, names)
	return run, ids, err
}

// begin begins the report of an analysis of weights, with the run that it goes by, or nil, and
// says how the stream carries on what is written where that is more than a sum.
func (m *mixing) begin(s *subject, title string) (*report, *cache.Cache, error) {
	run, ids, err := m.held(s)
	if err != nil {
		return nil, nil, err
	}
	r := reportOn(s, title, ids)
	switch {
	case run != nil:
		r.about += fmt.Sprintf("; what is written is carried on as the coefficients of the prompt's %d tokens have it on average", run.Tokens())
	case s.mixes():
		r.about += "; what is written is carried on as in a plain residual stream, for want of a prompt"
	}
	return r, run, nil
}

// mixes tells whether the model's stream carries on what was written by coefficients of a run,
// and not only by adding to it.
func (s *subject) mixes() bool {
	m, err := cache.Sketch(s.Store, s.Spec)
	if err != nil {
		return false
	}
	additive, ok := m.Stream().(stream.Additive)
	return ok && len(additive.FreezeHooks()) > 0
}
