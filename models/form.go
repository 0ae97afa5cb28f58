package models

import (
	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/stream"
)

// ResidualForm returns how the model's stream fills in the linear form that residual designs share,
// for each sublayer of the first block. It makes the stream's parameters in a graph of their own,
// so call it with a small model.
func ResidualForm(spec Spec) ([]stream.Form, error) {
	if spec.IsZero() {
		return nil, errors.Wrap(errUnresolved(), "models")
	}
	b := graph.On(gorgonia.NewGraph(), graph.Options{})
	s := spec.Design().New(b)
	if err := b.Err(); err != nil {
		return nil, errors.Wrap(err, "models")
	}
	formed, ok := s.(stream.FormDescriber)
	if !ok {
		return nil, errors.Errorf("models: stream %s: want the method Form of stream.FormDescriber, got none: add it to %T", spec.Stream.Name(), s)
	}
	var forms []stream.Form
	for _, at := range s.Sites(0) {
		forms = append(forms, formed.Form(at))
	}
	return forms, nil
}
