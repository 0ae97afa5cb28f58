package cache

import (
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/models"
)

// Cache is what one run left: its logits and the activations that were kept.
type Cache struct {
	IDs         []int32   // the tokens, Batch rows of Seq
	Batch, Seq  int       // rows, and tokens a row
	Vocab       int       // token ids
	Logits      []float64 // [Batch*Seq, Vocab]
	activations []Activation
	model       *models.Model
}

// Model returns the model that ran.
func (c *Cache) Model() *models.Model { return c.model }

// Tokens is the number of tokens, Batch*Seq.
func (c *Cache) Tokens() int { return len(c.IDs) }

// Names lists the activations.
func (c *Cache) Names() []string {
	var names []string
	for _, a := range c.activations {
		names = append(names, a.Name)
	}
	return names
}

// Get returns an activation with its axes. It is an error if the run has not kept it. Values
// are the cache's own: whoever changes them copies them.
func (c *Cache) Get(name string) (Activation, error) {
	for _, a := range c.activations {
		if a.Name == name {
			return a, nil
		}
	}
	if len(c.activations) == 0 {
		return Activation{}, errors.Errorf("cache: %q was not kept in this run, which kept nothing: add it to Options.Names", name)
	}
	return Activation{}, errors.Errorf("cache: %q was not kept in this run, which kept %s: add it to Options.Names", name, strings.Join(kinds(c.Names()), ", "))
}

// Activation returns an activation's values, Get's without its axes; stream.Record wants it so.
func (c *Cache) Activation(name string) ([]float64, error) {
	a, err := c.Get(name)
	return a.Values, err
}

// TokenLogits returns the logits [Vocab] of one token, counted over all rows: part of Logits.
func (c *Cache) TokenLogits(token int) ([]float64, error) {
	if token < 0 || token >= c.Tokens() {
		return nil, errors.Errorf("cache: token: want 0 to %d, got %d", c.Tokens()-1, token)
	}
	return c.Logits[token*c.Vocab:][:c.Vocab], nil
}
