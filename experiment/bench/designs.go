package bench

import (
	"slices"

	"github.com/residua-go/residua/models"
)

// shape is a size at which residual designs are compared with a plain transformer. The designs
// are the presets that name this transformer as their baseline.
type shape struct {
	name       string
	plain      string // preset of the plain transformer
	batch, seq int
	steps      int // steps in a turn, unless Options.Steps is set
}

func shapes() []shape {
	return []shape{
		{name: "byte", plain: "quickstart-transformer", batch: 16, seq: 256, steps: 5},
		{name: "162m", plain: "transformer-162m", batch: 4, seq: 512, steps: 1},
	}
}

// ShapeNames returns the names of the sizes at which residual designs are compared.
func ShapeNames() []string { return namesOf(shapes(), func(s shape) string { return s.name }) }

// compared returns the presets that are compared with the plain transformer.
func (s shape) compared(zoo models.Zoo) []models.Preset {
	return slices.DeleteFunc(zoo.Presets(), func(p models.Preset) bool { return p.Baseline != s.plain })
}

// designNames returns the names of the presets that are measured at the shapes.
func designNames(zoo models.Zoo, shapes []shape) []string {
	var names []string
	for _, s := range shapes {
		names = append(names, s.plain)
		names = append(names, namesOf(s.compared(zoo), presetName)...)
	}
	return names
}

func presetName(p models.Preset) string { return p.Name }

// Comparison is a plain transformer and the designs that are compared with it.
type Comparison struct {
	Shape  string
	Base   Workload
	Others []Workload
	Steps  int // steps in a turn
}

// TrainedBy returns the comparison with all workloads trained by an optimizer of OptimizerNames.
func (c Comparison) TrainedBy(optimizer string) Comparison {
	c.Base.Optim, c.Others = optimizer, slices.Clone(c.Others)
	for i := range c.Others {
		c.Others[i].Optim = optimizer
	}
	return c
}

// title names what is compared in messages.
func (c Comparison) title() string { return c.Base.Name + " at " + c.Shape + byOptimizer(c.Base.Optim) }

// Comparisons returns the comparisons at the named shapes (none: all) with the named presets
// (none: all). A shape without such a preset is left out.
func Comparisons(zoo models.Zoo, shapeNames, names []string, size Size) ([]Comparison, error) {
	if err := checkNames("shape", shapeNames, ShapeNames()); err != nil {
		return nil, err
	}
	chosenShapes := shapes()
	if len(shapeNames) > 0 {
		chosenShapes = slices.DeleteFunc(chosenShapes, func(s shape) bool { return !slices.Contains(shapeNames, s.name) })
	}
	known := designNames(zoo, chosenShapes)
	if err := checkNames("residual design", names, known); err != nil {
		return nil, err
	}
	if len(names) == 0 {
		names = known
	}
	var all []Comparison
	for _, s := range chosenShapes {
		others := slices.DeleteFunc(s.compared(zoo), func(p models.Preset) bool { return !slices.Contains(names, p.Name) })
		if len(others) == 0 && !slices.Contains(names, s.plain) {
			continue
		}
		c, err := s.comparison(zoo, others, size)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// comparison makes the workloads.
func (s shape) comparison(zoo models.Zoo, others []models.Preset, size Size) (Comparison, error) {
	plain, err := zoo.Preset(s.plain)
	if err != nil {
		return Comparison{}, err
	}
	batch, seq := size.or(s.batch, s.seq)
	var all []Workload
	for _, p := range append([]models.Preset{plain}, others...) {
		w, err := newWorkload(p.Name, p, batch, seq)
		if err != nil {
			return Comparison{}, err
		}
		all = append(all, w)
	}
	return Comparison{Shape: s.name, Base: all[0], Others: all[1:], Steps: s.steps}, nil
}
