package main

import (
	"slices"
	"strings"

	"github.com/residua-go/residua/models"
)

// zooShape is a size at which residual designs are compared with a plain transformer.
type zooShape struct {
	name             string
	transformer, rmt string // workloads of that size
	steps            int    // a turn, unless -steps says otherwise
	largeSlots       bool   // is wide enough for 64 slots
}

func zooShapes() []zooShape {
	return []zooShape{
		{name: "byte", transformer: "byte-transformer", rmt: "byte-rmt", steps: 5},
		{name: "162m", transformer: "transformer-162m", rmt: "rmt-134m", steps: 1, largeSlots: true},
	}
}

// zooDesign is a residual design: what it changes in a transformer's config.
type zooDesign struct {
	name   string
	change func(c *models.Config)
}

// plainDesign is what all others are compared with, rmtDesign has sizes of its own.
const (
	plainDesign = "vector"
	rmtDesign   = "rmt"
	largeDesign = "vwn-8x64"
)

// zooDesigns lists the designs, the plain transformer first.
func zooDesigns() []zooDesign {
	on := func(stream string) func(*models.Config) { return func(c *models.Config) { c.Stream = stream } }
	hyper := func(dynamic bool) func(*models.Config) {
		return func(c *models.Config) { c.Stream, c.N, c.Dynamic = models.StreamHyper, 4, dynamic }
	}
	vwn := func(m, n int) func(*models.Config) {
		return func(c *models.Config) { c.Stream, c.M, c.N = models.StreamVWN, m, n }
	}
	return []zooDesign{
		{plainDesign, func(*models.Config) {}},
		{"hyper-static", hyper(false)},
		{"hyper-dynamic", hyper(true)},
		{"mhc", on(models.StreamMHC)},
		{"mhc-lite", on(models.StreamMHCLite)},
		{"vwn-2x3", vwn(2, 3)},
		{largeDesign, vwn(8, 64)},
		{"highway", on(models.StreamHighway)},
		{"hieragg", on(models.StreamHierAgg)},
		{"dwlstm", func(c *models.Config) { c.Stream, c.FF = models.StreamDWLSTM, 0 }},
		{"moe-8x2", func(c *models.Config) { c.Experts, c.TopK, c.FF = 8, 2, c.FF/2 }},
		{rmtDesign, nil},
	}
}

// at returns the workload of a design at a shape; no for a design that is not measured
// there.
func (d zooDesign) at(s zooShape) (w workload, ok bool) {
	base := s.transformer
	if d.name == rmtDesign {
		base = s.rmt
	}
	w, ok = find(workloads(), base)
	if !ok || d.name == largeDesign && !s.largeSlots {
		return workload{}, false
	}
	w.Name, w.Config.Preset = d.name, ""
	if d.change != nil {
		d.change(&w.Config)
	}
	w.Config = w.Config.Resolve()
	return w, true
}

// zooGroup is a shape's plain transformer and what is compared with it.
type zooGroup struct {
	shape  zooShape
	base   workload
	others []workload
}

// zooGroups returns the workloads that -zoo with -shapes, -models, -batch and -seq asks for.
func (c *call) zooGroups() ([]zooGroup, error) {
	shapes, err := chosenOf("-shapes", "shape", c.shapes, zooShapes(), shapeName)
	if err != nil {
		return nil, err
	}
	designs, err := chosenOf("-models", "residual design", c.models, zooDesigns(), designName)
	if err != nil {
		return nil, err
	}
	var groups []zooGroup
	for _, s := range shapes {
		g := zooGroup{shape: s}
		if c.given("steps") {
			g.shape.steps = c.steps
		}
		g.base, _ = zooDesigns()[0].at(s)
		g.base = c.resized(g.base)
		for _, d := range designs {
			if w, ok := d.at(s); ok && d.name != plainDesign {
				g.others = append(g.others, c.resized(w))
			}
		}
		groups = append(groups, g)
	}
	return groups, nil
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

func designName(d zooDesign) string { return d.name }
