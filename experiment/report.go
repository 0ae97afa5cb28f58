package experiment

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/internal/stats"
)

// Report shows the results of an experiment. It depends only on the config and the log, and the
// same log gives the same bytes.
type Report struct {
	Name    string         `json:"experiment"`
	Runs    int            `json:"runs"`     // number of runs in the plan; if rates are searched, the smallest possible number
	Done    int            `json:"complete"` // number of runs in the log
	Tables  []figure.Table `json:"tables"`
	Notes   []string       `json:"notes,omitempty"`
	Picture figure.Figure  `json:"-"`
	Cards   string         `json:"-"` // further text for the page, in Markdown
}

// Results holds the completed runs of an experiment, in the order of its config.
type Results struct {
	plan  *Plan
	all   []Result
	cells []Result // cells that have runs
}

// Result is a cell with its completed runs.
type Result struct {
	*cell
	state
}

// Cells returns the points of all series that have completed runs, in the order of the config.
func (r *Results) Cells() []Result { return r.cells }

// Runs returns a cell's completed runs, one per seed; if rates are searched, at the best rate.
func (c Result) Runs() []Record { return c.runs }

// Report makes the report from the runs in the log.
func (p *Plan) Report() (*Report, error) {
	if _, err := p.readLog(); err != nil {
		return nil, err
	}
	return p.reportOfLog()
}

// results returns the completed runs in the log, and how many of the planned runs these are: done
// of runs.
func (p *Plan) results() (r *Results, runs, done int, err error) {
	r = &Results{plan: p}
	for _, c := range p.cells {
		s, err := c.state()
		if err != nil {
			return nil, 0, 0, err
		}
		r.all = append(r.all, Result{c, s})
		if len(s.runs) > 0 {
			r.cells = append(r.cells, Result{c, s})
		}
		ofCell, made := s.count(c)
		runs, done = runs+ofCell, done+made
	}
	return r, runs, done, nil
}

func (p *Plan) reportOfLog() (*Report, error) {
	r, runs, done, err := p.results()
	if err != nil {
		return nil, err
	}
	report := Report{}
	if len(r.cells) > 0 { // not only runs that look for rates
		report = p.Config.Kind.Report(r)
		report.Notes = append(report.Notes, r.sideBySide()...)
		report.Tables = append(report.Tables, r.contrastsTable())
		if p.Config.Rates == bracket {
			report.Tables = append(report.Tables, r.ratesTable())
		}
	}
	report.Tables = slices.DeleteFunc(report.Tables, func(t figure.Table) bool { return len(t.Rows) == 0 })
	report.Name, report.Runs, report.Done = p.Config.Name, runs, done
	if done < runs {
		report.Notes = append([]string{fmt.Sprintf("%d of %d runs are complete.", done, runs)}, report.Notes...)
	}
	return &report, nil
}

// Text returns the report for a terminal.
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

// Markdown returns the report as a page with a picture. It mentions log, the file that the report
// is made from, and the command that makes it.
func (r *Report) Markdown(log, picture, command string) string {
	text := fmt.Sprintf("# %s\n\nMade of %s by `%s`; do not edit.\n\n", r.Name, log, command)
	for _, t := range r.Tables {
		text += t.Markdown() + "\n"
	}
	for _, n := range r.Notes {
		text += n + "\n\n"
	}
	return text + fmt.Sprintf("![%s](%s)\n", r.Name, picture) + r.Cards
}

// ratesTable shows the rate found for each cell, and the losses at the rates tried.
func (r *Results) ratesTable() figure.Table {
	t := figure.NewTable("Learning rates: the best one by seed 0, and seed 0's loss at each rate that was tried", "lrll", "", "best rate",
		"between two worse ones", "losses (nats)")
	for _, c := range r.all {
		if len(c.tried) == 0 {
			continue
		}
		inside, losses := "yes", []string(nil)
		switch {
		case len(c.todo) > 0 && !c.inside:
			inside = "not yet"
		case !c.inside:
			inside = "no: at the end of what is tried"
		}
		for _, r := range c.tried {
			losses = append(losses, fmt.Sprintf("%s at %g", r.Loss.Text("%.3f"), r.Rate))
		}
		t.Row(c.Name(), c.bestText(), inside, strings.Join(losses, ", "))
	}
	return t
}

// bestText formats the best rate so far; "-" if there is none, as where all runs diverged.
func (s state) bestText() string {
	if s.best == 0 {
		return "-"
	}
	return fmt.Sprintf("%g", s.best)
}

// sideBySide says which seconds were measured while other runs were training.
func (r *Results) sideBySide() []string {
	jobs := 0
	for _, c := range r.cells {
		for _, run := range c.runs {
			if run.Seconds > 0 {
				jobs = max(jobs, run.Jobs)
			}
		}
	}
	if jobs < 2 {
		return nil
	}
	return []string{fmt.Sprintf("Seconds count training steps alone, measured with %d runs side by side.", jobs)}
}

// of returns the cells of a series.
func (r *Results) of(series string) []Result {
	var all []Result
	for _, c := range r.cells {
		if c.series == series {
			all = append(all, c)
		}
	}
	return all
}

// Name returns a cell's name in tables: the series and, if it has several points, the point.
func (c *cell) Name() string {
	if c.point.Label == "" {
		return c.series
	}
	return c.series + " " + c.point.Label
}

// losses lists the final losses of the runs, except diverged ones; bits lists them in bits per
// byte.
func (c Result) losses() []float64 {
	return c.values(func(r Record) float64 { return float64(r.Loss) })
}

// loss returns the mean of the final losses, NaN if there is none.
func (c Result) loss() float64 { return stats.Mean(c.losses()).Mean }

func (c Result) bits() []float64 {
	return c.values(func(r Record) float64 { return float64(r.Bits) })
}

// values lists a quantity for each run that did not diverge.
func (c Result) values(of func(Record) float64) []float64 {
	var all []float64
	for _, r := range c.runs {
		if v := of(r); r.Loss.Finite() && !math.IsNaN(v) {
			all = append(all, v)
		}
	}
	return all
}

// mean returns the mean of a quantity over the runs.
func (c Result) mean(of func(Record) float64) float64 { return stats.Mean(c.values(of)).Mean }

// Cells of tables.

// estimate formats the mean of values over seeds.
func estimate(x []float64, format string) string { return plusMinus(stats.Mean(x), format) }

// plusMinus formats a mean with its standard error, if it has one.
func plusMinus(e stats.Estimate, format string) string {
	switch {
	case math.IsNaN(e.Mean):
		return "-"
	case math.IsNaN(e.Error):
		return fmt.Sprintf(format, e.Mean)
	}
	return fmt.Sprintf(format+" ± "+strings.TrimPrefix(strings.ReplaceAll(format, "+", ""), " "), e.Mean, e.Error)
}

// number formats a number; an unknown one gives "-".
func number(v float64, format string) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "-"
	}
	return fmt.Sprintf(format, v)
}

// interval formats the ends of an interval.
func interval(low, high float64, format string) string {
	return number(low, format) + " to " + number(high, format)
}

// Table has a row for each cell: sizes, cost, losses with standard errors.
func (r *Results) Table(title string) figure.Table {
	t := figure.NewTable(title, "lrrrrrrrrr", "", "parameters", "without tables", "stream entries", "tokens", "TFLOP", "seconds", "seeds", "loss (nats)",
		"bits per byte")
	for _, c := range r.cells {
		first, seeds := c.runs[0], fmt.Sprint(len(c.runs))
		if n := len(c.runs) - len(c.losses()); n > 0 {
			seeds += fmt.Sprintf(", %d diverged", n)
		}
		t.Row(c.Name(), figure.Thousands(int64(first.Parameters)), figure.Thousands(int64(first.nonEmbedding())), figure.Thousands(int64(first.StreamSize)),
			figure.Thousands(first.Tokens),
			first.TotalFLOPs()/1e12, number(c.mean(func(r Record) float64 { return r.Seconds }), "%.0f"), seeds,
			estimate(c.losses(), "%.4f"), estimate(c.bits(), "%.4f"))
	}
	return t
}

// line plots the mean loss of a series' points over a quantity, with standard errors.
func (r *Results) line(series string, x func(Result) float64) figure.Series {
	s := figure.Series{Name: series, Points: true}
	for _, c := range r.of(series) {
		e := stats.Mean(c.losses())
		s.Add(x(c), e.Mean, e.Error)
	}
	return s
}
