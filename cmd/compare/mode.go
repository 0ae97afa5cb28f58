package main

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/residua-go/residua/internal/cli"
)

// mode is one of the things that compare does.
type mode struct {
	flag  string // "": asked for by naming folders
	asked bool
	takes []string // flags that it looks at beside its own
	run   func(context.Context, cli.Output) error
}

// name is what asks for a mode.
func (m mode) name() string {
	if m.flag == "" {
		return "run folders"
	}
	return "-" + m.flag
}

// modes lists them.
func (c *call) modes() []mode {
	return []mode{
		{"", len(c.folders) > 0, []string{"out", "svg", "x", "json"}, c.compareRuns},
		{"config", c.configs != "", []string{"budget", "lr", "seed", "set", "out", "svg", "x", "json"}, c.compare},
		{"coordcheck", c.coordinates, []string{"stream", "widths", "steps", "seeds", "lr", "seed", "set", "out", "svg", "json"}, c.checkCoordinates},
		{"lrsweep", c.sweep, []string{"stream", "widths", "steps", "lr", "seed", "set", "out", "svg", "json"}, c.sweepRates},
		{"cards", c.cards != "", []string{"tokens", "lr", "seed", "set", "out", "zoo", "plain"}, c.writeCards},
	}
}

// mode returns the one that the flags ask for, and refuses flags of another.
func (c *call) mode() (mode, error) {
	var asked []mode
	var names []string
	for _, m := range c.modes() {
		names = append(names, m.name())
		if m.asked {
			asked = append(asked, m)
		}
	}
	if len(asked) != 1 {
		return mode{}, cli.Usagef("want one of %s, got %d of them", strings.Join(names, ", "), len(asked))
	}
	m := asked[0]
	var foreign string
	c.given.Visit(func(f *flag.Flag) {
		if foreign == "" && f.Name != m.flag && !slices.Contains(m.takes, f.Name) {
			foreign = f.Name
		}
	})
	if foreign != "" {
		return mode{}, cli.Usagef("-%s: want nothing with %s, where it changes nothing", foreign, m.name())
	}
	return m, nil
}

// rateList reads -lr; none gives fallback.
func (c *call) rateList(fallback []float64) ([]float64, error) {
	if c.rates == "" {
		return fallback, nil
	}
	var rates []float64
	for _, text := range strings.Split(c.rates, ",") {
		rate, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if err != nil || !(rate > 0) || !number(rate).finite() {
			return nil, cli.Usagef("-lr: want rates above 0, as in 1e-3,3e-3, got %q", text)
		}
		if slices.Contains(rates, rate) {
			return nil, cli.Usagef("-lr: want each rate once, got %g twice", rate)
		}
		rates = append(rates, rate)
	}
	slices.Sort(rates)
	return rates, nil
}

// widthList reads -widths; none gives fallback.
func (c *call) widthList(fallback []int, least int) ([]int, error) {
	if c.widths == "" {
		return fallback, nil
	}
	var widths []int
	for _, text := range strings.Split(c.widths, ",") {
		width, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || width < 1 {
			return nil, cli.Usagef("-widths: want whole multiples of the base, as in 1,2,4, got %q", text)
		}
		if slices.Contains(widths, width) {
			return nil, cli.Usagef("-widths: want each width once, got %d twice", width)
		}
		widths = append(widths, width)
	}
	slices.Sort(widths)
	if len(widths) < least {
		return nil, cli.Usagef("-widths: want at least %d widths, got %d", least, len(widths))
	}
	return widths, nil
}

// stepCount reads -steps; 0 gives fallback.
func (c *call) stepCount(fallback int) (int, error) {
	if c.steps < 0 {
		return 0, cli.Usagef("-steps: want >= 1, got %d", c.steps)
	}
	if c.steps == 0 {
		return fallback, nil
	}
	return c.steps, nil
}

// times writes widths as column heads, "x2".
func times(width int) string { return fmt.Sprintf("x%d", width) }
