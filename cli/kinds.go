package cli

import (
	"context"
	"io"
	"reflect"
	"slices"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/analysis/report"
	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/experiment"
	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/internal/settings"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/pretrained"
	"github.com/residua-go/residua/runconfig"
	"github.com/residua-go/residua/stream"
	"github.com/residua-go/residua/trainer"
)

// Command is a command of another module, which models.Zoo.WithKinds adds to the program. It is a
// struct whose tagged fields are its flags (package settings).
type Command interface {
	Name() string // in a call, after the program's name
	// Help returns what the command does, in one line, and calls that work, a line each, without
	// the program's name.
	Help() (summary, example string)
	// Run does the work with models of the zoo, after the flags were set and checked. ctx ends at
	// the first interrupt.
	Run(ctx context.Context, zoo models.Zoo, stdout, stderr io.Writer) error
}

// commandsOf returns the commands that a zoo brings.
func commandsOf(zoo models.Zoo) (all []commandline.Command) {
	for _, c := range models.KindsOf[Command](zoo) {
		c = settings.Settable(c)
		summary, example := c.Help()
		all = append(all, commandline.Command{Name: c.Name(), Summary: summary, Example: example, Settings: c,
			Run: func(ctx context.Context, out commandline.Output) error {
				return c.Run(ctx, zoo, out.Stdout, out.Stderr)
			}})
	}
	return all
}

// checkKinds returns an error if a value of the zoo's is of no kind that the program knows, or if
// one of its commands has the name of another command.
func checkKinds(zoo models.Zoo, s commandline.Suite) error {
	known := []reflect.Type{reflect.TypeFor[stream.Design](), reflect.TypeFor[stream.WritesDesign](), reflect.TypeFor[layers.AttentionDesign](),
		reflect.TypeFor[layers.FeedForwardDesign](), reflect.TypeFor[runconfig.Optim](), reflect.TypeFor[runconfig.Schedule](),
		reflect.TypeFor[data.Source](), reflect.TypeFor[trainer.Recorder](), reflect.TypeFor[experiment.Kind](), reflect.TypeFor[report.Analysis](),
		reflect.TypeFor[pretrained.Importer](), reflect.TypeFor[pretrained.Exporter](), reflect.TypeFor[pretrained.Architecture](),
		reflect.TypeFor[Command]()}
	for _, kind := range models.KindsOf[models.Kind](zoo) {
		if !slices.ContainsFunc(known, reflect.TypeOf(kind).AssignableTo) {
			return errors.Errorf("models.Zoo.WithKinds: want one of %v, got %T, named %q, which has the methods of none", known, kind, kind.Name())
		}
	}
	for _, name := range models.NamesOf(models.KindsOf[Command](zoo)) {
		if same := slices.DeleteFunc(s.Names(), func(other string) bool { return other != name }); len(same) > 1 {
			return errors.Errorf("models.Zoo.WithKinds: want a command with a name of its own, got %q, of which there are %d", name, len(same))
		}
	}
	return nil
}
