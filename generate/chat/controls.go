package chat

import (
	"github.com/nikolalohinski/gonja/v2/builtins"
	"github.com/nikolalohinski/gonja/v2/exec"
	"github.com/nikolalohinski/gonja/v2/nodes"
	"github.com/nikolalohinski/gonja/v2/parser"
	"github.com/nikolalohinski/gonja/v2/tokens"
)

// controls returns the tags of templates: Jinja's and generation.
func controls() *exec.ControlStructureSet {
	return exec.NewControlStructureSet(map[string]parser.ControlStructureParser{"generation": parseGeneration}).Update(builtins.ControlStructures)
}

// generation is {% generation %}...{% endgeneration %}, by which transformers finds what the model
// is to say. It renders its content.
type generation struct {
	at      *tokens.Token
	content *nodes.Wrapper
}

func parseGeneration(p *parser.Parser, args *parser.Parser) (nodes.ControlStructure, error) {
	g := &generation{at: p.Current()}
	content, ending, err := p.WrapUntil("endgeneration")
	if err != nil {
		return nil, err
	}
	if !args.End() || !ending.End() {
		return nil, args.Error("generation: want no arguments", args.Current())
	}
	g.content = content
	return g, nil
}

func (g *generation) Position() *tokens.Token { return g.at }

func (g *generation) String() string { return "generation" }

// Execute renders the content.
func (g *generation) Execute(r *exec.Renderer, _ *nodes.ControlStructureBlock) error {
	return r.ExecuteWrapper(g.content)
}
