package explore

import (
	"context"
	"slices"
	"strings"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/cache"
	"github.com/residua-go/residua/stream"
)

// Description tells a page what it needs to know about the model.
type Description struct {
	Name      string       `json:"name"`
	Stream    string       `json:"stream"` // the design's name
	Sizes     []string     `json:"sizes"`  // settings of the stream
	Layers    int          `json:"layers"`
	Heads     int          `json:"heads"`
	Vocab     int          `json:"vocab"`
	Tokens    int          `json:"tokens"` // limit for a prompt and its text together
	Tokenizer bool         `json:"tokenizer"`
	Prompt    string       `json:"prompt,omitempty"` // the beginning of the model's validation text; "": it has none
	BOS       bool         `json:"bos"`              // whether a prompt is read after the token that begins documents, unless a request says otherwise
	Sites     []Activation `json:"sites"`            // activations that can be changed, in the order of the run
	Writers   []Writer     `json:"writers"`          // writers to the stream, in the order of the run
}

// Activation is a named tensor that can be changed.
type Activation struct {
	Name  string   `json:"name"`
	Axes  []string `json:"axes"`  // the first is "token", unless the tensor is the same for all tokens
	Shape []int    `json:"shape"` // of one token
}

// Writer is something that writes to the stream, in parts.
type Writer struct {
	Name       string `json:"name"`
	Part       string `json:"part,omitempty"` // "head", "neuron", "expert"
	Parts      int    `json:"parts"`
	Activation string `json:"activation"`     // activation by which a part can be changed
	Axis       string `json:"axis,omitempty"` // axis of the activation along which the parts are; "": it has one part
}

// describe compiles the model once for one token, to find out what it consists of.
func (e *Explorer) describe() error {
	names, err := cache.Names(e.store, e.spec)
	if err != nil {
		return err
	}
	isPattern := func(name string) bool { return strings.HasSuffix(name, patternSuffix) }
	for _, name := range names {
		if isPattern(name) {
			e.patternNames = append(e.patternNames, name)
		}
	}
	if e.lookNames, err = analysis.DecompositionNames(e.store, e.spec); err != nil {
		return err
	}
	e.lookNames = append(e.lookNames, e.patternNames...)
	names = slices.DeleteFunc(names, func(name string) bool {
		return isPattern(name) || strings.HasSuffix(name, ".scores") || name == "logits"
	})
	r, err := cache.New(e.store, e.spec, cache.Options{Names: names, Seq: 1, Threads: 1})
	if err != nil {
		return err
	}
	defer r.Close()
	m := r.Model()
	e.about = Description{Name: e.options.Name, Stream: e.spec.Stream.Name(), Sizes: models.Sizes(e.spec.Stream), Layers: e.spec.Depth(),
		Heads: e.spec.HeadCount(), Vocab: e.spec.Vocab, Tokens: e.options.Tokens, Tokenizer: e.tokenizer != nil, BOS: e.tokenizer != nil && data.AddsBOS(e.tokenizer)}
	if text, err := e.model.Text(context.Background(), nil, 2*openingTokens); err == nil && e.tokenizer != nil {
		e.about.Prompt = opening(e.tokenizer, text, min(openingTokens, e.options.Tokens/2))
	}
	e.sites = map[string]cache.Activation{}
	for _, a := range m.Builder().Activations() {
		if !slices.Contains(names, a.Name) {
			continue
		}
		e.sites[a.Name] = cache.Activation{Name: a.Name, Axes: a.Axes, Shape: a.Shape}
		e.about.Sites = append(e.about.Sites, Activation{a.Name, a.Axes, a.Shape})
	}
	e.describeWriters(m.Writers(), m.Builder().ActivationNames())
	return nil
}

// openingTokens is the largest number of tokens of the prompt with which the page opens.
const openingTokens = 32

// opening returns the beginning of the first document in a text, of at most the given number of
// tokens.
func opening(t data.Tokenizer, text []int32, most int) string {
	for len(text) > 0 && text[0] == t.BOS() {
		text = text[1:]
	}
	if end := slices.Index(text, t.BOS()); end >= 0 {
		text = text[:end]
	}
	return strings.ToValidUTF8(t.Decode(text[:min(len(text), most)]), "")
}

// describeWriters lists writers in the order of the run.
func (e *Explorer) describeWriters(writers []stream.Writer, order []string) {
	slices.SortStableFunc(writers, func(a, b stream.Writer) int {
		return slices.Index(order, a.Activation) - slices.Index(order, b.Activation)
	})
	for _, w := range writers {
		described := Writer{Name: w.Name, Part: w.Part, Parts: w.Parts, Activation: w.Activation}
		a := e.sites[w.Activation]
		for i, axis := range a.Axes {
			if axis != graph.TokenAxis && a.Shape[i] == w.Parts && w.Parts > 1 && described.Axis == "" {
				described.Axis = axis
			}
		}
		e.about.Writers = append(e.about.Writers, described)
	}
}

// patternSuffix ends the names of attention patterns, which are shown and cannot be changed.
var patternSuffix = strings.TrimPrefix(analysis.PatternName(0), "blocks.0.attention")
