package main

import (
	"slices"
	"strings"

	"github.com/residua-go/residua/models"
)

// zooShape is a size at which residual designs are compared with a plain transformer: the
// presets that name it are.
type zooShape struct {
	name       string
	plain      string // preset
	batch, seq int
	steps      int // a turn, unless -steps says otherwise
}

func zooShapes() []zooShape {
	return []zooShape{
		{name: "byte", plain: "quickstart-transformer", batch: 16, seq: 256, steps: 5},
		{name: "162m", plain: "transformer-162m", batch: 4, seq: 512, steps: 1},
	}
}

// compared are the presets that are compared with the plain transformer.
func (s zooShape) compared(zoo models.Zoo) []models.Preset {
	return slices.DeleteFunc(zoo.Presets(), func(p models.Preset) bool { return p.Plain != s.plain })
}

// zooNames are the presets that -zoo measures at the shapes.
func zooNames(zoo models.Zoo, shapes []zooShape) []string {
	var names []string
	for _, s := range shapes {
		names = append(names, s.plain)
		names = append(names, namesOf(s.compared(zoo), presetName)...)
	}
	return names
}

// zooGroup is a shape's plain transformer and what is compared with it.
type zooGroup struct {
	shape  zooShape
	base   workload
	others []workload
}

// zooGroups returns the workloads that -zoo with -shapes, -models, -batch and -seq asks for: a
// group for each shape that a chosen model has.
func (c *call) zooGroups() ([]zooGroup, error) {
	shapes, err := chosenOf("-shapes", "shape", c.shapes, zooShapes(), shapeName)
	if err != nil {
		return nil, err
	}
	chosen, err := chosenOf("-models", "residual design", c.models, zooNames(c.zoo, shapes), func(name string) string { return name })
	if err != nil {
		return nil, err
	}
	var groups []zooGroup
	for _, s := range shapes {
		if c.given("steps") {
			s.steps = c.steps
		}
		others := slices.DeleteFunc(s.compared(c.zoo), func(p models.Preset) bool { return !slices.Contains(chosen, p.Name) })
		if len(others) == 0 && !slices.Contains(chosen, s.plain) {
			continue
		}
		g, err := c.zooGroup(s, others)
		if err != nil {
			return nil, err
		}
		groups = append(groups, g)
	}
	return groups, nil
}

// zooGroup makes the workloads of a group.
func (c *call) zooGroup(s zooShape, others []models.Preset) (zooGroup, error) {
	plain, err := c.zoo.Preset(s.plain)
	if err != nil {
		return zooGroup{}, err
	}
	var all []workload
	for _, p := range append([]models.Preset{plain}, others...) {
		w, err := newWorkload(p.Name, p, s.batch, s.seq)
		if err == nil {
			w, err = w.resized(c.batch, c.seq)
		}
		if err != nil {
			return zooGroup{}, err
		}
		all = append(all, w)
	}
	return zooGroup{shape: s, base: all[0], others: all[1:]}, nil
}

// chosenOf returns those that a comma-separated list names, in the order of the known ones;
// all for "".
func chosenOf[T any](flag, what, list string, known []T, name func(T) string) ([]T, error) {
	if list == "" {
		return known, nil
	}
	names := namesOf(known, name)
	wanted := strings.Split(list, ",")
	for _, w := range wanted {
		if !slices.Contains(names, w) {
			return nil, unknownName(flag, what, w, names)
		}
	}
	var chosen []T
	for _, k := range known {
		if slices.Contains(wanted, name(k)) {
			chosen = append(chosen, k)
		}
	}
	return chosen, nil
}

func namesOf[T any](known []T, name func(T) string) []string {
	var names []string
	for _, k := range known {
		names = append(names, name(k))
	}
	return names
}

func shapeName(s zooShape) string { return s.name }

func presetName(p models.Preset) string { return p.Name }
