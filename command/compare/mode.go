package compare

import (
	"cmp"
	"context"
	"flag"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/residua-go/residua/internal/cli"
)

// mode is one of the things that compare does.
type mode struct {
	flag  string // "": asked for by naming folders
	asked bool
	takes []string // the other flags that it uses
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
		{"config", c.configs != "", []string{"budget", "lr", "seed", "set", "out", "svg", "x", "json"}, c.compareConfigs},
		{"coordcheck", c.coordinates, []string{"stream", "widths", "steps", "seeds", "lr", "seed", "set", "out", "svg", "json"}, c.checkCoordinates},
		{"cards", c.cards != "", []string{"tokens", "only", "stop-after", "seed", "seeds", "set", "out", "zoo", "baseline"}, c.writeCards},
	}
}

// mode returns the one that the flags ask for, and refuses flags that it would ignore.
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
		return mode{}, cli.Usagef("-%s: want it left out with %s, which does not use it", foreign, m.name())
	}
	return m, nil
}

// rateList reads -lr, nil where it is not given.
func (c *call) rateList() ([]float64, error) {
	return ascending("-lr", c.rates, "rates above 0, as in 1e-3,3e-3", func(text string) (float64, bool) {
		rate, err := strconv.ParseFloat(text, 64)
		return rate, err == nil && rate > 0 && !math.IsInf(rate, 0)
	})
}

// widthList reads -widths, nil where it is not given.
func (c *call) widthList() ([]int, error) {
	return ascending("-widths", c.widths, "whole multiples of the base, as in 1,2,4", func(text string) (int, bool) {
		width, err := strconv.Atoi(text)
		return width, err == nil && width >= 1
	})
}

// ascending reads a flag's comma-separated values, each given once, and sorts them.
func ascending[T cmp.Ordered](flag, list, wanted string, parse func(string) (T, bool)) ([]T, error) {
	if list == "" {
		return nil, nil
	}
	var values []T
	for _, text := range strings.Split(list, ",") {
		value, ok := parse(strings.TrimSpace(text))
		if !ok {
			return nil, cli.Usagef("%s: want %s, got %q", flag, wanted, text)
		}
		if slices.Contains(values, value) {
			return nil, cli.Usagef("%s: want each value once, got %v twice", flag, value)
		}
		values = append(values, value)
	}
	slices.Sort(values)
	return values, nil
}
