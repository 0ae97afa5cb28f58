package report

import (
	"context"
	"slices"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/internal/settings"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/check"
)

// Analysis is an analysis of a trained model. It is a struct whose tagged fields are its settings:
// flags of its command, keys of its JSON. Fields that name files are tagged local. Analyses lists
// this package's analyses, and models.Zoo.WithKinds adds one from another module.
type Analysis interface {
	Name() string // of its command
	Card() Card
	// Run analyses the model. Where it runs the model several times, or draws at random, it returns
	// ctx's error soon after ctx has ended.
	Run(ctx context.Context, m *Model) (*Report, error)
}

// Card is an analysis's help text, and what it needs.
type Card struct {
	Summary string // a line: what it shows
	Example string // calls, a line each, as in "analyze lens -checkpoint runs/quickstart"
	Notes   string // further lines of help
	// Needs returns a check.UnsupportedError unless the analysis works on a model's stream, as
	// analysis.CheckWeighted does; nil: it works on every stream.
	Needs func(spec models.Spec) error
	Paper bool // it is about no model, and Run is given nil
}

// Analyses returns this package's analyses, in the order of help, and a zoo's. It returns an error
// if two have the same name.
func Analyses(zoo models.Zoo) ([]Analysis, error) {
	all := []Analysis{Attribute{}, Lens{}, Heads{}, Circuits{}, Wiring{}, Basis{}, Directions{}, Probe{}, Rotation{}, Subspaces{}, Paths{}, Memory{},
		Ablate{}, Patch{}, Mixing{}, Changes{}, Export{}, Steer{}, Theory{zoo: zoo}}
	all = append(all, models.KindsOf[Analysis](zoo)...)
	for _, a := range all {
		if _, err := models.Find("analysis", all, a.Name()); err != nil {
			return all, err
		}
	}
	return all, nil
}

// Supported returns the analyses that work on a model of the spec.
func Supported(all []Analysis, spec models.Spec) []Analysis {
	return slices.DeleteFunc(slices.Clone(all), func(a Analysis) bool {
		card := a.Card()
		return card.Paper || card.Needs != nil && card.Needs(spec) != nil
	})
}

// Run runs an analysis of a model (nil, if its card says Paper). A setting that is zero
// although its bounds exclude zero gets its tag's default. Run returns a *settings.Error if
// another setting lies outside its bounds, and a check.UnsupportedError if the model's stream
// lacks what the analysis needs.
func Run(ctx context.Context, m *Model, a Analysis) (*Report, error) {
	if needs := a.Card().Needs; needs != nil {
		if err := needs(m.Spec); err != nil {
			return nil, m.lacks(a, err)
		}
	}
	a = settings.Settable(a)
	if err := settings.Complete(a); err != nil {
		return nil, err
	}
	r, err := a.Run(ctx, m)
	if err != nil {
		return nil, err
	}
	r.Analysis = a.Name()
	return r, nil
}

// lacks adds the analyses that the model supports to err, the error of one that it does not
// support.
func (m *Model) lacks(a Analysis, err error) error {
	var lacks check.UnsupportedError
	all, failed := Analyses(m.Zoo)
	if failed != nil || !errors.As(err, &lacks) {
		return err
	}
	lacks.Analysis = a.Name()
	for _, has := range Supported(all, m.Spec) {
		lacks.Has = append(lacks.Has, has.Name())
	}
	return lacks
}
