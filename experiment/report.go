package experiment

import (
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/residua-go/residua/experiment/stats"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/trainer"
)

// Report is what an experiment shows: it is made of the config and the log alone, and the same log makes the same bytes.
type Report struct {
	Name     string         `json:"experiment"`
	Runs     int            `json:"runs"`     // of the plan; where rates are looked for, at least
	Done     int            `json:"complete"` // in the log
	Tables   []figure.Table `json:"tables"`
	Notes    []string       `json:"notes,omitempty"`
	Picture  figure.Figure  `json:"-"`
	Intro    string         `json:"-"` // of the page, in Markdown
	Sections []Section      `json:"sections,omitempty"`
}

// Section is a part of a report's page.
type Section struct {
	Title   string        `json:"title"`
	Text    string        `json:"text"` // in Markdown
	Table   figure.Table  `json:"table"`
	File    string        `json:"-"` // of the picture, from the page's folder
	Picture figure.Figure `json:"-"` // nil: none
}

// results are the complete runs of an experiment, in the order of its config.
type results struct {
	plan  *Plan
	all   []result
	cells []result // those that have runs
}

// result is a cell with its runs.
type result struct {
	*cell
	state
}

// Report is made of the runs in the log.
func (p *Plan) Report() (*Report, error) {
	log, err := p.Log()
	if err != nil {
		return nil, err
	}
	return p.reportOf(log)
}

// reportOf is the report of a log.
func (p *Plan) reportOf(log []Record) (*Report, error) {
	r := &results{plan: p}
	runs, done := 0, 0
	for _, c := range p.cells {
		s, err := c.state(byName(log))
		if err != nil {
			return nil, err
		}
		r.all = append(r.all, result{c, s})
		if len(s.runs) > 0 {
			r.cells = append(r.cells, result{c, s})
		}
		ofCell, made := s.count(p.Config)
		runs, done = runs+ofCell, done+made
	}
	report := Report{}
	if done > 0 {
		report = p.Config.Kind.report(r)
		report.Notes = append(report.Notes, r.sideBySide()...)
		if t := r.ratesTable(); len(t.Rows) > 0 {
			report.Tables = append(report.Tables, t)
		}
	}
	report.Name, report.Runs, report.Done = p.Config.Name, runs, done
	if done < runs {
		report.Notes = append([]string{fmt.Sprintf("%d of %d runs are complete.", done, runs)}, report.Notes...)
	}
	return &report, nil
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

// Pictures are those of the report's page, each with its file: the report's own is called as the page.
func (r *Report) Pictures(page string) []Section {
	all := []Section{{File: pictureOf(page), Picture: r.Picture}}
	for _, s := range r.Sections {
		all = append(all, Section{File: filepath.Join(filepath.Dir(page), filepath.FromSlash(s.File)), Picture: s.Picture})
	}
	return slices.DeleteFunc(all, func(s Section) bool { return s.Picture == nil })
}

// pictureOf is the file of the report's own picture.
func pictureOf(page string) string { return strings.TrimSuffix(page, filepath.Ext(page)) + ".svg" }

// Markdown is the report as a page, a file. log is the file that it is made of, by a command.
func (r *Report) Markdown(log, page, command string) string {
	picture := filepath.Base(pictureOf(page))
	text := new(strings.Builder)
	fmt.Fprintf(text, "# %s\n\nMade of %s by `%s`; do not edit.\n\n%s", r.Name, log, command, r.Intro)
	for _, t := range r.Tables {
		text.WriteString(r.linked(t.Markdown()) + "\n")
	}
	for _, n := range r.Notes {
		text.WriteString(n + "\n\n")
	}
	if r.Picture != nil {
		fmt.Fprintf(text, "![%s](%s)\n", r.Name, picture)
	}
	for _, s := range r.Sections {
		fmt.Fprintf(text, "## %s\n\n%s", s.Title, s.Text)
		if len(s.Table.Rows) > 0 {
			text.WriteString(s.Table.Markdown() + "\n")
		}
		if s.Picture != nil {
			fmt.Fprintf(text, "![%s](%s)\n\n", s.Title, s.File)
		}
	}
	return text.String()
}

// linked links the rows of a table that begin with a section's title to it.
func (r *Report) linked(table string) string {
	for _, s := range r.Sections {
		anchor := notInAnchors.ReplaceAllString(strings.ReplaceAll(strings.ToLower(s.Title), " ", "-"), "")
		table = strings.Replace(table, "\n| "+s.Title+" |", "\n| ["+s.Title+"](#"+anchor+") |", 1)
	}
	return table
}

// notInAnchors is what the name that Markdown pages give a heading has not.
var notInAnchors = regexp.MustCompile(`[^a-z0-9-]`)

// ratesTable has a row for each cell that looks for its rate.
func (r *results) ratesTable() figure.Table {
	t := figure.Table{Title: "Rates: the best one, chosen by the first seed, and the losses of all", Align: "lrll", Header: []string{"", "best rate", "between two worse ones", "losses (nats)"}}
	for _, c := range r.cells {
		if len(c.tried) == 0 {
			continue
		}
		inside := "yes"
		switch {
		case len(c.todo) > 0 && !c.inside:
			inside = "not yet"
		case !c.inside:
			inside = "no: at the end of what is tried"
		}
		t.Row(c.name(), fmt.Sprintf("%g", c.runs[0].Rate), inside, c.rates(func(r Record) trainer.Number { return r.Loss }, "%.3f"))
	}
	return t
}

// rates lists a score of each rate with the first seed, and of the best rate, in a format of its own, with the others.
func (c result) rates(of func(Record) trainer.Number, best string) string {
	var texts []string
	for _, r := range c.tried {
		text := scores([]Record{r}, of, "%.3f")
		if r.Run == c.runs[0].Run && r.Loss.Finite() {
			text = scores(c.runs, of, best)
		}
		texts = append(texts, fmt.Sprintf("%s at %g", text, r.Rate))
	}
	return strings.Join(texts, ", ")
}

// scores lists those of runs.
func scores(runs []Record, of func(Record) trainer.Number, format string) string {
	var texts []string
	for _, r := range runs {
		text := of(r).Text(format)
		if !of(r).Finite() {
			text = "diverged"
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, " and ")
}

// sideBySide says where seconds were measured next to other runs.
func (r *results) sideBySide() []string {
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
	return []string{fmt.Sprintf("Seconds are those of training steps, measured with %d runs side by side.", jobs)}
}

// of are the cells of a series.
func (r *results) of(series string) []result {
	var all []result
	for _, c := range r.cells {
		if c.series == series {
			all = append(all, c)
		}
	}
	return all
}

// name is that of a cell in tables.
func (c result) name() string {
	if c.point.label == "" {
		return c.series
	}
	return c.series + " " + c.point.label
}

// losses are those of the runs, without those that diverged.
func (c result) losses() []float64 {
	return c.values(func(r Record) float64 { return float64(r.Loss) })
}

// values are a quantity of each run that did not diverge.
func (c result) values(of func(Record) float64) []float64 {
	var all []float64
	for _, r := range c.runs {
		if v := of(r); r.Loss.Finite() && !math.IsNaN(v) {
			all = append(all, v)
		}
	}
	return all
}

// mean is that of a quantity over the runs.
func (c result) mean(of func(Record) float64) float64 { return stats.Mean(c.values(of)).Mean }

// diverged is how many runs did.
func (c result) diverged() int { return len(c.runs) - len(c.losses()) }

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

func (c result) sides() []string {
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
func (r *results) line(series string, x func(result) float64) figure.Series {
	s := figure.Series{Name: series, Points: true}
	for _, c := range r.of(series) {
		e := stats.Mean(c.losses())
		s.X, s.Y, s.Error = append(s.X, x(c)), append(s.Y, e.Mean), append(s.Error, e.Error)
	}
	return s
}
