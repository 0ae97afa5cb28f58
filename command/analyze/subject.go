package analyze

import (
	"fmt"
	"strings"

	"github.com/residua-go/residua/analysis/cache"
	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/internal/cli"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/pretrained"
)

// subject is the model that an analysis looks at.
type subject struct {
	*pretrained.Model
	tokenizer data.Tokenizer // nil: the model has none
}

func openSubject(m *cli.Model, out cli.Output) (*subject, error) {
	p, tokenizer, err := m.OpenIDs(out)
	if err != nil {
		return nil, err
	}
	return &subject{p, tokenizer}, nil
}

// about is a line that says what model it is.
func (s *subject) about() string {
	c := s.Spec
	return fmt.Sprintf("%s: %s stream, %s, %d layers of %d heads", s.Source.ModelPath, c.Stream.Name(), strings.Join(models.Sizes(c.Stream), " "), c.Layers, c.HeadCount())
}

// run runs the model once on one row of ids and keeps activations, names or globs.
func (s *subject) run(ids []int32, names []string) (*cache.Cache, error) {
	r, err := cache.New(s.Store, s.Spec, cache.Options{Names: names, Seq: len(ids)})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return r.Run(ids)
}

// text is a token's text as figures show it: the id where it has none.
func (s *subject) text(id int) string {
	switch {
	case s.tokenizer == nil || id >= s.tokenizer.Vocab():
		return fmt.Sprint(id)
	case int32(id) == s.tokenizer.BOS():
		return "BOS"
	}
	return figure.Label(s.tokenizer.Decode([]int32{int32(id)}))
}

// word is a token's text beside its id.
func (s *subject) word(id int) string {
	if text := s.text(id); text != fmt.Sprint(id) {
		return fmt.Sprintf("%s (id %d)", text, id)
	}
	return fmt.Sprintf("id %d", id)
}

// words are tokens' texts behind their positions: "3 ␣func".
func (s *subject) words(ids []int32) []string {
	var words []string
	for i, id := range ids {
		words = append(words, fmt.Sprintf("%d %s", i, s.text(int(id))))
	}
	return words
}

// texts are tokens' texts.
func (s *subject) texts(ids []int32) []string {
	var texts []string
	for _, id := range ids {
		texts = append(texts, s.text(int(id)))
	}
	return texts
}

// tokens are a prompt's tokens as a report lists them.
func (s *subject) tokens(ids []int32) []token {
	var tokens []token
	for i, id := range ids {
		tokens = append(tokens, token{i, int(id), s.text(int(id))})
	}
	return tokens
}
