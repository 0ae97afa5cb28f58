package experiment

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/analysis/page"
	"github.com/residua-go/residua/eval"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/models/mixing"
	"github.com/residua-go/residua/runconfig"
	"github.com/residua-go/residua/trainer"
)

// RunsPage returns the page of the command report: what runs have logged, with the curves of
// all runs in common charts. The first section begins with text, unless that is "".
func RunsPage(all []Run, text string) (page.Page, error) {
	p := page.Page{Title: "Training: " + strings.Join(folders(all), ", ")}
	if len(all) > 3 {
		p.Title = fmt.Sprintf("Training: %d runs", len(all))
	}
	differences, err := configTable(all)
	if err != nil {
		return p, err
	}
	runs := page.Section{Heading: "Runs", Text: text, Figures: []figure.Figure{RunsTable(all)}}
	if len(differences.Rows) > 0 {
		runs.Figures = append(runs.Figures, differences)
	}
	if news := newsTable(all); len(news.Rows) > 0 {
		runs.Figures = append(runs.Figures, news)
	}
	p.Sections = append(p.Sections, runs,
		page.Section{Heading: "Loss", Figures: losses(all)},
		page.Section{Heading: "Steps", Figures: stepCharts(all)})
	for _, r := range all {
		p.Sections = append(p.Sections, r.insideSections()...)
	}
	for _, r := range all {
		samples, err := trainer.ReadSamples(r.Folder)
		if err != nil {
			return p, err
		}
		if len(samples) > 0 {
			p.Sections = append(p.Sections, samplesSection(r.Folder, samples))
		}
	}
	return p, nil
}

// folders lists the folders of runs.
func folders(all []Run) (names []string) {
	for _, r := range all {
		names = append(names, r.Folder)
	}
	return names
}

// configTable shows the keys in which the runs' configs differ from the first's.
func configTable(all []Run) (figure.Table, error) {
	t := figure.NewTable("Config keys that differ", "l", append([]string{"key"}, folders(all)...)...)
	var keys []string
	values := map[string][]string{}
	for i, r := range all {
		changes, err := runconfig.Differences(all[0].run, r.run)
		if err != nil {
			return t, errors.Wrap(err, r.Folder)
		}
		for _, c := range changes {
			if values[c.Key] == nil {
				keys = append(keys, c.Key)
				values[c.Key] = slices.Repeat([]string{c.Before}, len(all))
			}
			values[c.Key][i] = c.After
		}
	}
	for _, key := range keys {
		t.Rows = append(t.Rows, append([]string{key}, values[key]...))
	}
	return t, nil
}

// newsTable lists the spikes and skipped steps of runs, those next to each other in one row.
func newsTable(all []Run) figure.Table {
	t := figure.NewTable("Spikes and steps without an update", "lrrrl", "run", "step", "loss", "gradient norm", "")
	for _, r := range all {
		rows := 0
		for i, m := range r.steps {
			what := map[bool]string{true: "not finite: no update", false: "spike"}[m.Skipped]
			goesOn := i > 0 && r.steps[i-1].Spike == m.Spike && r.steps[i-1].Skipped == m.Skipped
			if !m.Spike && !m.Skipped || goesOn {
				continue
			}
			if rows++; rows > newsMost {
				t.Row(r.Folder, "...", "", "", "and more")
				break
			}
			t.Row(r.Folder, m.Step, m.Loss.Text("%.4f"), m.GradNorm.Text("%.3g"), what)
		}
	}
	return t
}

const (
	newsMost   = 20   // rows of newsTable for each run
	curveMost  = 1000 // points of a curve on the page
	depthsMost = 8    // curves of a chart over depth
	farApart   = 30   // a chart becomes logarithmic if the largest values of two runs have at least this ratio
)

// losses charts training and validation loss over tokens, time and FLOPs.
func losses(all []Run) []figure.Figure {
	var charts []figure.Figure
	for _, over := range []struct {
		name string
		axis func([]Run) runsAxis
	}{{"tokens", tokensAxis}, {"time", timeAxis}, {"FLOPs", flopsAxis}} {
		a := over.axis(all)
		training := figure.Lines{Title: "Training loss over " + over.name, XLabel: a.name, YLabel: "loss (nats a token)"}
		validation := figure.Lines{Title: "Validation loss over " + over.name, XLabel: a.name, YLabel: "loss (nats a token)"}
		for i := range all {
			r := &all[i]
			training.Series = append(training.Series, r.series(a, func(m trainer.Metrics) float64 { return float64(m.Loss) }).Smoothed())
			validation.Series = append(validation.Series, r.scores(a, func(m trainer.Metrics) *eval.Number { return m.ValLoss }))
		}
		charts = append(charts, drawable(training, validation)...)
	}
	return charts
}

// stepCharts draw over steps the accuracy on a task, the learning rate, the norm of the gradient
// before clipping and the throughput.
func stepCharts(all []Run) []figure.Figure {
	accuracy := figure.Lines{Title: "Accuracy on held-out examples", XLabel: "step", YLabel: "share of the answers"}
	for i := range all {
		accuracy.Series = append(accuracy.Series, all[i].scores(stepsAxis, func(m trainer.Metrics) *eval.Number { return m.ValAccuracy }))
	}
	return drawable(accuracy,
		stepsChart(all, figure.Lines{Title: "Learning rate", YLabel: "rate"}, func(m trainer.Metrics) float64 { return m.LR }),
		stepsChart(all, figure.Lines{Title: "Gradient norm", YLabel: "global norm before clipping", LogY: true}, func(m trainer.Metrics) float64 {
			return float64(m.GradNorm)
		}),
		stepsChart(all, figure.Lines{Title: "Throughput", YLabel: "tokens a second"}, func(m trainer.Metrics) float64 { return m.TokensPS }))
}

// stepsChart adds to a chart a value of each step.
func stepsChart(all []Run, chart figure.Lines, value func(trainer.Metrics) float64) figure.Lines {
	chart.XLabel = "step"
	for i := range all {
		chart.Series = append(chart.Series, all[i].series(stepsAxis, value))
	}
	return chart
}

// insideSections shows what a run has logged about the inside of the model: norms and mixing
// coefficients.
func (r *Run) insideSections() (sections []page.Section) {
	var moves mixing.History
	for _, m := range r.steps {
		if len(m.Mixing) > 0 {
			moves = append(moves, mixing.Logged{Step: m.Step, Mixing: m.Mixing})
		}
	}
	if charts := r.normCharts(); len(charts) > 0 {
		sections = append(sections, page.Section{Heading: "Norms by depth: " + r.Folder, Text: normsText, Figures: charts})
	}
	if len(moves) > 0 {
		sections = append(sections, page.Section{Heading: "Mixing coefficients: " + r.Folder, Figures: moves.Figures()})
	}
	return sections
}

const normsText = "Measured every train.log_norms steps. The stream is measured on one row of validation text: " +
	"site 0 is the embedding, then come the attention and the feed-forward of each block in turn."

// normCharts draws the norms that a run has logged: at up to depthsMost depths over steps, and over
// depth at the last measurement.
func (r *Run) normCharts() []figure.Figure {
	var logged []trainer.Metrics
	for _, m := range r.steps {
		if m.Norms != nil {
			logged = append(logged, m)
		}
	}
	if len(logged) == 0 {
		return nil
	}
	var charts []figure.Figure
	for _, kind := range []struct {
		title, label, part string
		of                 func(*trainer.Norms) []eval.Number
	}{
		{"Stream", "root mean square", "site", func(n *trainer.Norms) []eval.Number { return n.Stream }},
		{"Weights", "norm", "block", func(n *trainer.Norms) []eval.Number { return n.Weights }},
		{"Gradients", "norm", "block", func(n *trainer.Norms) []eval.Number { return n.Gradients }},
	} {
		last := kind.of(logged[len(logged)-1].Norms)
		over := figure.Lines{Title: kind.title + " over steps", XLabel: "step", YLabel: kind.label}
		for shown := range min(depthsMost, len(last)) {
			at := shown * max(1, len(last)-1) / max(1, min(depthsMost, len(last))-1)
			s := figure.Series{Name: fmt.Sprintf("%s %d", kind.part, at)}
			for _, m := range logged {
				if values := kind.of(m.Norms); at < len(values) {
					s.Add(float64(m.Step), float64(values[at]))
				}
			}
			over.Series = append(over.Series, s)
		}
		depth := figure.Lines{Title: kind.title + " at the last measurement", XLabel: kind.part, YLabel: kind.label, Series: []figure.Series{{Marks: true}}}
		for at, v := range last {
			depth.Series[0].Add(float64(at), float64(v))
		}
		charts = append(charts, drawable(over, depth)...)
	}
	return charts
}

// samplesSection shows a run's samples, the newest first.
func samplesSection(folder string, samples []trainer.Sample) page.Section {
	s := page.Section{Heading: "Samples: " + folder}
	for _, sample := range slices.Backward(samples) {
		s.Passages = append(s.Passages, page.Passage{Heading: fmt.Sprintf("step %d, %s tokens", sample.Step, figure.Thousands(sample.Tokens)), Text: sample.Text})
	}
	return s
}

// drawable leaves out charts without a point. Where the largest values of the series lie far apart,
// as when one of several runs has diverged, the chart becomes logarithmic, so that all can be read.
func drawable(charts ...figure.Lines) (shown []figure.Figure) {
	for _, c := range charts {
		c.Series = slices.DeleteFunc(c.Series, func(s figure.Series) bool { return len(s.X) == 0 })
		low, high := math.Inf(1), 0.0
		for _, s := range c.Series {
			top := 0.0
			for _, y := range s.Y {
				if y > top { // false for NaN
					top = y
				}
			}
			low, high = min(low, top), max(high, top)
		}
		c.LogY = c.LogY || low > 0 && high > farApart*low
		if len(c.Series) > 0 && c.Drawable() {
			shown = append(shown, c)
		}
	}
	return shown
}

// series returns the curve of a value of each step: its means over parts of equal length, so that a
// long run does not make a large page. Values that are not finite are left out.
func (r *Run) series(a runsAxis, value func(trainer.Metrics) float64) figure.Series {
	s := figure.Series{Name: r.Folder}
	for part := range slices.Chunk(r.steps, (len(r.steps)+curveMost-1)/curveMost) {
		sum, n := 0.0, 0
		for _, m := range part {
			if v := value(m); v-v == 0 {
				sum, n = sum+v, n+1
			}
		}
		s.Add(a.of(r, part[len(part)-1]), sum/float64(n))
	}
	return s
}

// scores returns the curve of a value that only steps with a validation have.
func (r *Run) scores(a runsAxis, value func(trainer.Metrics) *eval.Number) figure.Series {
	s := figure.Series{Name: r.Folder, Marks: true}
	for _, m := range r.steps {
		if v := value(m); v != nil {
			s.Add(a.of(r, m), float64(*v))
		}
	}
	return s
}

// runsAxis is what a chart has along x.
type runsAxis struct {
	name string
	of   func(*Run, trainer.Metrics) float64
}

// stepsAxis counts updates.
var stepsAxis = runsAxis{"step", func(_ *Run, m trainer.Metrics) float64 { return float64(m.Step) }}

// tokensAxis counts the tokens seen.
func tokensAxis(all []Run) runsAxis {
	unit, name := figure.Count("tokens", float64(longest(all, func(r *Run, m trainer.Metrics) float64 { return float64(m.Tokens) })))
	return runsAxis{name, func(_ *Run, m trainer.Metrics) float64 { return float64(m.Tokens) / unit }}
}

// timeAxis counts the time since a run's start.
func timeAxis(all []Run) runsAxis {
	unit, name := 1.0, "seconds"
	switch s := longest(all, func(_ *Run, m trainer.Metrics) float64 { return m.Seconds }); {
	case s > 3*3600:
		unit, name = 3600, "hours"
	case s > 3*60:
		unit, name = 60, "minutes"
	}
	return runsAxis{name, func(_ *Run, m trainer.Metrics) float64 { return m.Seconds / unit }}
}

// flopsAxis counts the FLOPs of each run's own model.
func flopsAxis(all []Run) runsAxis {
	flops := func(r *Run, m trainer.Metrics) float64 { return float64(m.Tokens) * float64(r.FLOPs) }
	unit, name := 1e9, "GFLOP"
	for _, larger := range []string{"TFLOP", "PFLOP", "EFLOP", "ZFLOP"} {
		if longest(all, flops) >= 2e3*unit {
			unit, name = unit*1e3, larger
		}
	}
	return runsAxis{name, func(r *Run, m trainer.Metrics) float64 { return flops(r, m) / unit }}
}

// longest returns the largest value at the ends of runs.
func longest(all []Run, of func(*Run, trainer.Metrics) float64) float64 {
	most := 0.0
	for i := range all {
		r := &all[i]
		most = max(most, of(r, r.steps[len(r.steps)-1]))
	}
	return most
}
