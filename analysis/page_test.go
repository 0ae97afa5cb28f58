package analysis_test

import (
	"bytes"
	"encoding/json"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/analysis/page"
	"github.com/residua-go/residua/figure"
)

// htmlOf is a page as text.
func htmlOf(t *testing.T, p page.Page) string {
	t.Helper()
	html, err := p.HTML()
	require.NoError(t, err)
	return string(html)
}

// pageOf is a page of some figures.
func pageOf(figures ...figure.Figure) page.Page {
	return page.Page{Title: "A page", Sections: []page.Section{{Heading: "Section", Figures: figures}}}
}

// pageFigure is a figure's class and data elements.
var pageFigure = regexp.MustCompile(`(?s)<figure class="(\w+)">.*?(?:<script type="application/json">(.*?)</script>|<table>)`)

// drawnData are the data of a page's drawn figures, by the script's rules.
func drawnData(t *testing.T, html string) (kinds []string, data []map[string]any) {
	t.Helper()
	for _, m := range pageFigure.FindAllStringSubmatch(html, -1) {
		kinds = append(kinds, m[1])
		if m[2] == "" {
			continue
		}
		var one map[string]any
		require.NoError(t, json.Unmarshal([]byte(m[2]), &one))
		data = append(data, one)
	}
	return kinds, data
}

func TestEveryKindIsOnThePage(t *testing.T) {
	html := htmlOf(t, smallPage())
	kinds, data := drawnData(t, html)
	assert.Equal(t, []string{"heatmap", "heatmap", "heatmap", "lines", "lines", "bars", "attention", "wiring", "wiring", "table"}, kinds)
	assert.Len(t, data, len(kinds)-1)
	assert.Contains(t, html, `<td>L0 head 0</td><td>L1 head 0</td><td class="right">0.125</td>`)
	assert.Contains(t, html, "</table></div>\n<p>score: &lt; 1</p>\n")
	assert.Contains(t, html, "<p>The first paragraph.</p>\n<p>The second")
}

// TestPanelsAreOnThePage: panels are charts one by one, each with the axes of the first unless it
// has its own; one without points is left out.
func TestPanelsAreOnThePage(t *testing.T) {
	charts := []figure.Lines{
		{Title: "A", XLabel: "step", YLabel: "loss", LogY: true, Series: []figure.Series{{Name: "s", X: []float64{1, 2}, Y: []float64{3, 4}}}},
		{Title: "B", XLabel: "other", Series: []figure.Series{{Name: "s", X: []float64{1}, Y: []float64{5}}}}, {Title: "C", Series: []figure.Series{{Name: "s"}}},
	}
	html := htmlOf(t, pageOf(figure.Panels{Title: "Both", Charts: charts}))
	kinds, data := drawnData(t, html)
	require.Equal(t, []string{"lines", "lines"}, kinds)
	assert.Equal(t, []any{"Both: A", "Both: B"}, []any{data[0]["title"], data[1]["title"]})
	assert.Equal(t, []any{"step", "loss", true}, []any{data[1]["x_label"], data[1]["y_label"], data[1]["log_y"]})
	_, data = drawnData(t, htmlOf(t, pageOf(figure.Panels{Title: "Both", Charts: charts, OwnAxes: true})))
	assert.Equal(t, []any{"other", false}, []any{data[1]["x_label"], data[1]["log_y"]})
}

// TestPageTextsAreEscaped: only our own script elements open and close, and texts come back whole.
func TestPageTextsAreEscaped(t *testing.T) {
	p := smallPage()
	html := htmlOf(t, p)
	drawn := 9 // figures with data; and the palette, and the script
	assert.Equal(t, drawn+2, strings.Count(html, "<script"))
	assert.Equal(t, drawn+2, strings.Count(html, "</script"))
	assert.NotContains(t, html, "<b>")
	assert.NotContains(t, html, "<!--")
	assert.NotContains(t, html, "\u2028")
	_, data := drawnData(t, html)
	assert.Equal(t, []any{"Once", "␣upon", "␣a", "␣time", ",", "␣there", "␣was", "⏎", "</script><b>", "<!--", `\u2028`, "中文", `\xFF`, "∅"}, data[6]["tokens"])
	assert.Equal(t, []any{"␣the", "L0 head 3", "feed-forward", hostileText, "none"}, data[5]["labels"])
	assert.Equal(t, oddTokens[8], p.Sections[2].Figures[0].(figure.Attention).Tokens[8], "the caller's figures are left as they are")
	assert.Equal(t, " the", p.Sections[1].Figures[2].(figure.Bars).Labels[0])
}

func TestPageWritesNoNumbersAsNull(t *testing.T) {
	html := htmlOf(t, pageOf(figure.Heatmap{Values: [][]float64{{1.5, math.NaN()}, {math.Inf(1), -2}}}))
	_, data := drawnData(t, html)
	assert.Equal(t, []any{[]any{1.5, nil}, []any{nil, -2.0}}, data[0]["values"])
	assert.Nil(t, data[0]["rows"], "no labels: indices")
}

// TestPageAsksForNothing: the policy forbids requests, and nothing in the page makes one.
func TestPageAsksForNothing(t *testing.T) {
	html := htmlOf(t, smallPage())
	assert.Contains(t, html, `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:;`)
	assert.Less(t, strings.Index(html, "Content-Security-Policy"), strings.Index(html, "<style"))
	for _, address := range regexp.MustCompile(`https?://[^"' )]*`).FindAllString(html, -1) {
		assert.Equal(t, "http://www.w3.org/2000/svg", address, "a name space, not an address")
	}
	assert.NotRegexp(t, `@import|url\(|\bsrc=|<iframe|fetch\(|XMLHttpRequest|import\(|WebSocket`, html)
	assert.NotRegexp(t, `innerHTML|insertAdjacentHTML|document\.write|eval\(`, html, "texts stay texts")
}

func TestSamePageSameBytes(t *testing.T) {
	first, again := htmlOf(t, smallPage()), htmlOf(t, smallPage())
	assert.True(t, first == again)
}

func TestRefusedPages(t *testing.T) {
	for name, c := range map[string]struct {
		page page.Page
		want string
	}{
		"empty":          {page.Page{Title: "T"}, `page: "T": want at least one section with a text or a figure, got none`},
		"empty section":  {page.Page{Title: "T", Sections: []page.Section{{Heading: "H", Text: " \n"}}}, `page: "T": want at least one section with a text or a figure, got none`},
		"no values":      {pageOf(figure.Heatmap{Title: "H"}), `page: section "Section", figure 0: figure: heatmap "H": want at least one row and column of values, got none`},
		"ragged table":   {pageOf(smallBars(), figure.Table{Title: "T", Header: []string{"a"}, Rows: [][]string{{"b", "c"}}}), `page: section "Section", figure 1: figure: table "T": row 0: want 1 cells, as many as in the header, got 2`},
		"nil":            {pageOf(nil), `page: section "Section", figure 0: figure: want a figure, got nil`},
		"unknown kind":   {pageOf(unknownFigure{}), `page: section "Section", figure 0: figure: want Heatmap, Lines, Panels, Bars, Attention, Wiring or Table (not a pointer to one), got analysis_test.unknownFigure`},
		"an edge beyond": {pageOf(figure.Wiring{Title: "W", Nodes: []figure.WiringNode{{Name: "a"}}, Edges: []figure.WiringEdge{{To: 1}}}), `page: section "Section", figure 0: figure: wiring "W": edge 0: want nodes 0 to 0, got 0 to 1`},
	} {
		t.Run(name, func(t *testing.T) {
			html, err := c.page.HTML()
			assert.EqualError(t, err, c.want)
			assert.Nil(t, html)
		})
	}
}

// unknownFigure is a figure that no package knows.
type unknownFigure struct{}

func (unknownFigure) Heading() string { return "unknown" }

// TestPageOfFiveMegabytes: a large page is written without trouble.
func TestPageOfFiveMegabytes(t *testing.T) {
	html, err := pageOf(indexHeatmap(500, 520)).HTML()
	require.NoError(t, err)
	assert.Greater(t, len(html), 5_000_000)
	assert.Equal(t, 1, bytes.Count(html, []byte(`<figure class="heatmap">`)))
}
