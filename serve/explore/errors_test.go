package explore_test

import (
	"context"
	"encoding/json"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/serve/explore"
)

// message sends a request that must fail with status, and returns the message of the error, which
// must be one line of JSON.
func (c client) message(path string, request any, status int) string {
	c.t.Helper()
	text := c.post(path, request, status).String()
	require.Equal(c.t, 1, strings.Count(text, "\n"), text)
	var failure struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	require.NoError(c.t, strict(text, &failure), text)
	require.NotContains(c.t, failure.Error.Message, "\n")
	return failure.Error.Message
}

func small(t *testing.T) client { return tiny(t, modeltest.Small(models.Standard())[0].Config, "") }

// TestBOSBeforePrompts: a prompt's text is read after BOS, unless the request says that it is from
// the middle of a text.
func TestBOSBeforePrompts(t *testing.T) {
	c, no := texts(t), false
	tokens, _ := c.run(explore.Run{Prompt: "ab"})
	assert.Equal(t, []int32{256, 'a', 'b'}, ids(tokens["untouched"]))
	tokens, _ = c.run(explore.Run{Prompt: "ab", BOS: &no})
	assert.Equal(t, []int32{'a', 'b'}, ids(tokens["untouched"]))
}

// TestErrors: every mistake in a request is reported in one line, and the next request is answered.
func TestErrors(t *testing.T) {
	c := small(t)
	one, zero, far, much := int32(1), 0.0, int32(13), math.MaxFloat64
	above := 1.5
	head := map[string]int{"head": 0}
	change := func(c explore.Change) explore.Run {
		return explore.Run{IDs: prompt, Changes: []explore.Change{c}}
	}
	const heads = "blocks.0.attention.heads"
	for want, request := range map[string]any{
		`ids: want at least one token id, each below 13: the model has no tokenizer, got none`:         explore.Run{},
		`prompt: want a text or ids, got both`:                                                         explore.Run{IDs: prompt, Prompt: "a"},
		`ids[1]: want 0 to 12, got 13`:                                                                 explore.Run{IDs: []int32{1, 13}},
		`prompt: want at most 9 tokens, got 10`:                                                        explore.Run{IDs: make([]int32, 10)},
		`tokens: want 0 to 5: a prompt and its text have at most 9 tokens, got 6`:                      explore.Run{IDs: prompt, Tokens: 6},
		`top: want >= 0, got -1`:                                                                       explore.Run{IDs: prompt, Top: -1},
		`temperature: want >= 0, got -1`:                                                               explore.Run{IDs: prompt, Temperature: -1, Tokens: 1},
		`top_k: want >= 0, got -1`:                                                                     explore.Run{IDs: prompt, TopK: -1, Tokens: 1},
		`top_p: want >= 1e-6, got 0`:                                                                   explore.Run{IDs: prompt, TopP: &zero, Tokens: 1},
		`top_p: want <= 1, got 1.5`:                                                                    explore.Run{IDs: prompt, TopP: &above, Tokens: 1},
		`want a body in UTF-8, got bytes that are not`:                                                 "{\"prompt\": \"a\xff\"}",
		`changes[0]: no activation "blocks.0.attention.head"; did you mean blocks.0.attention.heads?`:  change(explore.Change{Activation: "blocks.0.attention.head", Scale: &zero}),
		`changes[0]: at: want axes of blocks.0.attention.heads, ["token" "head" "value"], got heads`:   change(explore.Change{Activation: heads, At: map[string]int{"heads": 1}, Scale: &zero}),
		`changes[0]: head: want 0 to 7, got 8`:                                                         change(explore.Change{Activation: heads, At: map[string]int{"head": 8}, Scale: &zero}),
		`changes[0]: change: want either scale or add, got both or none`:                               change(explore.Change{Activation: heads}),
		`changes[0].scale: want <= 1e6, got 1.79`:                                                      change(explore.Change{Activation: heads, Scale: &much}),
		`changes[0]: values: want 12, one for each chosen entry of a token, got 2`:                     change(explore.Change{Activation: heads, At: head, Add: &explore.Direction{Times: 1, Values: []float64{1, 2}}}),
		`changes[0]: add: want values, or a text in plus, got none`:                                    change(explore.Change{Activation: heads, Add: &explore.Direction{Times: 1}}),
		`changes[0]: tokens: want two positions of 0 to 8 of an activation that has tokens, got [3 2]`: change(explore.Change{Activation: heads, Scale: &zero, Tokens: []int{3, 2}}),
		`changes: want at most 64, got 65`:                                                             explore.Run{IDs: prompt, Changes: make([]explore.Change, 65)},
		`token: unknown key; did you mean tokens?`:                                                     `{"token": 1}`,
		`tokens: want an integer, got string`:                                                          `{"tokens": "1"}`,
		`tokens: given twice`:                                                                          `{"tokens": 1, "tokens": 2}`,
		`changes[0].scale: given twice`:                                                                `{"changes": [{"scale": 1, "scale": 2}]}`,
		`changes[0].at.head: given twice`:                                                              `{"changes": [{"at": {"head": 1, "head": 2}}]}`,
		`want a JSON object, got null`:                                                                 `null`,
		`want a JSON object, got an array`:                                                             `[]`,
		`want one JSON object, got more after it`:                                                      `{} {}`,
		`want a JSON object, got a text that ends before it does`:                                      ``,
	} {
		got := c.message("/explorer/run", request, http.StatusBadRequest)
		if !strings.HasPrefix(got, want) {
			assert.Equal(t, want, got)
		}
	}
	for want, look := range map[string]explore.Look{
		`position: want 0 to 3, got 4`:  {IDs: prompt, Position: 4},
		`target: want 0 to 12, got 13`:  {IDs: prompt, Target: &far},
		`against: want 0 to 12, got 13`: {IDs: prompt, Target: &one, Against: &far},
	} {
		assert.Equal(t, want, c.message("/explorer/token", look, http.StatusBadRequest))
	}
	assert.Equal(t, `layer: want 0 to 1, got 2`, c.message("/explorer/attention", explore.Look{IDs: prompt, Layer: 2}, http.StatusBadRequest))
	assert.Equal(t, `want a body of at most 1048576 bytes, got more`, c.message("/explorer/run", `{"prompt": "`+strings.Repeat("a", 1<<20)+`"}`, http.StatusRequestEntityTooLarge))
	tokens, _ := c.run(explore.Run{IDs: prompt, Tokens: 1})
	assert.Len(t, tokens["untouched"], 5)
}

// TestDiverged: if a change drives the logits beyond float32, every call says so, and does not say
// that the weights are damaged; the next request is answered.
func TestDiverged(t *testing.T) {
	c := small(t)
	values := make([]float64, 12*12)
	for i := range values {
		values[i] = math.MaxFloat32
	}
	changes := []explore.Change{{Activation: "embedding.out", Add: &explore.Direction{Times: 1e6, Values: values}}}
	text := c.post("/explorer/run", explore.Run{IDs: prompt, Tokens: 2, Changes: changes}, http.StatusOK).String()
	lines := strings.Split(strings.TrimSpace(text), "\n")
	const want = "the changes drive the logits beyond what float32 can hold: take a smaller factor, or remove a change"
	assert.Equal(t, `{"error":{"message":"`+want+`"}}`, lines[len(lines)-1])
	look := explore.Look{IDs: prompt, Position: 1, Changes: changes}
	assert.Equal(t, want, c.message("/explorer/token", look, http.StatusUnprocessableEntity))
	assert.Equal(t, want, c.message("/explorer/attention", look, http.StatusUnprocessableEntity))
	c.look(explore.Look{IDs: prompt, Position: 1})
}

// TestRefused: other methods and content types are refused, and so are requests when too many wait.
func TestRefused(t *testing.T) {
	c := small(t)
	for path, method := range map[string]string{"/explorer/model": http.MethodPost, "/explorer/run": http.MethodGet, "/explorer/token": http.MethodPut} {
		w := httptest.NewRecorder()
		c.e.ServeHTTP(w, httptest.NewRequest(method, path, nil))
		assert.Equal(t, http.StatusMethodNotAllowed, w.Code)
		assert.True(t, json.Valid(w.Body.Bytes()))
	}
	w := httptest.NewRecorder()
	c.e.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/explorer/run", strings.NewReader("{}")))
	assert.Equal(t, http.StatusUnsupportedMediaType, w.Code, "without a type, as a form of another site sends it")
}

// TestContext: a request whose client has gone is abandoned, and delays no other.
func TestContext(t *testing.T) {
	c := small(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	begin := time.Now()
	r := httptest.NewRequest(http.MethodPost, "/explorer/run", strings.NewReader(`{"ids": [1, 2], "tokens": 5}`)).WithContext(ctx)
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	c.e.ServeHTTP(w, r)
	assert.Empty(t, w.Body.String())
	assert.Less(t, time.Since(begin), 10*time.Second)
	c.run(explore.Run{IDs: prompt, Tokens: 1})
}
