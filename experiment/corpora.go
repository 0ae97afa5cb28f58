package experiment

import (
	"context"
	"fmt"
	"sync"

	"github.com/residua-go/residua/config"
	"github.com/residua-go/residua/data"
)

// corpusOf loads the corpus of a run.
type corpusOf func(context.Context, *config.Run) (*data.Corpus, error)

// corpora are those of runs side by side, each loaded once.
type corpora struct {
	mu  sync.Mutex
	all map[string]*data.Corpus // by the config's data section
}

// of is the corpus of a run.
func (c *corpora) of(ctx context.Context, run *config.Run) (*data.Corpus, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := fmt.Sprintf("%q %d", []any{run.Data}, run.Device.Threads)
	if c.all[key] == nil {
		corpus, err := run.Data.LoadCorpus(ctx, run.Device.Threads)
		if err != nil {
			return nil, err
		}
		if c.all == nil {
			c.all = map[string]*data.Corpus{}
		}
		c.all[key] = corpus
	}
	return c.all[key], nil
}
