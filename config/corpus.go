package config

import (
	"context"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/graph"
)

// LoadCorpus loads the corpus that the section names, with threads workers (0: all cores;
// it changes nothing else).
func (d Data) LoadCorpus(ctx context.Context, threads int) (*data.Corpus, error) {
	return data.Load(ctx, data.Options{Source: data.Source{Kind: d.Source, Paths: d.Path}, Tokenizer: d.Tokenizer, Split: d.Split, TextField: d.TextField, Threads: threads, Memory: graph.AvailableMemory()})
}
