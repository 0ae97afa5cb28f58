package analysis_test

import (
	"fmt"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/analysis/page"
	"github.com/residua-go/residua/internal/browsertest"
)

// pageWindow is a browser with a page open.
type pageWindow struct {
	*browsertest.Browser
	t *testing.T
}

// TestPageInBrowser looks at pages in a headless Chromium: one browser for all, as it takes a
// second to start. With PAGE_GALLERY=FOLDER pictures of the page are left there.
func TestPageInBrowser(t *testing.T) {
	browser := browsertest.Open(t, 1280, 1000)
	if browser == nil {
		t.Skip("short, or chromium is not in PATH")
	}
	w := pageWindow{browser, t}
	w.open(smallPage())
	w.photograph("light")
	t.Run("heatmap", func(t *testing.T) { pageWindow{browser, t}.checkHeatmap() })
	t.Run("lines", func(t *testing.T) { pageWindow{browser, t}.checkLines() })
	t.Run("bars", func(t *testing.T) { pageWindow{browser, t}.checkBars() })
	t.Run("attention", func(t *testing.T) { pageWindow{browser, t}.checkAttention() })
	t.Run("wiring", func(t *testing.T) { pageWindow{browser, t}.checkWiring() })
	t.Run("slider", func(t *testing.T) { pageWindow{browser, t}.checkSlider() })
	t.Run("texts", func(t *testing.T) { pageWindow{browser, t}.checkTexts() })
	t.Run("width", func(t *testing.T) { pageWindow{browser, t}.checkWidth() })
	w.checkQuiet()
	t.Run("dark", func(t *testing.T) { pageWindow{browser, t}.checkDark() })
	t.Run("large", func(t *testing.T) { pageWindow{browser, t}.checkLarge() })
}

// checkWidth: the first two figures stand side by side in a wide window, one below the other in a
// narrow one, where nothing is wider than the window.
func (w pageWindow) checkWidth() {
	const tops = `[...document.querySelectorAll("figure")].slice(0, 2).map((f) => f.offsetTop)`
	defer func() { require.NoError(w.t, w.Resize(1280, 1000)) }()
	require.NoError(w.t, w.Resize(2000, 1000))
	assert.Equal(w.t, "true", w.text(tops+".reduce((a, b) => a === b)"))
	require.NoError(w.t, w.Resize(600, 1000))
	assert.Equal(w.t, "true", w.text(tops+".reduce((a, b) => a < b)"))
	assert.Equal(w.t, "true", w.text("document.documentElement.scrollWidth <= innerWidth"))
}

// open shows a page from a file.
func (w pageWindow) open(p page.Page) {
	w.t.Helper()
	html, err := p.HTML()
	require.NoError(w.t, err)
	file := filepath.Join(w.t.TempDir(), "index.html")
	require.NoError(w.t, os.WriteFile(file, html, 0o644))
	require.NoError(w.t, w.Navigate((&url.URL{Scheme: "file", Path: file}).String()))
}

// ask returns what a function's body returns in the page.
func (w pageWindow) ask(body string, into any, arguments ...any) {
	w.t.Helper()
	require.NoError(w.t, w.Script(body, into, arguments...))
}

// text is what a script's expression is as a text.
func (w pageWindow) text(expression string) string {
	w.t.Helper()
	var text string
	w.ask("return String("+expression+")", &text)
	return text
}

// box is an element's place in the window, once it is scrolled into its middle.
func (w pageWindow) box(selector string, index int) (left, top, width, height float64) {
	w.t.Helper()
	var box [4]float64
	w.ask(`const e = document.querySelectorAll(arguments[0])[arguments[1]];
		e.scrollIntoView({block: "center"});
		const b = e.getBoundingClientRect();
		return [b.left, b.top, b.width, b.height]`, &box, selector, index)
	return box[0], box[1], box[2], box[3]
}

// point moves the mouse into an element: to so much of its width and height.
func (w pageWindow) point(selector string, index int, x, y float64) {
	w.t.Helper()
	left, top, width, height := w.box(selector, index)
	require.NoError(w.t, w.Move(int(left+x*width), int(top+y*height)))
}

// tooltip is the tooltip's names and values, "" if it is hidden.
func (w pageWindow) tooltip() string {
	w.t.Helper()
	return w.text(`tooltip.hidden ? "" : [...tooltip.querySelectorAll("dt")].map((e) => e.textContent + "=" + e.nextSibling.textContent).join("; ")`)
}

func (w pageWindow) checkHeatmap() {
	const area = "figure.heatmap .area" // 3 rows, 6 columns
	w.point(area, 0, 2.5/6, 1.5/3)
	assert.Equal(w.t, "writer=L0 head 0; token=␣a; value=-3.25", w.tooltip())
	w.point(area, 0, 0.5/6, 2.5/3)
	assert.Equal(w.t, "writer=L0 feed-forward; token=Once; value=-0.125", w.tooltip())
	w.point(area, 0, 4.5/6, 1.5/3)
	assert.Equal(w.t, "writer=L0 head 0; token=,; value=none", w.tooltip())
	w.point("h1", 0, 0.01, 0.5)
	assert.Equal(w.t, "", w.tooltip(), "next to figures")
	w.point(area, 1, 30.5/40, 10.5/20)
	assert.Equal(w.t, fmt.Sprintf("layer=10; position=30; value=%.6g", math.Sin(3)*math.Cos(6)), w.tooltip())
	w.point(area, 2, 0.25, 0.75)
	assert.Equal(w.t, "after=unembedding; token=Once; cell=<b>; value=1", w.tooltip())
	assert.Equal(w.t, "␣the", w.text(`document.querySelector("figure.heatmap text.cell.dark").textContent`), "on a pale colour")
	assert.Equal(w.t, "<b>", w.text(`document.querySelector("figure.heatmap text.cell.light").textContent`), "on a dark one")
	var ends string
	w.ask(`const t = [...document.querySelectorAll("figure.heatmap")[1].querySelectorAll('.tick + text[x="19"]')].map((e) => e.textContent); return t[0] + " to " + t.at(-1)`, &ends)
	assert.Equal(w.t, "-2 to 2", ends, "the limits, whatever the values are")
	w.ask(`document.querySelector("figure.heatmap svg").dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowDown"}))`, nil)
	assert.Equal(w.t, "writer=L0 feed-forward; token=,; value=2", w.tooltip(), "arrow keys go on from the last cell")
}

func (w pageWindow) checkLines() {
	const area = "figure.lines .area"
	w.point(area, 0, 0.002, 0.05)
	assert.Contains(w.t, w.tooltip(), "series=measured </script><b>")
	assert.True(w.t, strings.HasSuffix(w.tooltip(), "step=0; loss (nats)=5.5 ± 0.3"), w.tooltip())
	w.point(area, 0, 0.999, 0.999)
	assert.Equal(w.t, fmt.Sprintf("series=training; step=49; loss (nats)=%.6g", 4*math.Exp(-49./12)+1), w.tooltip())
	var pieces int
	w.ask(`return document.querySelector("figure.lines .series").getAttribute("d").match(/M/g).length`, &pieces)
	assert.Equal(w.t, 2, pieces, "the line is broken where there is no value")
	w.point(area, 1, 0.999, 0.999)
	assert.Equal(w.t, "series=N^-0.2; parameters=1e9; loss=1", w.tooltip())
	w.point("figure.lines .legend li", 0, 0.5, 0.5)
	assert.Equal(w.t, "1", w.opacity("figure.lines .series", 0))
	assert.Equal(w.t, "0.12", w.opacity("figure.lines .dots", 0), "the other series")
}

func (w pageWindow) checkBars() {
	const area = "figure.bars .area"
	w.point(area, 0, 0.5, 1.5/5)
	assert.Equal(w.t, "bar=L0 head 3; logit=-1.5", w.tooltip())
	assert.Equal(w.t, "1011", w.marked("figure.bars .bar", "dim"))
	w.point(area, 0, 0.5, 0.5/5)
	assert.Contains(w.t, w.tooltip(), "logit=3 ± 0.5")
	var whiskers []string
	w.ask(`return [...document.querySelectorAll("figure.bars .whisker")].map((e) => getComputedStyle(e).stroke)`, &whiskers)
	assert.Equal(w.t, []string{"rgb(31, 35, 40)"}, whiskers, "an error bar that can be seen")
	var widths []float64
	w.ask(`return [...document.querySelectorAll("figure.bars .bar")].map((e) => Number(e.getAttribute("width")))`, &widths)
	require.Len(w.t, widths, 4, "none for what is no number")
	assert.InDelta(w.t, 2, widths[0]/widths[1], 1e-9)
	assert.InDelta(w.t, 4, widths[0]/widths[2], 1e-9)
}

// shares are the tokens' shades.
func (w pageWindow) shares() []float64 {
	w.t.Helper()
	var shares []float64
	w.ask(`return [...document.querySelectorAll(".token")].map((e) => Number(e.style.getPropertyValue("--share")))`, &shares)
	return shares
}

func (w pageWindow) checkAttention() {
	n := len(oddTokens)
	w.point(".token", 5, 0.5, 0.5)
	want := make([]float64, n)
	want[4], want[5] = 1, 0.333 // 0.75 and 0.25 of the largest
	assert.Equal(w.t, want, w.shares())
	assert.Equal(w.t, "token=␣there (5); attended to by=␣there (5); weight=0.25", w.tooltip())
	colour := w.text(`getComputedStyle(document.querySelectorAll(".token")[4]).backgroundColor + " " + getComputedStyle(document.querySelectorAll(".token")[0]).backgroundColor`)
	assert.Regexp(w.t, `^rgb\((\d+), (\d+), (\d+)\) rgba\(.*, 0\)$`, colour)
	w.ask(`document.querySelectorAll(".token")[9].focus()`, nil)
	want[4], want[5], want[8], want[9] = 0, 0, 1, 0.333
	assert.Equal(w.t, want, w.shares(), "focus does as the mouse")
	assert.Contains(w.t, w.text(`document.querySelector(".attention .note").textContent`), "<!-- (9) attends to:  </script><b> (8) 0.75,  <!-- (9) 0.25")
	w.ask(`const s = document.querySelectorAll(".attention select")[1]; s.value = "in"; s.dispatchEvent(new Event("change"))`, nil)
	want[8], want[9], want[10] = 0, 0.333, 1
	assert.Equal(w.t, want, w.shares(), "the tokens that attend to it")
	w.ask(`const s = document.querySelectorAll(".attention select")[1]; s.value = "out"; s.dispatchEvent(new Event("change"))`, nil)
	left, top, width, height := w.box(".heads button", 1)
	require.NoError(w.t, w.Click(int(left+width/2), int(top+height/2)))
	w.point(".token", 2, 0.5, 0.5)
	want = make([]float64, n)
	want[0], want[1], want[2] = 1, 1, 1
	assert.Equal(w.t, want, w.shares(), "the second head")
	assert.Equal(w.t, "uniform", w.text(`document.querySelector(".attention select").selectedOptions[0].textContent`))
	w.ask(`document.querySelector(".attention details").open = true`, nil)
	w.point(".attention .area", 0, 1.5/float64(n), 3.5/float64(n))
	assert.Equal(w.t, "query=␣time; key=␣upon; weight=0.25", strings.Replace(w.tooltip(), "value", "weight", 1))
}

// marked says which elements have a class, a digit each.
func (w pageWindow) marked(selector, class string) string {
	w.t.Helper()
	var digits string
	w.ask(`return [...document.querySelectorAll(arguments[0])].map((e) => (e.classList.contains(arguments[1]) ? 1 : 0)).join("")`, &digits, selector, class)
	return digits
}

// edges says which edges of the first diagram have a class, the weakest edge first.
func (w pageWindow) edges(class string) string {
	w.t.Helper()
	return w.marked("figure.wiring:first-of-type .edge", class)
}

// opacity is an element's opacity once its transitions have ended.
func (w pageWindow) opacity(selector string, index int) string {
	w.t.Helper()
	var opacity string
	w.ask(`const e = document.querySelectorAll(arguments[0])[arguments[1]];
		e.getAnimations().forEach((a) => a.finish());
		return getComputedStyle(e).opacity`, &opacity, selector, index)
	return opacity
}

// checkWiring: by |weight| the edges are L0H0-L1H0 0.1, L1H0-U 0.3, L0H1-L0H0 0.8, E-L0H0 1,
// L0H1-L1H0 1.5, E-L0H1 -2.
func (w pageWindow) checkWiring() {
	w.point("figure.wiring .node", 3, 0.5, 0.5) // L1 head 0
	assert.Equal(w.t, "001101", w.edges("dim"))
	assert.Equal(w.t, "110010", w.edges("lit"))
	assert.Equal(w.t, "node=L1 head 0; from=L0 head 1 1.5, L0 head 0 0.1; to=unembedding 0.3", w.tooltip())
	assert.Equal(w.t, "0.08", w.opacity("figure.wiring .edge", 5))
	w.point("h2", 3, 0.01, 0.5)
	assert.Equal(w.t, "000000", w.edges("dim"), "all are as before")
	var place [2]float64
	w.ask(`const e = document.querySelectorAll("figure.wiring .reach")[5]; e.scrollIntoView({block: "center"});
		const p = e.getPointAtLength(e.getTotalLength() / 2).matrixTransform(e.getScreenCTM()); return [p.x, p.y]`, &place)
	require.NoError(w.t, w.Move(int(place[0]), int(place[1])))
	assert.Equal(w.t, "from=embedding; to=L0 head 1; weight=-2", w.tooltip())
	assert.Equal(w.t, "111110", w.edges("dim"))
}

// checkSlider: the weights go up to 2, so that the slider's middle is about 1.
func (w pageWindow) checkSlider() {
	const slider = "figure.wiring input[type=range]"
	left, top, width, height := w.box(slider, 0)
	require.NoError(w.t, w.Drag(int(left+8), int(top+height/2), int(left+0.6*width), int(top+height/2)))
	assert.Equal(w.t, "111100", w.edges("weak"))
	assert.Equal(w.t, "none", w.text(`getComputedStyle(document.querySelector("figure.wiring .edge")).display`))
	assert.Regexp(w.t, `^1\.\d+: 2 of 6 edges$`, w.text(`document.querySelector("figure.wiring output").textContent`))
	w.ask(`const s = document.querySelector(arguments[0]); s.value = 1000; s.dispatchEvent(new Event("input"))`, nil, slider)
	assert.Equal(w.t, "111110", w.edges("weak"), "the strongest is never hidden")
	w.ask(`const s = document.querySelector(arguments[0]); s.value = 0; s.dispatchEvent(new Event("input"))`, nil, slider)
	assert.Equal(w.t, "000000", w.edges("weak"))
}

func (w pageWindow) checkTexts() {
	assert.Equal(w.t, smallPage().Title, w.text("document.title"))
	assert.Equal(w.t, smallPage().Title, w.text(`document.querySelector("h1").textContent`))
	assert.Equal(w.t, hostileText, w.text(`document.querySelectorAll("td")[3].textContent`))
	assert.Equal(w.t, "0", w.text(`document.querySelectorAll("b").length`))
}

// checkQuiet: the console has no message, and nothing was asked of a network or disk.
func (w pageWindow) checkQuiet() {
	assert.Empty(w.t, w.Console())
	assert.Equal(w.t, "0", w.text(`performance.getEntriesByType("resource").filter((e) => !e.name.startsWith("data:")).length`))
}

func (w pageWindow) checkDark() {
	assert.Equal(w.t, "rgb(255, 255, 255)", w.text("getComputedStyle(document.body).backgroundColor"))
	require.NoError(w.t, w.Prefer("dark"))
	w.photograph("dark")
	assert.Equal(w.t, "rgb(20, 23, 27)", w.text("getComputedStyle(document.body).backgroundColor"))
	assert.Equal(w.t, "rgb(228, 232, 237)", w.text(`getComputedStyle(document.querySelector("svg text")).fill`))
	require.NoError(w.t, w.Prefer("light"))
}

// checkLarge: a page of more than 5 MB is drawn and answers.
func (w pageWindow) checkLarge() {
	w.open(pageOf(indexHeatmap(500, 520), layeredWiring(12, 12)))
	w.point("figure.heatmap .area", 0, 0.5, 0.5)
	var row, column int
	var value float64
	_, err := fmt.Sscanf(w.tooltip(), "layer=%d; position=%d; value=%g", &row, &column, &value)
	require.NoError(w.t, err)
	assert.InDelta(w.t, 250, row, 1)
	assert.InDelta(w.t, 260, column, 1)
	assert.InDelta(w.t, math.Sin(0.3*float64(row))*math.Cos(0.2*float64(column)), value, 1e-6)
	assert.Equal(w.t, "1500", w.text(`document.querySelectorAll(".edge").length`))
	var shown int
	w.ask(`return document.querySelectorAll(".edge:not(.weak)").length`, &shown)
	assert.LessOrEqual(w.t, shown, 80)
	assert.Greater(w.t, shown, 60)
	var wide float64
	w.ask(`return document.querySelector("figure.wiring svg").getBoundingClientRect().width`, &wide)
	assert.LessOrEqual(w.t, wide, 1200.0, "all blocks are in sight")
	w.checkQuiet()
}

// photograph leaves a picture of the whole page.
func (w pageWindow) photograph(name string) {
	folder := os.Getenv("PAGE_GALLERY")
	if folder == "" {
		return
	}
	for i := range 12 {
		var more bool
		w.ask(`scrollTo(0, arguments[0] * innerHeight); return arguments[0] * innerHeight < document.body.scrollHeight`, &more, i)
		if !more {
			return
		}
		picture, err := w.Screenshot()
		require.NoError(w.t, err)
		require.NoError(w.t, os.WriteFile(filepath.Join(folder, name+string(rune('a'+i))+".png"), picture, 0o644))
	}
}
