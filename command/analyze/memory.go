package analyze

import (
	"flag"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/internal/cli"
	"github.com/residua-go/residua/models"
)

func memory(zoo models.Zoo) cli.Command {
	return command(zoo, cli.Command{
		Name:    analysis.AnalysisMemory,
		Summary: "the matrix stream as an associative memory: retrieval error, and the model's keys",
		Example: []string{
			"go run ./cmd/analyze memory -checkpoint runs/quickstart",
			"go run ./cmd/analyze memory -checkpoint runs/quickstart -seeds 32 -out /tmp/memory",
		},
		Notes: []string{
			"Random key-value pairs are stored in one matrix of the model's Dk x Dv and read back,",
			"beside the theory of outer-product memories; then the model's own keys are measured.",
		},
	}, &memoryCall{})
}

type memoryCall struct {
	seeds int
	seed  uint64
}

func (c *memoryCall) flags(flags *flag.FlagSet) {
	flags.IntVar(&c.seeds, "seeds", 16, "fill `N` memories a point")
	flags.Uint64Var(&c.seed, "seed", 1, "seed keys and values with `N`")
}

func (c *memoryCall) report(s *subject) (*report, error) {
	if c.seeds < 2 {
		return nil, errors.Errorf("-seeds: want 2 or more seeds, got %d", c.seeds)
	}
	if err := atMost("-seeds", c.seeds); err != nil {
		return nil, err
	}
	r := reportOn(s, "Associative memory", nil)
	keys, err := analysis.MeasureKeys(s.Store, s.Spec, c.seed)
	if err != nil {
		return nil, err
	}
	r.add("keys", "The model's keys", "All sites store in one matrix. How much a reading key hears of each writing key is their cosine.", keys)
	tried, err := analysis.TryMemory(analysis.MemoryOptions{Dk: keys.Dk, Dv: s.Spec.StreamSize() / keys.Dk, Seeds: c.seeds, Seed: c.seed})
	if err != nil {
		return nil, err
	}
	r.add("memory", "Random pairs in one matrix", "Pairs of a key and a value are stored as outer products and read back: the relative squared error against the number of pairs.", tried)
	return r, nil
}
