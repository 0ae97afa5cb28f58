package explore_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/browsertest"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/pretrained"
	"github.com/residua-go/residua/serve/explore"
)

// window is a browser with an Explorer's page open.
type window struct {
	*browsertest.Browser
	t *testing.T
}

func (w window) ask(body string, into any, arguments ...any) {
	w.t.Helper()
	require.NoError(w.t, w.Script(body, into, arguments...))
}

// text evaluates a script's expression and returns its value as text.
func (w window) text(expression string) string {
	w.t.Helper()
	var text string
	w.ask("return String("+expression+")", &text)
	return text
}

// wait waits until an expression is true.
func (w window) wait(expression string) {
	w.t.Helper()
	require.Eventually(w.t, func() bool { return w.text(expression) == "true" }, time.Minute, 50*time.Millisecond, expression)
}

// press clicks the element with the given index among those that a selector matches.
func (w window) press(selector string, index int) {
	w.t.Helper()
	var place [2]int
	w.ask(`if (document.getElementById("status").textContent.startsWith("Looked")) document.getElementById("status").textContent = "";
		const e = document.querySelectorAll(arguments[0])[arguments[1]];
		e.scrollIntoView({block: "center"});
		const b = e.getBoundingClientRect();
		return [Math.round(b.left + b.width / 2), Math.round(b.top + b.height / 2)]`, &place, selector, index)
	require.NoError(w.t, w.Click(place[0], place[1]))
}

// photograph writes pictures of the whole page to the folder EXPLORE_GALLERY.
func (w window) photograph(name string) {
	folder := os.Getenv("EXPLORE_GALLERY")
	if folder == "" {
		return
	}
	require.NoError(w.t, w.Move(2, 2))
	for i := range 9 {
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

// serve serves the Explorer until the test ends, and returns its address.
func (c client) serve() string {
	server := httptest.NewServer(c.e)
	c.t.Cleanup(server.Close)
	return server.URL + "/"
}

// start opens the page, which runs its first prompt and looks at the token after it by itself.
func (w window) start(address string) {
	w.t.Helper()
	require.NoError(w.t, w.Navigate(address))
	w.wait(`document.getElementById("site").length > 0`)
	w.wait(looked)
}

const (
	done   = `document.getElementById("stop").hidden && document.getElementById("status").textContent.startsWith("Done")`
	looked = `document.getElementById("stop").hidden && document.getElementById("status").textContent.startsWith("Looked")`
)

// TestInBrowser uses the page of a small model with text as a person does, in a headless Chromium.
func TestInBrowser(t *testing.T) {
	browser := browsertest.Open(t, 1200, 1000)
	if browser == nil {
		t.Skip("short, or chromium is not in PATH")
	}
	c := texts(t)
	w := window{browser, t}
	w.start(c.serve())
	t.Run("text", func(t *testing.T) { window{browser, t}.checkText() })
	t.Run("token", func(t *testing.T) { window{browser, t}.checkToken() })
	t.Run("switched off", func(t *testing.T) { window{browser, t}.checkOff() })
	t.Run("steered", func(t *testing.T) { window{browser, t}.checkSteered() })
	t.Run("errors", func(t *testing.T) { window{browser, t}.checkErrors() })
	t.Run("analyses", func(t *testing.T) { window{browser, t}.checkAnalyses() })
	t.Run("token of the server", func(t *testing.T) { window{browser, t}.checkAccess(c) })
	t.Run("narrow", func(t *testing.T) { window{browser, t}.checkNarrow() })
	t.Run("address", func(t *testing.T) { window{browser, t}.checkAddress(c.serve()) })
	assert.Equal(t, "true", w.text(`performance.getEntriesByType("resource").every((e) => e.name.startsWith(location.origin) || e.name.startsWith("data:"))`), "nothing is asked of another server")
}

// checkAnalyses checks that each analysis has a form, and draws its tables and figures.
func (w window) checkAnalyses() {
	var ignored any
	const status = `document.getElementById("analysis-status").textContent`
	run := func(name, key, value string) {
		w.ask(`const select = document.getElementById("analysis");
			select.value = arguments[0];
			select.dispatchEvent(new Event("change"));
			const field = document.querySelector("#settings [data-key=" + arguments[1] + "]");
			field.value = arguments[2];
			document.getElementById("analysis-status").textContent = "";
			document.getElementById("analyse").click();
			return 0`, &ignored, name, key, value)
		w.wait(status + ` !== "" && ` + status + ` !== "Running …"`)
	}
	for name, setting := range map[string][2]string{"attribute": {"top", "3"}, "lens": {"prompt", "some text"}, "ablate": {"prompts", `["ab", "cd"]`}, "export": {"names", "embedding.out"}} {
		run(name, setting[0], setting[1])
		assert.Regexp(w.t, "^"+name+`: [0-9.]+ s\.$`, w.text(status))
		w.photograph("analysis-" + name)
		assert.Equal(w.t, "true", w.text(`[...document.querySelectorAll("#analysed figure")].every((f) => f.querySelector("svg, canvas, table"))`), name)
		assert.NotEqual(w.t, "0", w.text(`document.querySelectorAll("#analysed table tbody tr").length`), name)
	}
	run("attribute", "top", "0")
	assert.Equal(w.t, "top: want >= 1, got 0", w.text(status))
}

// checkAddress checks that the fragment describes what is on the page and recreates it in another
// window, and that the index ignores it.
func (w window) checkAddress(address string) {
	w.start(address)
	assert.Equal(w.t, "", w.text("location.hash"), "the defaults")
	var ignored any
	w.ask(`document.getElementById("prompt").value = "for i := "; document.getElementById("tokens").value = 3; document.getElementById("status").textContent = "";
		document.getElementById("form").requestSubmit(); return 0`, &ignored)
	w.wait(done + " || " + looked)
	w.press(".run .token", 4)
	w.wait(looked)
	shared := w.text("location.href")
	assert.Contains(w.t, shared, "#prompt=for+i+%3A%3D+&tokens=3&chosen=")
	texts := w.text(`document.getElementById("runs").innerText`)
	w.press("#index a", 2)
	assert.Equal(w.t, shared, w.text("location.href"))

	require.NoError(w.t, w.Navigate("about:blank"))
	require.NoError(w.t, w.Navigate(shared))
	w.wait(looked)
	assert.Equal(w.t, shared, w.text("location.href"))
	assert.Equal(w.t, "for i := ", w.text(`document.getElementById("prompt").value`))
	assert.Equal(w.t, "4", w.text(`[...document.querySelectorAll(".run .token")].findIndex((e) => e.getAttribute("aria-pressed") === "true")`))
	assert.Equal(w.t, firstLine(texts), firstLine(w.text(`document.getElementById("runs").innerText`)))

	require.NoError(w.t, w.Navigate("about:blank"))
	require.NoError(w.t, w.Navigate(address+`#tokens=2&changes=[{"activation":3}]&chosen={"run":`))
	w.wait(looked)
	assert.Equal(w.t, "0", w.text(`document.querySelectorAll("#change-list li").length`), "what is no change is passed over")
}

// firstLine returns the first line of a text without its times.
func firstLine(text string) string {
	line, _, _ := strings.Cut(text, " bits a token")
	return line
}

// texts returns a client of a small model that reads bytes.
func texts(t *testing.T) client {
	config := modeltest.Small(models.Standard())[0].Config
	config.Vocab, config.Seq = 257, 96
	return tiny(t, config, "bytes")
}

func (w window) checkText() {
	const chosen = `[...document.querySelectorAll(".run .token")].findIndex((e) => e.getAttribute("aria-pressed") === "true")`
	assert.Equal(w.t, w.text(`document.querySelectorAll(".token.prompt").length`), w.text(chosen), "the first token after the prompt is chosen")
	assert.Contains(w.t, w.text(`document.querySelector("#detail h2").textContent`), " after n (token ")
	assert.Equal(w.t, "1", w.text(`document.querySelectorAll(".run").length`))
	assert.Equal(w.t, "BOS⇥if␣err␣!=␣nil␣{⏎⇥⇥return", w.text(`[...document.querySelectorAll(".token.prompt")].map((e) => e.textContent).join("")`))
	assert.Equal(w.t, "24", w.text(`document.querySelectorAll(".run .token:not(.prompt):not(.next)").length`))
	w.ask(`document.querySelectorAll(".run .token")[6].dispatchEvent(new Event("pointerenter"))`, nil)
	tip := w.text(`document.getElementById("tooltip").textContent`)
	assert.Contains(w.t, tip, "tokenr (6, id 114)")
	assert.Contains(w.t, tip, "probability")
}

func (w window) checkToken() {
	w.press(".run .token", 4)
	w.wait(looked)
	assert.Equal(w.t, "␣ after f (token 3)", w.text(`document.querySelector("#detail h2").textContent`))
	assert.Equal(w.t, "5", w.text(`document.querySelectorAll("#detail .block").length`))
	assert.Equal(w.t, "0", w.text(`document.querySelectorAll("#detail .views.two").length`))
	var sums [2]float64 // of all terms but the last row, and the last row
	w.ask(`const v = [...document.querySelectorAll("#detail .block")[1].querySelectorAll("tbody tr")].map((r) => Number(r.children[2].textContent));
		return [v.slice(0, -1).reduce((a, b) => a + b, 0), v.at(-1)]`, &sums)
	assert.InDelta(w.t, sums[1], sums[0], 0.05, "what is shown adds up, to its three digits")
	w.ask(`document.querySelectorAll(".run .token")[4].focus();
		document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowRight", bubbles: true}))`, nil)
	assert.Equal(w.t, "5", w.text(`document.activeElement.dataset.position`), "arrow keys go from token to token")
	w.ask(`const d = [...document.querySelectorAll("#detail > details")][0]; d.open = true;
		const s = d.querySelector("select"); s.value = "1"; s.dispatchEvent(new Event("change"))`, nil)
	w.wait(`document.querySelectorAll("#detail > details figure").length === 1`)
	w.ask(`const b = document.querySelector("#detail .by-head"), count = () => [...document.querySelectorAll("#detail .wide figure svg text")].filter((t) => /attn\.\d/.test(t.textContent)).length;
		const before = count(); b.click(); return [before, count()]`, &sums)
	assert.Zero(w.t, sums[0], "sites alone")
	assert.GreaterOrEqual(w.t, sums[1], 4.0, "heads one by one")
}

func (w window) checkOff() {
	w.press(`#detail td button[aria-label^="switch off blocks.0"]`, 0)
	w.wait(`document.querySelectorAll("#detail .views.two").length === 5`)
	assert.Equal(w.t, "2", w.text(`document.querySelectorAll(".run").length`))
	assert.Equal(w.t, "1", w.text(`document.querySelectorAll("#change-list li").length`))
	assert.NotEqual(w.t, "0", w.text(`document.querySelectorAll(".was").length`), "what differs says what it was")
	w.ask(`const i = document.querySelector("#change-list input"); i.value = 1; i.dispatchEvent(new Event("change"))`, nil)
	w.wait(`document.querySelectorAll(".was").length === 0`)
	assert.Equal(w.t, "0", w.text(`document.querySelectorAll(".token.differs, .token.less, .token.more").length`), "by 1 nothing is changed")
	w.press("#change-list button", 0)
	w.wait(`document.querySelectorAll(".run").length === 1 && document.querySelectorAll("#detail .views.two").length === 0`)
}

func (w window) checkSteered() {
	w.ask(`document.getElementById("new-change").open = true;
		document.getElementById("site").value = "blocks.0.feedforward.stream";
		document.getElementById("site").dispatchEvent(new Event("change"));
		document.querySelectorAll("input[name=way]")[1].checked = true;
		document.getElementById("times").value = 8;
		document.getElementById("plus").value = "x";
		document.getElementById("minus").value = "y";
		document.getElementById("add").click()`, nil)
	w.wait(`document.querySelectorAll(".run").length === 2 && document.querySelectorAll("#detail .views.two").length === 5`)
	assert.NotEqual(w.t, "0", w.text(`document.querySelectorAll(".token.differs, .token.less, .token.more").length`))
	assert.Contains(w.t, w.text(`document.querySelector("#change-list code").textContent`), "direction from “y” to “x”")
	w.photograph("steered")
	w.press("#change-list button", 0)
	w.wait(`document.querySelectorAll(".run").length === 1`)
}

func (w window) checkErrors() {
	w.ask(`document.getElementById("tokens").value = 500; document.getElementById("run").click()`, nil)
	w.wait(`document.getElementById("status").className.includes("failed")`)
	assert.Contains(w.t, w.text(`document.getElementById("status").textContent`), "a prompt and its text have at most 96 tokens, got 500")
	w.ask(`document.getElementById("tokens").value = 3; document.getElementById("run").click()`, nil)
	w.wait(`!document.getElementById("status").className.includes("failed")`)
}

// checkAccess checks that the page asks its reader for the token if the server's API needs one.
func (w window) checkAccess(c client) {
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" && r.Header.Get("Authorization") != "Bearer secret" {
			out.WriteHeader(http.StatusUnauthorized)
			out.Write([]byte(`{"error": {"message": "want a token"}}`))
			return
		}
		c.e.ServeHTTP(out, r)
	}))
	defer server.Close()
	require.NoError(w.t, w.Navigate(server.URL+"/"))
	w.wait(`document.getElementById("status").textContent === "want a token" && !document.getElementById("access").hidden`)
	w.ask(`const i = document.getElementById("token"); i.value = "secret"; i.dispatchEvent(new Event("change"))`, nil)
	w.wait(`document.getElementById("access").hidden`)
	w.wait(looked) // the page has run its first prompt
	w.press("#run", 0)
	w.wait(looked)
}

// checkNarrow checks that nothing is wider than the window of a phone.
func (w window) checkNarrow() {
	require.NoError(w.t, w.Resize(390, 800))
	w.wait(looked + " || " + done)
	assert.Equal(w.t, "390", w.text(`document.documentElement.scrollWidth`))
	w.photograph("narrow")
	require.NoError(w.t, w.Resize(1200, 1000))
}

// TestGallery visits the page for the model at EXPLORE_MODEL.
func TestGallery(t *testing.T) {
	path := os.Getenv("EXPLORE_MODEL")
	if path == "" {
		t.Skip("EXPLORE_MODEL is not set")
	}
	m, err := pretrained.Open(path)
	require.NoError(t, err)
	browser := browsertest.Open(t, 1200, 1000)
	require.NotNil(t, browser)
	w := window{browser, t}
	w.start(open(t, m, explore.Options{}).serve())
	t.Log(w.text(`document.getElementById("status").textContent`))
	w.press(".run .token", len([]rune(w.text(`"x".repeat(document.querySelectorAll(".run .token").length / 2)`))))
	w.wait(looked)
	t.Log(w.text(`document.getElementById("status").textContent`))
	w.photograph("one")
	w.press(`#detail td button[aria-label^="switch off blocks"]`, 1)
	w.wait(`document.querySelectorAll("#detail .views.two").length > 3`)
	w.wait(looked)
	t.Log(w.text(`document.getElementById("status").textContent`))
	w.photograph("two")
	require.NoError(t, w.Prefer("dark"))
	w.photograph("dark")
	t.Log(w.Console())
}
