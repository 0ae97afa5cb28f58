package cache

import (
	"fmt"
	"strings"

	"gonum.org/v1/gonum/floats"

	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/check"
)

// Cache holds the results of one run: its logits and the activations that were kept.
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

// NotKeptError says that a run has not kept an activation: add it to Options.Names.
type NotKeptError struct {
	Name string
	Kept []string // the activations that it has kept
}

// Error lists what was kept.
func (e NotKeptError) Error() string {
	kept := "nothing"
	if len(e.Kept) > 0 {
		kept = strings.Join(globs(e.Kept), ", ")
	}
	return fmt.Sprintf("activation %q: want one that the run keeps, got a run that keeps %s: add it to Options.Names", e.Name, kept)
}

// Is tells whether target is a NotKeptError of the same activation.
func (e NotKeptError) Is(target error) bool {
	t, ok := target.(NotKeptError)
	return ok && t.Name == e.Name
}

// Get returns an activation with its axes, or an error if the run did not keep it. The values
// belong to the cache: copy them before changing them.
func (c *Cache) Get(name string) (Activation, error) {
	for _, a := range c.activations {
		if a.Name == name {
			return a, nil
		}
	}
	return Activation{}, NotKeptError{name, c.Names()}
}

// Activation returns an activation's values, without its axes, as stream.Record requires.
func (c *Cache) Activation(name string) ([]float64, error) {
	a, err := c.Get(name)
	return a.Values, err
}

// TokenLogits returns one token's part of Logits, [Vocab]; tokens are counted over all rows.
func (c *Cache) TokenLogits(token int) ([]float64, error) {
	if err := check.Index("token", token, c.Tokens()); err != nil {
		return nil, err
	}
	return c.Logits[token*c.Vocab:][:c.Vocab], nil
}

// WithSuccessor lists the tokens that have a successor in their row.
func (c *Cache) WithSuccessor() []int {
	var tokens []int
	for token := range c.Tokens() {
		if (token+1)%c.Seq != 0 {
			tokens = append(tokens, token)
		}
	}
	return tokens
}

// NextTokenLoss is the mean cross-entropy in nats of tokens' successors in their rows.
func (c *Cache) NextTokenLoss() float64 {
	sum, tokens := 0.0, c.WithSuccessor()
	for _, token := range tokens {
		logits, _ := c.TokenLogits(token) // one of its own
		sum += floats.LogSumExp(logits) - logits[c.IDs[token+1]]
	}
	return sum / float64(len(tokens))
}
