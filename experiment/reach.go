package experiment

import (
	"fmt"
	"math"

	"github.com/residua-go/residua/experiment/stats"
	"github.com/residua-go/residua/figure"
)

// Reach asks what each series needs to reach a loss: tokens, FLOPs, time and memory (Mak and Flanigan 2025, tables 3 and 4).
type Reach struct {
	Target      float64 `yaml:"target" min:"0" default:"the last loss of the first series, seed by seed" help:"validation loss to be reached, nats a token; 0: the default"`
	Evaluations int     `yaml:"evaluations" min:"2" max:"10000" help:"evaluations of a run, evenly spaced, between which the moment is interpolated"`
}

// Name is reach.
func (Reach) Name() string { return "reach" }

func (s Reach) evaluations() int { return s.Evaluations }

func (s Reach) check(*Config) error { return nil }

func (s Reach) points(*Config, string) []point { return []point{{}} }

// target is the loss that a run of a seed is to reach, NaN where it is not known.
func (s Reach) target(r *results, seed uint64) float64 {
	if s.Target > 0 {
		return s.Target
	}
	for _, c := range r.of(r.config.Series[0].Name) {
		for _, run := range c.runs {
			if run.Seed == seed {
				return float64(run.Loss)
			}
		}
	}
	return math.NaN()
}

// title says what is to be reached, and line names it in the picture; height is its mean over seeds.
func (s Reach) title(r *results) (title, line string, height float64) {
	if s.Target > 0 {
		return fmt.Sprintf("To the loss %.4f", s.Target), fmt.Sprintf("loss %.4g", s.Target), s.Target
	}
	first := r.config.Series[0].Name
	for _, c := range r.of(first) {
		height = stats.Mean(c.losses()).Mean
	}
	return fmt.Sprintf("To the last loss of %s with the same seed, %.4f on average", first, height), first + "'s last loss", height
}

func (s Reach) report(r *results) (tables []figure.Table, picture figure.Figure, notes []string) {
	title, line, height := s.title(r)
	needs := figure.Table{Title: title + ": means over the seeds that reach it, ± standard errors; in brackets the share of the first series'",
		Align: "lrrrrrr", Header: []string{"", "reached by", "parameters (M)", "tokens (M)", "TFLOP", "seconds", "planned memory (MB)"}}
	panels := figure.Panels{Across: 2, OwnAxes: true}
	chart := [2]figure.Lines{{XLabel: "million tokens"}, {XLabel: "TFLOP of training"}}
	var first []float64
	for _, series := range r.config.Series {
		for _, c := range r.of(series.Name) {
			reached := c.reach(func(seed uint64) float64 { return s.target(r, seed) })
			need := reached.needs(c.runs[0])
			if first == nil {
				first = need
			}
			row := []string{c.name(), fmt.Sprintf("%d of %d", len(reached.tokens), len(c.runs))}
			for i, values := range [][]float64{{need[0]}, reached.tokens, reached.flops, reached.seconds, {need[4]}} {
				row = append(row, estimate(values, "%.4g")+share(need[i], first[i]))
			}
			needs.Row(row...)
			tokens := c.curve()
			flops := figure.Series{Name: tokens.Name, Y: tokens.Y, Error: tokens.Error}
			for _, x := range tokens.X {
				flops.X = append(flops.X, x*float64(c.runs[0].FLOPs)/1e6)
			}
			chart[0].Series, chart[1].Series = append(chart[0].Series, tokens), append(chart[1].Series, flops)
		}
	}
	for i := range chart {
		chart[i].YLabel = "validation loss (nats a token)"
		chart[i].Series = append(chart[i].Series, level(line, chart[i].Series, height))
		panels.Charts = append(panels.Charts, chart[i])
	}
	notes = append(notes, "The moment lies between two evaluations, at the same share of the way in tokens as in loss. The rate's schedule ends with the run and not at that moment: a run as long as the moment would end lower.")
	return []figure.Table{needs, r.table("Runs to their end: means over seeds, ± standard errors")}, panels, notes
}

// moments are when runs reach a loss.
type moments struct{ tokens, flops, seconds []float64 } // millions, TFLOP, s

// reach is when the runs of a cell reach a loss, without those that never do.
func (c cell) reach(targetOf func(seed uint64) float64) moments {
	var m moments
	for _, r := range c.runs {
		before, target := Evaluation{}, targetOf(r.Seed)
		for _, e := range r.Evaluations {
			if float64(e.Loss) <= target {
				share := 1.0
				if before.Tokens > 0 {
					share = (float64(before.Loss) - target) / float64(before.Loss-e.Loss)
				}
				tokens := float64(before.Tokens) + share*float64(e.Tokens-before.Tokens)
				m.tokens, m.flops = append(m.tokens, tokens/1e6), append(m.flops, tokens*float64(r.FLOPs)/1e12)
				m.seconds = append(m.seconds, before.Seconds+share*(e.Seconds-before.Seconds))
				break
			}
			before = e
		}
	}
	return m
}

// needs are the means of parameters in millions, tokens, FLOPs, seconds and megabytes.
func (m moments) needs(r Record) []float64 {
	return []float64{float64(r.Parameters) / 1e6, stats.Mean(m.tokens).Mean, stats.Mean(m.flops).Mean, stats.Mean(m.seconds).Mean, float64(r.Memory) / 1e6}
}

// share writes a number as a share of another one, nothing for the same.
func share(of, all float64) string {
	if of == all || math.IsNaN(of/all) {
		return ""
	}
	return fmt.Sprintf(" (%.0f%%)", 100*of/all)
}

// curve is the mean over seeds of the losses on the way, with standard errors, against millions of tokens.
func (c cell) curve() figure.Series {
	s := figure.Series{Name: c.name(), Marks: true}
	for i, e := range c.runs[0].Evaluations {
		var losses []float64
		for _, r := range c.runs {
			if i < len(r.Evaluations) && r.Evaluations[i].Loss.Finite() {
				losses = append(losses, float64(r.Evaluations[i].Loss))
			}
		}
		m := stats.Mean(losses)
		s.X, s.Y, s.Error = append(s.X, float64(e.Tokens)/1e6), append(s.Y, m.Mean), append(s.Error, m.Error)
	}
	return s
}

// level is a line with a name at a height, over the range of other lines.
func level(name string, lines []figure.Series, y float64) figure.Series {
	low, high := math.Inf(1), math.Inf(-1)
	for _, l := range lines {
		for _, x := range l.X {
			low, high = min(low, x), max(high, x)
		}
	}
	return figure.Series{Name: name, X: []float64{low, high}, Y: []float64{y, y}}
}
