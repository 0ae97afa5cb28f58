package experiment

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/residua-go/residua/experiment/stats"
	"github.com/residua-go/residua/figure"
)

// Report is what an experiment shows: it is made of the config and the log alone, and the same log makes the same bytes.
type Report struct {
	Name    string         `json:"experiment"`
	Runs    int            `json:"runs"`     // of the plan
	Done    int            `json:"complete"` // in the log
	Tables  []figure.Table `json:"tables"`
	Notes   []string       `json:"notes,omitempty"`
	Picture figure.Figure  `json:"-"`
}

// results are the complete runs of an experiment, in the order of its config.
type results struct {
	config *Config
	cells  []cell
}

// cell is the runs of one point of a series.
type cell struct {
	series string
	point  point
	runs   []Record // by seed
}

// Report is made of the runs in a log.
func (c *Config) Report(log []Record) *Report {
	r := &results{config: c}
	report := &Report{Name: c.Name}
	for _, s := range c.Series {
		for _, p := range c.Kind.points(c, s.Name) {
			at := cell{series: s.Name, point: p}
			for seed := range uint64(c.Seeds) {
				report.Runs++
				i := slices.IndexFunc(log, func(r Record) bool { return r.Series == s.Name && r.Point == p.label && r.Seed == seed })
				if i >= 0 {
					at.runs = append(at.runs, log[i])
				}
			}
			report.Done += len(at.runs)
			if len(at.runs) > 0 {
				r.cells = append(r.cells, at)
			}
		}
	}
	if report.Done > 0 {
		report.Tables, report.Picture, report.Notes = c.Kind.report(r)
		report.Notes = append(report.Notes, r.sideBySide()...)
	}
	if report.Done < report.Runs {
		report.Notes = append([]string{fmt.Sprintf("%d of %d runs are complete.", report.Done, report.Runs)}, report.Notes...)
	}
	return report
}

// Text is the report on a terminal.
func (r *Report) Text() string {
	var parts []string
	for _, t := range r.Tables {
		parts = append(parts, t.Text())
	}
	if len(r.Notes) > 0 {
		parts = append(parts, strings.Join(r.Notes, "\n")+"\n")
	}
	return strings.Join(parts, "\n")
}

// Markdown is the report as a page that shows a picture.
func (r *Report) Markdown(picture, command string) string {
	var page strings.Builder
	fmt.Fprintf(&page, "# %s\n\nMade of %s by `%s`; do not edit.\n\n", r.Name, logFile, command)
	for _, t := range r.Tables {
		page.WriteString(t.Markdown() + "\n")
	}
	for _, n := range r.Notes {
		page.WriteString(n + "\n\n")
	}
	if r.Picture != nil {
		fmt.Fprintf(&page, "![%s](%s)\n", r.Name, picture)
	}
	return page.String()
}

// sideBySide says where seconds were measured next to other runs.
func (r *results) sideBySide() []string {
	jobs := 0
	for _, c := range r.cells {
		for _, run := range c.runs {
			jobs = max(jobs, run.Jobs)
		}
	}
	if jobs < 2 {
		return nil
	}
	return []string{fmt.Sprintf("Seconds are those of training steps, measured with %d runs side by side.", jobs)}
}

// of are the cells of a series.
func (r *results) of(series string) []cell {
	var all []cell
	for _, c := range r.cells {
		if c.series == series {
			all = append(all, c)
		}
	}
	return all
}

// name is that of a cell in tables.
func (c cell) name() string {
	if c.point.label == "" {
		return c.series
	}
	return c.series + " " + c.point.label
}

// losses are those of the runs, without those that diverged.
func (c cell) losses() []float64 {
	return c.values(func(r Record) float64 { return float64(r.Loss) })
}

// values are a quantity of each run that did not diverge.
func (c cell) values(of func(Record) float64) []float64 {
	var all []float64
	for _, r := range c.runs {
		if v := of(r); r.Loss.Finite() && !math.IsNaN(v) {
			all = append(all, v)
		}
	}
	return all
}

// mean is that of a quantity over the runs.
func (c cell) mean(of func(Record) float64) float64 { return stats.Mean(c.values(of)).Mean }

// diverged is how many runs did.
func (c cell) diverged() int { return len(c.runs) - len(c.losses()) }

// Cells of tables.

// estimate writes a mean over seeds with its standard error, where it has one.
func estimate(x []float64, format string) string {
	e := stats.Mean(x)
	switch {
	case len(x) == 0:
		return "-"
	case math.IsNaN(e.Error):
		return fmt.Sprintf(format, e.Mean)
	}
	return fmt.Sprintf(format+" ± "+strings.TrimPrefix(strings.ReplaceAll(format, "+", ""), " "), e.Mean, e.Error)
}

// number writes a number, "-" for one that is not known.
func number(v float64, format string) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "-"
	}
	return fmt.Sprintf(format, v)
}

// interval writes the ends of one.
func interval(low, high float64, format string) string {
	return number(low, format) + " to " + number(high, format)
}

// sides are the columns that most tables begin with, and those of a cell.
func sidesHeader() []string {
	return []string{"", "parameters", "without tables", "stream entries", "tokens", "TFLOP", "seconds", "seeds", "loss (nats)", "bits per byte"}
}

const sidesAlign = "lrrrrrrrrr"

func (c cell) sides() []string {
	r := c.runs[0]
	seeds := fmt.Sprint(len(c.runs))
	if n := c.diverged(); n > 0 {
		seeds += fmt.Sprintf(", %d diverged", n)
	}
	return []string{c.name(), figure.Thousands(int64(r.Parameters)), figure.Thousands(int64(r.NonEmbedding())), figure.Thousands(int64(r.StreamSize)), figure.Thousands(r.Tokens),
		fmt.Sprintf("%.4g", r.TotalFLOPs()/1e12), number(c.mean(func(r Record) float64 { return r.Seconds }), "%.0f"), seeds,
		estimate(c.losses(), "%.4f"), estimate(c.values(func(r Record) float64 { return float64(r.Bits) }), "%.4f")}
}

// table has a row for each cell.
func (r *results) table(title string) figure.Table {
	t := figure.Table{Title: title, Align: sidesAlign, Header: sidesHeader()}
	for _, c := range r.cells {
		t.Row(c.sides()...)
	}
	return t
}

// line is the mean of the losses of a series' points over a quantity, with standard errors.
func (r *results) line(series string, x func(cell) float64) figure.Series {
	s := figure.Series{Name: series, Points: true}
	for _, c := range r.of(series) {
		e := stats.Mean(c.losses())
		s.X, s.Y, s.Error = append(s.X, x(c)), append(s.Y, e.Mean), append(s.Error, e.Error)
	}
	return s
}
