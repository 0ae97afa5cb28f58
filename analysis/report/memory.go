package report

import (
	"cmp"
	"context"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/analysis/memory"
	"github.com/residua-go/residua/analysis/numerics"
)

// Memory treats the matrix stream as an associative memory. Its fields say how many random memories
// are filled, and what the model reads.
type Memory struct {
	Prompt        // without one, a model without a tokenizer is not run
	Seeds  int    `yaml:"seeds" default:"16" min:"2" max:"1000000" help:"average each point over <N> random memories"` // 0: 16
	Seed   uint64 `yaml:"seed" default:"1" help:"seed keys and values with <N>"`
}

// Name is memory.
func (Memory) Name() string { return "memory" }

// Card describes Memory.
func (Memory) Card() Card {
	return Card{
		Summary: "the matrix stream as an associative memory: the model's keys, what readers get of each write, retrieval error",
		Example: `
			analyze memory -checkpoint runs/quickstart
			analyze memory -checkpoint runs/quickstart -prompt "if err != nil {"
			analyze memory -checkpoint runs/quickstart -seeds 32 -out /tmp/memory`,
		Notes: `
			The model's own keys are measured; then, on a prompt, what each reader gets of each writer:
			its read is attention over the earlier writes, r X = sum of (r . w_i) y_i. Last, random
			key-value pairs are stored in one matrix of the model's Dk x Dv and read back, next to the
			theory of outer-product memories.`,
		Needs: analysis.CheckKeyed,
	}
}

// Run reports the matrix stream as an associative memory: the model's keys, what its readers get of
// each write in a run, and the theory on random pairs.
func (o Memory) Run(ctx context.Context, m *Model) (*Report, error) {
	keys, err := memory.MeasureKeys(ctx, m.Store, m.Spec, o.Seed)
	if err != nil {
		return nil, err
	}
	var ids []int32
	if o.Prompt.given() || m.Tokenizer != nil {
		if ids, err = o.Prompt.Read(m, 1); err != nil {
			return nil, err
		}
	}
	r := m.NewReport("Associative memory", ids)
	r.Add("keys", "The model's keys", "All sites store in one matrix. How much a reading key retrieves of what each writing key stored is their cosine.", keys)
	if ids != nil {
		if err := r.addRetrieval(m, ids, o.Seed); err != nil {
			return nil, err
		}
	}
	r.part("memory", "Random pairs in one matrix", "Pairs of a key and a value are stored as outer products and read back: the relative squared error "+
		"against the number of pairs.")(
		memory.Try(ctx, memory.Options{Dk: keys.Dk, Dv: m.Spec.StreamSize() / keys.Dk, Seeds: o.Seeds, Seed: o.Seed}))
	return r, r.err
}

// Curves are the errors of memories that hold a value for each key of a site, relative to those of
// random keys.
func (Memory) Curves(_ *Model, r *Report) (all []Curve, err error) {
	keys := r.Results["keys"].(*memory.KeyMemory)
	for _, s := range append(keys.Sets, keys.Writes, keys.Reads) {
		does := map[bool]string{false: " writes", true: " reads"}[s.Reads]
		all = append(all, Curve{cmp.Or(s.Site, "all sites") + does, "retrieval error of keys over that of random ones", numerics.Ratio(s.Error, s.Random), new(1.0)})
	}
	return all, nil
}

// addRetrieval adds what readers get of each writer in a run.
func (r *Report) addRetrieval(m *Model, ids []int32, seed uint64) error {
	run, err := analysis.Run(m.Store, m.Spec, ids)
	if err != nil {
		return err
	}
	got, err := memory.RetrieveWrites(run, seed)
	if err != nil {
		return err
	}
	r.Add("retrieval", "What readers get of each write", "A read is attention over the earlier writes of the token, r X = sum of (r . w_i) y_i, with "+
		"weights that are not normalised.", got)
	r.Add("distance", "Writes with distance", "What is left of a site's writes after others have written.", got.Distances)
	return nil
}
