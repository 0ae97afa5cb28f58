package settings

import (
	"maps"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// set applies one assignment such as "train.steps=200" to the struct that v points to, as if read
// from a file that has only this key. Afterwards p reports "-set" as the position of the keys that
// it changed.
func (p *Positions) set(v any, assignment string) error {
	d, target, err := p.decoder(v)
	if err != nil {
		return err
	}
	key, text, found := strings.Cut(assignment, "=")
	key = strings.TrimSpace(key)
	if !found || key == "" {
		return &Error{Position: setPosition, Problem: "want key=value, as in train.steps=200, got " + quoted(assignment)}
	}
	d.where, d.before = func(int) string { return setPosition }, p
	maps.Copy(d.at, p.at)
	if err := d.checkCharacters(key, ""); err != nil {
		return err
	}
	segments := strings.Split(key, ".")
	for _, segment := range segments {
		d.path = joined(d.path, segment)
	}
	node, err := d.parse(text, d.path)
	if err != nil {
		return err
	}
	if err := d.all(below(segments, node)); err != nil {
		return err
	}
	target.Set(d.root)
	p.at = d.at
	return nil
}

// below returns a tree of maps in which the node n is at the given path.
func below(segments []string, n ast.Node) ast.Node {
	for i := len(segments) - 1; i >= 0; i-- {
		key := ast.String(token.DoubleQuote(segments[i], segments[i], nil))
		n = ast.Mapping(nil, true, ast.MappingValue(nil, key, n))
	}
	return n
}

// leadsThrough tells whether the path of the assignment goes on below key.
func (d *decoder) leadsThrough(key string) bool {
	return d.path != "" && (key == "" || strings.HasPrefix(d.path, key+"."))
}

// beyond returns the error of an assignment whose path continues below a value that has no keys.
func (d *decoder) beyond(at spot, what string) error {
	entries, _ := entriesOf(at.node)
	name, _ := nameOf(entries[0].Key)
	if strings.HasPrefix(what, "a list") {
		return d.errorAt(0, joined(at.key, name), "unknown key; %s is %s, set it whole, as %s=[a,b]", at.key, what, at.key)
	}
	return d.errorAt(0, joined(at.key, name), "unknown key; the value of %s is %s", at.key, what)
}
