package models

import (
	"github.com/pkg/errors"

	"github.com/residua-go/residua/stream"
)

// Stream returns the model's residual stream. Its optional abilities are interfaces of
// package stream.
func (m *Model) Stream() stream.Stream { return m.stream }

// Writers lists all that writes to the stream, in the order of the stream's own list with
// the feed-forwards that follow it: each neuron of a dense feed-forward, each expert of a
// mixture. It is nil for a stream that is not Additive.
func (m *Model) Writers() []stream.Writer {
	additive, ok := m.stream.(stream.Additive)
	if !ok {
		return nil
	}
	writers := additive.Writers()
	for i := range writers {
		writers[i].Over = m.writes.Over(writers[i].Source)
		if writers[i].Part == stream.HeadPart {
			writers[i].Parts = m.spec.HeadCount()
		}
	}
	for l := range m.spec.Depth() {
		for _, site := range m.stream.Sites(l) {
			if site.Sublayer == stream.FeedForward {
				writers = append(writers, m.feedForwardWriter(site))
			}
		}
	}
	return writers
}

// feedForwardWriter returns the Writer of a block's feed-forward.
func (m *Model) feedForwardWriter(site stream.Site) stream.Writer {
	name, u := site.Name(), m.feedforward[site.Block].Units()
	return stream.Writer{Name: name, Part: u.Part, Parts: u.Count, Activation: u.Activation, Weight: u.Weight, Bias: u.Bias, Whole: u.Whole, Source: name,
		Over: m.writes.Over(name)}
}

// UnembeddingWeights returns the logits' weights [F, vocab], tied or not, with muP's factor:
// features [F] times them are the logits before logit_softcap. It copies the whole table to
// float64; LogitDirection and LogitsOf need no such copy.
func (m *Model) UnembeddingWeights() []float64 { return m.unembedding.Weights() }

// LogitDirection returns column id [F] of UnembeddingWeights, whose product with the features is
// the logit of that token before logit_softcap. It returns an error if the vocabulary has no such
// id.
func (m *Model) LogitDirection(id int) ([]float64, error) {
	if id < 0 || id >= m.spec.Vocab {
		return nil, errors.Errorf("models: logit: want an id of 0 to %d, got %d", m.spec.Vocab-1, id)
	}
	return m.unembedding.Column(id), nil
}

// LogitsOf returns the logits [n, vocab] of features [n, F] without running the graph, at
// the parameters' precision. It is an error if the features are not rows of F = Features entries.
func (m *Model) LogitsOf(features []float64) ([]float64, error) {
	if width := m.spec.Features(); len(features)%width != 0 {
		return nil, errors.Errorf("models: logits: want rows of %d features, got %d entries", width, len(features))
	}
	return m.unembedding.Apply(features), nil
}

// UncappedLogit undoes logit_softcap: it returns the logit before the cap. Without a cap it returns
// the logit itself.
func (m *Model) UncappedLogit(logit float64) float64 { return m.unembedding.Uncapped(logit) }
