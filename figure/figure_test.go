package figure

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestCheck: for bad data, Check, SVG and PNG return the same one-line error, which names the
// figure.
func TestCheck(t *testing.T) {
	one := [][]float64{{1}}
	for want, f := range map[string]Figure{
		"figure: want a figure, got nil":                                                                                 nil,
		`figure: heatmap "h": want at least one row and column of values, got none`:                                      Heatmap{Title: "h"},
		`figure: heatmap "h": row 1: want 1 values, as many as in row 0, got 2`:                                          Heatmap{Title: "h", Values: [][]float64{{1}, {1, 2}}},
		`figure: heatmap "h": want 1 row labels, one a row of values, got 2 (nil: indices)`:                              Heatmap{Title: "h", Values: one, Rows: []string{"a", "b"}},
		`figure: heatmap "h": want 1 column labels, one a column of values, got 0 (nil: indices)`:                        Heatmap{Title: "h", Values: one, Columns: []string{}},
		`figure: heatmap "h": limits: want two numbers, the lower first, got [1 0] (nil: fitted)`:                        Heatmap{Title: "h", Values: one, Limits: []float64{1, 0}},
		`figure: heatmap "h": limits: want two numbers, the lower first, got [1] (nil: fitted)`:                          Heatmap{Title: "h", Values: one, Limits: []float64{1}},
		`figure: heatmap "h": want 1 rows of cells' texts, one a row of values, got 0 (nil: none)`:                       Heatmap{Title: "h", Values: one, Cells: [][]string{}},
		`figure: heatmap "h": row 0: want 1 cells' texts, one a value, got 2`:                                            Heatmap{Title: "h", Values: one, Cells: [][]string{{"a", "b"}}},
		`figure: lines "l": want at least one series, got none`:                                                          Lines{Title: "l"},
		`figure: lines "l": series 0 ("s"): want as many y as x, 1, got 0`:                                               Lines{Title: "l", Series: []Series{{Name: "s", X: []float64{1}}}},
		`figure: lines "l": series 0 ("s"): want 1 errors, one a point, got 2 (nil: none)`:                               Lines{Title: "l", Series: []Series{{Name: "s", X: one[0], Y: one[0], Error: []float64{1, 2}}}},
		`figure: panels "p": want at least one chart, got none`:                                                          Panels{Title: "p"},
		`figure: lines "m": want at least one series, got none`:                                                          Panels{Title: "p", Charts: []Lines{{Title: "m"}}},
		`figure: bars "b": want 1 labels, one a value, got 0`:                                                            Bars{Title: "b", Values: one[0]},
		`figure: bars "b": want at least one value, got none`:                                                            Bars{Title: "b"},
		`figure: bars "b": want 1 errors, one a value, got 2 (nil: none)`:                                                Bars{Title: "b", Labels: []string{"l"}, Values: one[0], Errors: []float64{1, 2}},
		`figure: bars "b": want Values or Series, got both`:                                                              Bars{Title: "b", Labels: []string{"l"}, Values: one[0], Series: []BarSeries{{Values: one[0]}}},
		`figure: bars "b": want 2 labels, one a value, got 1`:                                                            Bars{Title: "b", Labels: []string{"l"}, Series: []BarSeries{{Values: one[0]}, {Values: []float64{1, 2}}}},
		`figure: attention "a": want at least one token and head, got 0 tokens and 0 patterns`:                           Attention{Title: "a"},
		`figure: attention "a": head 0: want 2 queries, one a token, got 1`:                                              Attention{Title: "a", Tokens: []string{"x", "y"}, Patterns: []Matrix{one}},
		`figure: attention "a": head 0: row 0: want 1 keys, one a token, got 2`:                                          Attention{Title: "a", Tokens: []string{"x"}, Patterns: []Matrix{{{1, 2}}}},
		`figure: wiring "": want at least one node, got none`:                                                            Wiring{},
		`figure: wiring "w": edge 0: want nodes 0 to 0, got 0 to 1`:                                                      Wiring{Title: "w", Nodes: []WiringNode{{"a", 0}}, Edges: []WiringEdge{{From: 0, To: 1, Weight: 1}}},
		`figure: want Heatmap, Lines, Panels, Bars, Attention, Wiring or Table (not a pointer to one), got *figure.Bars`: &Bars{},
	} {
		assert.EqualError(t, Check(f), want)
		_, err := SVG(f)
		assert.EqualError(t, err, want)
		_, err = PNG(f)
		assert.EqualError(t, err, want)
	}
	assert.EqualError(t, Check(Table{Title: "t", Header: []string{"a"}, Rows: [][]string{{"1", "2"}}}), `figure: table "t": row 0: want 1 cells, as many as in the header, got 2`)
	_, err := SVG(Table{Header: []string{"a"}})
	assert.Error(t, err, "a table is no picture")
}

// TestDrawingIsDeterministic: the same data gives the same bytes.
func TestDrawingIsDeterministic(t *testing.T) {
	again := gallery()
	for name, f := range gallery() {
		first, err := SVG(f)
		require.NoError(t, err)
		second, err := SVG(again[name])
		require.NoError(t, err)
		require.True(t, bytes.Equal(first, second), name)
	}
}

// TestJSON: every figure is read back from JSON as it was, and values that are not numbers are
// null.
func TestJSON(t *testing.T) {
	in := Heatmap{Title: "h", Columns: []string{"a", "b"}, Values: [][]float64{{1, math.NaN()}}, Diverging: true}
	text, err := json.Marshal(in)
	require.NoError(t, err)
	assert.Contains(t, string(text), `[[1,null]]`)
	var out Heatmap
	require.NoError(t, json.Unmarshal(text, &out))
	assert.Equal(t, in.Columns, out.Columns)
	assert.Equal(t, 1.0, out.Values[0][0])
	assert.True(t, math.IsNaN(out.Values[0][1]))
	bars, err := json.Marshal(Bars{Labels: []string{"a"}, Series: []BarSeries{{"s", []float64{math.NaN()}}}})
	require.NoError(t, err)
	assert.Contains(t, string(bars), `"series":[{"name":"s","values":[null]}]`)
	var read Bars
	require.NoError(t, json.Unmarshal(bars, &read))
	assert.True(t, math.IsNaN(read.Series[0].Values[0]))
	for name, f := range gallery() {
		_, err := json.Marshal(f)
		require.NoError(t, err, name)
	}
}

// TestTable writes one table as text, Markdown and CSV.
func TestTable(t *testing.T) {
	table := Table{Title: "a|b", Header: []string{"name", "value"}, Align: "lr", Rows: [][]string{{"x|y", "1.5"}, {"line\nfeed", "-10"}}}
	assert.Equal(t, "a|b\n\nname       value\n---------  -----\nx|y          1.5\nline⏎feed    -10\n", table.Text())
	assert.Equal(t, "**a\\|b**\n\n| name | value |\n| --- | ---: |\n| x\\|y | 1.5 |\n| line⏎feed | -10 |\n", table.Markdown())
	assert.Equal(t, "name,value\nx|y,1.5\n\"line\nfeed\",-10\n", table.CSV())
	text, markdown, csv := table.Text(), table.Markdown(), table.CSV()
	table.Note = "value: of a_b\nname: its"
	assert.Equal(t, text+"\nvalue: of a_b\nname: its\n", table.Text())
	assert.Equal(t, markdown+"\nvalue: of a\\_b\nname: its\n", table.Markdown())
	assert.Equal(t, csv, table.CSV())
}

// TestTableWithin: only the words of the last column are broken.
func TestTableWithin(t *testing.T) {
	table := Table{Header: []string{"name", "what"}, Rows: [][]string{{"a b", "one two  three"}, {"c"}, {"", "unbreakable"}, {"d", ""}}}
	assert.Equal(t, "name  what\n----  -----------\na b   one two\n      three\nc\n      unbreakable\nd\n", table.Within(14).Text())
	assert.Equal(t, table.Rows[1:], table.Within(80).Rows[1:])
	assert.Empty(t, Table{}.Within(10).Rows)
}

// TestTableWithinColumns: a table that is too wide even so is shown in several that begin with the
// first column. Nothing is lost, and Markdown and CSV are unchanged.
func TestTableWithinColumns(t *testing.T) {
	table := NewTable("Means over seeds, with errors", "lrrrl", "run", "loss", "bits per byte", "tokens/s", "why")
	table.Row("a", 1.5, "2.25 ± 0.01", 1000, "stopped by the user at step 3 of 4")
	table.Row("bb", 2.5, "3", 20, "")
	table.Note = "run: a name"
	assert.Equal(t, `Means over seeds, with
errors

run  loss  bits per byte
---  ----  -------------
a     1.5    2.25 ± 0.01
bb    2.5              3

run  tokens/s
---  --------
a        1000
bb         20

run  why
---  -------------------
a    stopped by the user
     at step 3 of 4
bb

run: a name
`, table.Within(25).Text())
	for limit := range 120 {
		for line := range strings.Lines(table.Within(limit).Text()) {
			if limit >= 24 { // the widest column after the first
				assert.LessOrEqual(t, utf8.RuneCountInString(line)-1, limit, line)
			}
		}
	}
	assert.Equal(t, table.Text(), table.Within(0).Text())
	assert.Equal(t, table.Text(), table.Within(200).Text())
	assert.Equal(t, table.Markdown(), table.Within(25).Markdown())
	assert.Equal(t, table.CSV(), table.Within(25).CSV())
}

// TestLabel: every character of a label is visible, and Label leaves labels unchanged.
func TestLabel(t *testing.T) {
	for token, want := range map[string]string{" the": "␣the", "\n": "⏎", "\t": "⇥", "": "∅", "\x00": `\u0000`, "\xff": `\xFF`, "Grüße": "Grüße", "\u200b": `\u200B`} {
		assert.Equal(t, want, Label(token))
		assert.Equal(t, want, Label(Label(token)))
	}
}

func TestThousands(t *testing.T) {
	for n, want := range map[int64]string{7: "7", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		assert.Equal(t, want, Thousands(n))
	}
}
