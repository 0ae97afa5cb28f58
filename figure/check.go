package figure

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/pkg/errors"
)

// Check returns an error for invalid data: none at all, rows of different lengths, numbers of
// labels that do not match, indices out of range. SVG and PNG call it first.
func Check(f Figure) error {
	switch f := f.(type) {
	case Panels:
		for _, l := range f.Charts {
			if _, err := l.points(); err != nil { // lines without points are drawn empty
				return named(l, err)
			}
		}
		return named(f, f.check())
	case Heatmap, Lines, Bars, Attention, Wiring, Table:
		return named(f, f.(interface{ check() error }).check())
	case nil:
		return errors.New("figure: want a figure, got nil")
	default:
		return errors.Errorf("figure: want Heatmap, Lines, Panels, Bars, Attention, Wiring or Table (not a pointer to one), got %T", f)
	}
}

// named adds to an error the figure that it concerns.
func named(f Figure, err error) error {
	kind := strings.Replace(strings.ToLower(fmt.Sprintf("%T", f)), ".", ": ", 1) // "figure: heatmap"
	return errors.WithMessagef(err, "%s %q", kind, f.Heading())
}

// counted returns an error unless got is want. without says what no items at all would mean;
// "" if some are required.
func counted(got, want int, what, without string) error {
	switch {
	case got == want:
		return nil
	case without != "":
		without = " (nil: " + without + ")"
	}
	return errors.Errorf("want %d %s, got %d%s", want, what, got, without)
}

// optional is like counted, but accepts a nil list.
func optional[T any](list []T, want int, what, without string) error {
	if list == nil {
		return nil
	}
	return counted(len(list), want, what, without)
}

// even returns an error unless all rows have the length want.
func even[Row ~[]T, T any](rows []Row, want int, what string) error {
	for i, row := range rows {
		if err := counted(len(row), want, what, ""); err != nil {
			return errors.WithMessagef(err, "row %d", i)
		}
	}
	return nil
}

func (h Heatmap) check() error {
	if len(h.Values) == 0 || len(h.Values[0]) == 0 {
		return errors.New("want at least one row and column of values, got none")
	}
	rows, columns := len(h.Values), len(h.Values[0])
	if n := len(h.Limits); n > 0 && (n != 2 || !finite(h.Limits[0]) || !finite(h.Limits[1]) || h.Limits[0] >= h.Limits[1]) {
		return errors.Errorf("limits: want two numbers, the lower first, got %v (nil: fitted)", h.Limits)
	}
	return cmp.Or(
		even(h.Values, columns, "values, as many as in row 0"),
		even(h.Cells, columns, "cells' texts, one a value"),
		optional(h.Rows, rows, "row labels, one a row of values", "indices"),
		optional(h.Columns, columns, "column labels, one a column of values", "indices"),
		optional(h.Cells, rows, "rows of cells' texts, one a row of values", "none"))
}

func (l Lines) check() error {
	points, err := l.points()
	if err == nil && points == 0 {
		return errors.New("want at least one point, got none")
	}
	return err
}

// points counts the points of all series and checks them in order.
func (l Lines) points() (points int, err error) {
	if len(l.Series) == 0 {
		return 0, errors.New("want at least one series, got none")
	}
	for i, s := range l.Series {
		if len(s.X) != len(s.Y) {
			return 0, errors.Errorf("series %d (%q): want as many y as x, %d, got %d", i, s.Name, len(s.X), len(s.Y))
		}
		if err := cmp.Or(optional(s.Raw, len(s.Y), "raw values, one a point", "none"), optional(s.Error, len(s.Y), "errors, one a point", "none")); err != nil {
			return 0, errors.WithMessagef(err, "series %d (%q)", i, s.Name)
		}
		points += len(s.X)
	}
	return points, nil
}

func (p Panels) check() error {
	if len(p.Charts) == 0 {
		return errors.New("want at least one chart, got none")
	}
	return nil
}

func (b Bars) check() error {
	if len(b.Series) > 0 && len(b.Values) > 0 {
		return errors.New("want Values or Series, got both")
	}
	if err := optional(b.Errors, len(b.Values), "errors, one a value", "none"); err != nil {
		return err
	}
	for _, s := range b.series() {
		if len(s.Values) == 0 {
			return errors.New("want at least one value, got none")
		}
		if err := counted(len(b.Labels), len(s.Values), "labels, one a value", ""); err != nil {
			return err
		}
	}
	return nil
}

func (a Attention) check() error {
	if len(a.Tokens) == 0 || len(a.Patterns) == 0 {
		return errors.Errorf("want at least one token and head, got %d tokens and %d patterns", len(a.Tokens), len(a.Patterns))
	}
	for h, pattern := range a.Patterns {
		if err := cmp.Or(counted(len(pattern), len(a.Tokens), "queries, one a token", ""), even(pattern, len(a.Tokens), "keys, one a token")); err != nil {
			return errors.WithMessagef(err, "head %d", h)
		}
	}
	return optional(a.Heads, len(a.Patterns), "head names, one a pattern", "indices")
}

func (w Wiring) check() error {
	if len(w.Nodes) == 0 {
		return errors.New("want at least one node, got none")
	}
	for i, e := range w.Edges {
		if e.From < 0 || e.From >= len(w.Nodes) || e.To < 0 || e.To >= len(w.Nodes) {
			return errors.Errorf("edge %d: want nodes 0 to %d, got %d to %d", i, len(w.Nodes)-1, e.From, e.To)
		}
	}
	return nil
}

func (t Table) check() error {
	if t.columns() == 0 {
		return errors.New("want at least one column, got none")
	}
	if len(t.Header) > 0 {
		if err := even(t.Rows, len(t.Header), "cells, as many as in the header"); err != nil {
			return err
		}
	}
	for i, letter := range t.Align {
		if letter != 'l' && letter != 'r' {
			return errors.Errorf("align: want letters l and r, got %q for column %d", letter, i)
		}
	}
	return nil
}
