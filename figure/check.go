package figure

import "github.com/pkg/errors"

// Check says what is wrong with a figure's data: none, rows of different lengths, label counts
// that do not match, indices out of range. SVG and PNG check first.
func Check(f Figure) error {
	switch f.(type) {
	case Heatmap, Lines, Panels, Bars, Attention, Wiring, Table:
		return f.(interface{ check() error }).check()
	case nil:
		return errors.New("figure: want a figure, got nil")
	default:
		return errors.Errorf("figure: want Heatmap, Lines, Panels, Bars, Attention, Wiring or Table (not a pointer to one), got %T", f)
	}
}

func (h Heatmap) check() error {
	if len(h.Values) == 0 || len(h.Values[0]) == 0 {
		return errors.Errorf("figure: heatmap %q: want at least one row and column of values, got none", h.Title)
	}
	columns := len(h.Values[0])
	for i, row := range h.Values {
		if len(row) != columns {
			return errors.Errorf("figure: heatmap %q: row %d: want %d values, as many as in row 0, got %d", h.Title, i, columns, len(row))
		}
	}
	if h.Rows != nil && len(h.Rows) != len(h.Values) {
		return errors.Errorf("figure: heatmap %q: want %d row labels, one a row of values, got %d (nil: indices)", h.Title, len(h.Values), len(h.Rows))
	}
	if h.Columns != nil && len(h.Columns) != columns {
		return errors.Errorf("figure: heatmap %q: want %d column labels, one a column of values, got %d (nil: indices)", h.Title, columns, len(h.Columns))
	}
	if n := len(h.Limits); n > 0 && (n != 2 || !finite(h.Limits[0]) || !finite(h.Limits[1]) || h.Limits[0] >= h.Limits[1]) {
		return errors.Errorf("figure: heatmap %q: limits: want two numbers, the lower first, got %v (nil: fitted)", h.Title, h.Limits)
	}
	if h.Cells != nil && len(h.Cells) != len(h.Values) {
		return errors.Errorf("figure: heatmap %q: want %d rows of cells' texts, one a row of values, got %d (nil: none)", h.Title, len(h.Values), len(h.Cells))
	}
	for i, row := range h.Cells {
		if len(row) != columns {
			return errors.Errorf("figure: heatmap %q: row %d: want %d cells' texts, one a value, got %d", h.Title, i, columns, len(row))
		}
	}
	return nil
}

func (l Lines) check() error {
	points, err := l.points()
	if err == nil && points == 0 {
		err = errors.Errorf("figure: lines %q: want at least one point, got none", l.Title)
	}
	return err
}

// points counts the points of all series, which are in order.
func (l Lines) points() (points int, err error) {
	if len(l.Series) == 0 {
		return 0, errors.Errorf("figure: lines %q: want at least one series, got none", l.Title)
	}
	for i, s := range l.Series {
		if len(s.X) != len(s.Y) {
			return 0, errors.Errorf("figure: lines %q: series %d (%q): want as many y as x, %d, got %d", l.Title, i, s.Name, len(s.X), len(s.Y))
		}
		if s.Raw != nil && len(s.Raw) != len(s.Y) {
			return 0, errors.Errorf("figure: lines %q: series %d (%q): want %d raw values, one a point, got %d (nil: none)", l.Title, i, s.Name, len(s.Y), len(s.Raw))
		}
		if s.Error != nil && len(s.Error) != len(s.Y) {
			return 0, errors.Errorf("figure: lines %q: series %d (%q): want %d errors, one a point, got %d (nil: none)", l.Title, i, s.Name, len(s.Y), len(s.Error))
		}
		points += len(s.X)
	}
	return points, nil
}

func (p Panels) check() error {
	if len(p.Charts) == 0 {
		return errors.Errorf("figure: panels %q: want at least one chart, got none", p.Title)
	}
	for _, l := range p.Charts {
		if _, err := l.points(); err != nil { // one without points stays empty
			return err
		}
	}
	return nil
}

func (b Bars) check() error {
	if len(b.Series) > 0 && len(b.Values) > 0 {
		return errors.Errorf("figure: bars %q: want Values or Series, got both", b.Title)
	}
	if b.Errors != nil && len(b.Errors) != len(b.Values) {
		return errors.Errorf("figure: bars %q: want %d errors, one a value, got %d (nil: none)", b.Title, len(b.Values), len(b.Errors))
	}
	for _, s := range b.series() {
		if len(s.Values) == 0 {
			return errors.Errorf("figure: bars %q: want at least one value, got none", b.Title)
		}
		if len(b.Labels) != len(s.Values) {
			return errors.Errorf("figure: bars %q: want %d labels, one a value, got %d", b.Title, len(s.Values), len(b.Labels))
		}
	}
	return nil
}

func (a Attention) check() error {
	if len(a.Tokens) == 0 || len(a.Patterns) == 0 {
		return errors.Errorf("figure: attention %q: want at least one token and head, got %d tokens and %d patterns", a.Title, len(a.Tokens), len(a.Patterns))
	}
	if a.Heads != nil && len(a.Heads) != len(a.Patterns) {
		return errors.Errorf("figure: attention %q: want %d head names, one a pattern, got %d (nil: indices)", a.Title, len(a.Patterns), len(a.Heads))
	}
	for h, pattern := range a.Patterns {
		if len(pattern) != len(a.Tokens) {
			return errors.Errorf("figure: attention %q: head %d: want %d queries, one a token, got %d", a.Title, h, len(a.Tokens), len(pattern))
		}
		for q, keys := range pattern {
			if len(keys) != len(a.Tokens) {
				return errors.Errorf("figure: attention %q: head %d, query %d: want %d keys, one a token, got %d", a.Title, h, q, len(a.Tokens), len(keys))
			}
		}
	}
	return nil
}

func (w Wiring) check() error {
	if len(w.Nodes) == 0 {
		return errors.Errorf("figure: wiring %q: want at least one node, got none", w.Title)
	}
	for i, e := range w.Edges {
		if e.From < 0 || e.From >= len(w.Nodes) || e.To < 0 || e.To >= len(w.Nodes) {
			return errors.Errorf("figure: wiring %q: edge %d: want nodes 0 to %d, got %d to %d", w.Title, i, len(w.Nodes)-1, e.From, e.To)
		}
	}
	return nil
}

func (t Table) check() error {
	if t.columns() == 0 {
		return errors.Errorf("figure: table %q: want at least one column, got none", t.Title)
	}
	for i, row := range t.Rows {
		if len(t.Header) > 0 && len(row) != len(t.Header) {
			return errors.Errorf("figure: table %q: row %d: want %d cells, as many as in the header, got %d", t.Title, i, len(t.Header), len(row))
		}
	}
	for i, letter := range t.Align {
		if letter != 'l' && letter != 'r' {
			return errors.Errorf("figure: table %q: align: want letters l and r, got %q for column %d", t.Title, letter, i)
		}
	}
	return nil
}
