package experiment

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/runconfig"
)

// corpora holds the corpora of runs, each loaded once. The key is the config's data section
// and the number of threads.
type corpora map[string]*data.Corpus

// of returns the corpus of a run.
func (c corpora) of(ctx context.Context, run *runconfig.Run) (*data.Corpus, error) {
	key := fmt.Sprintf("%s %d", dataKey(run), run.Device.Threads)
	if c[key] == nil {
		corpus, err := run.Data.LoadCorpus(ctx, run.Device.Threads)
		if err != nil {
			return nil, setupError(err)
		}
		c[key] = corpus
	}
	return c[key], nil
}

// dataKey returns a run's data section as one line.
func dataKey(run *runconfig.Run) string {
	text, _ := json.Marshal(run.Data) // a section that was read can be written
	return string(text)
}

// learnt records the text on which a run was trained.
type learnt struct{ fingerprint, run string }

// sameText returns an error if the text has changed since another run with the same data
// section.
func (p *Plan) sameText(r *Planned, fingerprint string) error {
	key := dataKey(r.Run)
	switch before, known := p.texts[key]; {
	case fingerprint == "":
	case !known:
		p.texts[key] = learnt{fingerprint, r.Name}
	case before.fingerprint != fingerprint:
		return setupErrorf("%s: want the text that %s was trained on, with the fingerprint %s, got another, %s: restore it, or choose another -out", r.Name,
			before.run, before.fingerprint, fingerprint)
	}
	return nil
}
