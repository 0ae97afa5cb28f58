package page

import (
	"encoding/json"
	"html/template"
	"slices"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/figure"
)

// view is a page in the form that the template takes.
type view struct {
	Title    string
	Subtitle string
	Style    template.CSS
	Script   template.JS
	Palette  palette
	Sections []sectionView
}

type sectionView struct {
	Heading    string       `json:"heading"`
	Paragraphs []string     `json:"paragraphs"`
	Figures    []figureView `json:"figures"`
	Passages   []Passage    `json:"passages,omitempty"`
}

// figureView is a figure: a table, or data for the script.
type figureView struct {
	Title string          `json:"title"`
	Kind  string          `json:"kind"`  // the script's name for it, "table" for a table
	Data  json.RawMessage `json:"data"`  // nil for a table
	Table *figure.Table   `json:"table"` // nil for others
}

func (p Page) view() (view, error) {
	if p.empty() {
		return view{}, errors.Errorf("page: %q: want at least one section with a text or a figure, got none", p.Title)
	}
	v := view{Title: figure.Visible(p.Title), Subtitle: figure.Visible(p.Subtitle), Style: style, Script: script(own), Palette: colours()}
	for _, s := range p.Sections {
		section, err := s.view()
		if err != nil {
			return view{}, err
		}
		v.Sections = append(v.Sections, section)
	}
	return v, nil
}

// empty tells whether there is nothing to see.
func (p Page) empty() bool {
	for _, s := range p.Sections {
		if len(s.Figures) > 0 || len(s.Passages) > 0 || strings.TrimSpace(s.Text) != "" {
			return false
		}
	}
	return true
}

// MarshalJSON writes what a Library draws: a heading, paragraphs and figures; each figure has its
// kind's data, or a table.
func (s Section) MarshalJSON() ([]byte, error) {
	v, err := s.view()
	if err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

func (s Section) view() (sectionView, error) {
	v := sectionView{Heading: figure.Visible(s.Heading), Paragraphs: paragraphs(s.Text)}
	for _, p := range s.Passages {
		v.Passages = append(v.Passages, Passage{figure.Visible(p.Heading), visibleLines(p.Text)})
	}
	for i, f := range s.Figures {
		charts, err := chartsOf(f)
		for _, chart := range charts {
			var shown figureView
			if shown, err = viewOf(chart); err != nil {
				break
			}
			v.Figures = append(v.Figures, shown)
		}
		if err != nil {
			return sectionView{}, errors.Wrapf(err, "page: section %q, figure %d", s.Heading, i)
		}
	}
	return v, nil
}

// chartsOf returns the charts of Panels that have points, each with the axes that it is drawn with;
// any other figure is returned as it is.
func chartsOf(f figure.Figure) (charts []figure.Figure, err error) {
	p, is := f.(figure.Panels)
	if !is {
		return []figure.Figure{f}, nil
	}
	for _, l := range p.Charts {
		if first := p.Charts[0]; !p.OwnAxes {
			l.XLabel, l.YLabel, l.LogX, l.LogY, l.XNames = first.XLabel, first.YLabel, first.LogX, first.LogY, first.XNames
		}
		if l.Title = strings.Trim(p.Title+": "+l.Title, ": "); l.Drawable() {
			charts = append(charts, l)
		}
	}
	return charts, figure.Check(f)
}

// viewOf checks a figure and gives it the names that the page shows.
func viewOf(f figure.Figure) (figureView, error) {
	if err := figure.Check(f); err != nil {
		return figureView{}, err
	}
	v := figureView{Title: figure.Visible(f.Heading())}
	switch f := f.(type) {
	case figure.Table:
		v.Kind, v.Table = "table", &f
		return v, nil
	case figure.Heatmap:
		v.Kind = "heatmap"
		f.Rows, f.Columns = names(f.Rows), names(f.Columns)
		f.Cells = slices.Clone(f.Cells)
		for i, row := range f.Cells {
			f.Cells[i] = names(row)
		}
		return v.with(f)
	case figure.Lines:
		v.Kind = "lines"
		f.Series, f.XNames = namedSeries(f.Series), names(f.XNames)
		return v.with(f)
	case figure.Bars:
		v.Kind = "bars"
		f = single(f)
		f.Labels = names(f.Labels)
		return v.with(f)
	case figure.Attention:
		v.Kind = "attention"
		f.Tokens, f.Heads = tokens(f.Tokens), names(f.Heads)
		return v.with(f)
	case figure.Wiring:
		v.Kind = "wiring"
		f.Nodes = namedNodes(f.Nodes)
		return v.with(f)
	}
	return figureView{}, errors.Errorf("page: no drawing for %T", f)
}

// single turns bars of several series into bars of one, each labelled with its series.
func single(b figure.Bars) figure.Bars {
	if len(b.Series) == 0 {
		return b
	}
	flat := figure.Bars{Title: b.Title, YLabel: b.YLabel}
	for i, label := range b.Labels {
		for _, s := range b.Series {
			flat.Add(label+": "+s.Name, s.Values[i])
		}
	}
	return flat
}

// with returns the view with the figure's data; encoding/json escapes <, >, & and line separators.
func (v figureView) with(f figure.Figure) (figureView, error) {
	data, err := json.Marshal(f)
	v.Data = data
	return v, errors.Wrapf(err, "page: %s %q", v.Kind, v.Title)
}
