package explore_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/internal/longtest"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/pretrained"
	"github.com/residua-go/residua/serve/explore"
)

// client sends requests to an Explorer of one model.
type client struct {
	t *testing.T
	e *explore.Explorer
}

func open(t *testing.T, m *pretrained.Model, o explore.Options) client {
	t.Helper()
	e, err := explore.New(m, o)
	require.NoError(t, err)
	t.Cleanup(e.Close)
	return client{t, e}
}

// tiny returns a client of a model with random weights.
func tiny(t *testing.T, c models.Config, tokenizer string) client {
	t.Helper()
	spec := modeltest.Resolve(t, c)
	m := &pretrained.Model{Store: modeltest.PerturbedStore(t, spec, tensor.Float32)}
	m.Spec, m.Data.Tokenizer = spec, tokenizer
	return open(t, m, explore.Options{Name: "tiny", Threads: 1})
}

// post sends a request and returns the answer, whose status must be the given one.
func (c client) post(path string, request any, status int) *bytes.Buffer {
	c.t.Helper()
	body, ok := request.(string)
	if !ok {
		text, err := json.Marshal(request)
		require.NoError(c.t, err)
		body = string(text)
	}
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	c.e.ServeHTTP(w, r)
	require.Equal(c.t, status, w.Code, w.Body.String())
	return w.Body
}

// run returns the tokens of a request's runs by name, and the forced probabilities.
func (c client) run(r explore.Run) (tokens map[string][]explore.Token, forced []*float64) {
	c.t.Helper()
	tokens = map[string][]explore.Token{}
	scanner := bufio.NewScanner(c.post("/explorer/run", r, http.StatusOK))
	stops := 0
	for scanner.Scan() {
		var e explore.Event
		require.NoError(c.t, strict(scanner.Text(), &e))
		if e.Token != nil {
			tokens[e.Run] = append(tokens[e.Run], *e.Token)
		}
		if e.Stop != "" {
			stops++
		}
		if e.Forced != nil {
			forced = e.Forced
		}
	}
	require.Equal(c.t, len(tokens), stops, "each run says how it ended")
	return tokens, forced
}

func (c client) look(l explore.Look) explore.Views[explore.View] {
	c.t.Helper()
	var v explore.Views[explore.View]
	require.NoError(c.t, strict(c.post("/explorer/token", l, http.StatusOK).String(), &v))
	return v
}

func (c client) model() explore.Description {
	c.t.Helper()
	w := httptest.NewRecorder()
	c.e.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/explorer/model", nil))
	var d explore.Description
	require.NoError(c.t, strict(w.Body.String(), &d))
	return d
}

func strict(text string, into any) error {
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

func ids(tokens []explore.Token) []int32 {
	var ids []int32
	for _, t := range tokens {
		ids = append(ids, t.ID)
	}
	return ids
}

// sameProbabilities compares tokens and their probabilities.
func sameProbabilities(t *testing.T, want, got []explore.Token, tolerance float64) {
	t.Helper()
	require.Equal(t, ids(want), ids(got))
	for i, token := range want {
		if i == 0 {
			assert.Nil(t, token.Probability)
			continue
		}
		require.InDelta(t, *token.Probability, *got[i].Probability, tolerance, "token %d", i)
		require.Equal(t, token.Top[0].ID, got[i].Top[0].ID, "token %d", i)
	}
}

var prompt = []int32{1, 7, 3, 4}

// TestZoo: the Explorer answers for every design, without long tests for a few. What heads, neurons
// and all other writers wrote adds up to the logit, and generated text has the same probabilities
// as when it is given as a row, changed or not.
func TestZoo(t *testing.T) {
	for _, p := range append(modeltest.Small(models.Standard()), experts()) {
		t.Run(p.Name, func(t *testing.T) {
			few := p.Name == "quickstart" || p.Name == "quickstart-transformer" || p.Name == experts().Name
			longtest.Represent(t, few || longtest.Enabled())
			c := tiny(t, p.Config, "")
			about := c.model()
			assert.Equal(t, 2+max(0, p.Config.Loops-1), about.Layers, "of a loop each pass") // the loop is of one block
			assert.NotEmpty(t, about.Writers)
			t.Run("generated", func(t *testing.T) { client{t, c.e}.checkGenerated(about) })
			t.Run("sums", func(t *testing.T) { client{t, c.e}.checkSums(about) })
			t.Run("scale 1", func(t *testing.T) { client{t, c.e}.checkNothing(about) })
			t.Run("off", func(t *testing.T) { client{t, c.e}.checkOff(about) })
		})
	}
}

// experts returns a model with a mixture of experts.
func experts() models.Preset {
	for _, p := range models.Standard().Presets() {
		if p.Config.Layers == 4 && p.Config.FeedForward != nil && p.Config.FeedForward.Shape().Experts > 0 {
			p.Config = modeltest.Shrunk(p.Config)
			return p
		}
	}
	panic("the zoo has no small mixture of experts")
}

// everywhere returns changes to the sites, as many as one request may have.
func everywhere(about explore.Description, scale float64, tokens []int) []explore.Change {
	var all []explore.Change
	for _, s := range about.Sites {
		if tokens == nil || s.Axes[0] == "token" {
			all = append(all, explore.Change{Activation: s.Name, Scale: &scale, Tokens: tokens})
		}
	}
	return all[:min(len(all), 64)]
}

func (c client) checkGenerated(about explore.Description) {
	for name, changes := range map[string][]explore.Change{"untouched": nil, "changed": everywhere(about, 1.1, nil), "from the third on": everywhere(about, 0.5, []int{2, 8})} {
		tokens, forced := c.run(explore.Run{IDs: prompt, Tokens: 3, Changes: changes})
		run := "untouched"
		if changes != nil {
			run = "changed"
			require.Len(c.t, forced, len(tokens["untouched"]))
		}
		text := tokens[run]
		require.Len(c.t, text, 7, name)
		row, _ := c.run(explore.Run{IDs: ids(text), Changes: changes})
		sameProbabilities(c.t, row[run], text, 1e-4)
	}
}

func (c client) checkSums(about explore.Description) {
	for _, target := range []int32{2, 9} {
		against := int32(5)
		v := c.look(explore.Look{IDs: prompt, Position: 2, Target: &target, Against: &against})
		c.checkView(v.Untouched)
		assert.Nil(c.t, v.Changed)
		assert.Len(c.t, v.Untouched.Attention, about.Layers)
		for layer, a := range v.Untouched.Attention {
			assert.Equal(c.t, fmt.Sprintf("blocks.%d.attention.0", layer), a.Names[0])
			for _, head := range a.Heads {
				sum := 0.0
				for _, w := range head {
					sum += w
				}
				assert.InDelta(c.t, 1, sum, 1e-5, "all that a head attends to is before the position")
			}
		}
		assert.InDelta(c.t, v.Untouched.Target.Probability, v.Untouched.Lens[len(v.Untouched.Lens)-1].Probability, 1e-4, "after the last writer the lens is the model")
	}
}

// checkView checks that the terms of a logit add up to it.
func (c client) checkView(v explore.View) {
	c.t.Helper()
	a := v.Attribution
	bound := 1e-4 * max(1, math.Abs(a.Logit))
	sum := a.Constant + a.Others
	for _, term := range a.Contributions {
		sum += term.Value
	}
	assert.InDelta(c.t, a.Logit, sum, bound, "parts")
	sum = a.Constant
	for _, w := range a.Writers {
		sum += w.Value
	}
	assert.InDelta(c.t, a.Logit, sum, bound, "writers")
	assert.InDelta(c.t, 0, a.Remainder, bound)
}

func (c client) checkNothing(about explore.Description) {
	tokens, forced := c.run(explore.Run{IDs: prompt, Tokens: 3, Changes: everywhere(about, 1, nil)})
	assert.Equal(c.t, tokens["untouched"], tokens["changed"])
	for i, p := range forced[:len(prompt)] {
		assert.Equal(c.t, tokens["untouched"][i].Probability, p)
	}
	v := c.look(explore.Look{IDs: prompt, Position: 3, Changes: everywhere(about, 1, nil)})
	assert.Equal(c.t, v.Untouched, *v.Changed)
}

// checkOff switches off all terms that allow it, one by one, and checks that the term is gone and
// the logits differ.
func (c client) checkOff(about explore.Description) {
	target := int32(2)
	before := c.look(explore.Look{IDs: prompt, Position: 3, Target: &target})
	seen := 0
	for _, term := range before.Untouched.Attribution.Contributions {
		if term.Change == nil || seen == 6 {
			continue
		}
		seen++
		v := c.look(explore.Look{IDs: prompt, Position: 3, Target: &target, Changes: []explore.Change{*term.Change}})
		c.checkView(*v.Changed)
		for _, after := range v.Changed.Attribution.Contributions {
			if after.Name == term.Name {
				assert.Zero(c.t, after.Value, term.Name)
			}
		}
		if math.Abs(term.Value) > 1e-3 {
			assert.NotEqual(c.t, v.Untouched.Next, v.Changed.Next, term.Name)
		}
	}
	assert.Positive(c.t, seen)
}
