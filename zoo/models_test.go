package zoo_test

import (
	"context"
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/generate"
	"github.com/residua-go/residua/internal/longtest"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/pretrained"
	"github.com/residua-go/residua/runconfig"
	"github.com/residua-go/residua/zoo"
)

var (
	presetOnCard = regexp.MustCompile("`model\\.preset: ([a-z0-9-]+)`")
	scoreOnCard  = regexp.MustCompile(`\| 262,144 \| ([0-9.]+) ± ([0-9.]+) \|`)
)

// card returns what a model's card says at the first match of a pattern.
func card(t *testing.T, name string, pattern *regexp.Regexp) []string {
	t.Helper()
	text, err := os.ReadFile(name + ".md")
	require.NoError(t, err)
	found := pattern.FindStringSubmatch(string(text))
	require.NotNil(t, found, "%s.md: %s", name, pattern)
	return found[1:]
}

// TestModels: each model of the zoo has the shape of the preset on its card, and writes text.
func TestModels(t *testing.T) {
	for _, name := range zoo.Standard().Names() {
		t.Run(name, func(t *testing.T) {
			m, err := pretrained.Open(zoo.Prefix + name)
			require.NoError(t, err)
			defer m.Close()
			run, _, err := runconfig.Load(models.Standard(), "quickstart", []string{"model.preset=" + card(t, name, presetOnCard)[0]})
			require.NoError(t, err)
			assert.Equal(t, run.Spec().Config, m.Spec.Config)
			text, err := m.Generate(context.Background(), "func ", generate.Request{Tokens: 16})
			require.NoError(t, err)
			assert.Len(t, text, 16)
		})
	}
}

// TestScoresOnCards: each model's loss on held-out text is the one on its card. It may differ by
// three standard errors, as another release of Go has another text.
func TestScoresOnCards(t *testing.T) {
	longtest.Skip(t)
	for i, name := range zoo.Standard().Names() {
		t.Run(name, func(t *testing.T) {
			longtest.Represent(t, i < 1)
			said := card(t, name, scoreOnCard)
			loss, err := strconv.ParseFloat(said[0], 64)
			require.NoError(t, err)
			plusMinus, err := strconv.ParseFloat(said[1], 64)
			require.NoError(t, err)
			m, err := pretrained.Open(zoo.Prefix + name)
			require.NoError(t, err)
			defer m.Close()
			score, err := m.Evaluate(context.Background(), pretrained.EvaluateOptions{Tokens: 262144})
			require.NoError(t, err)
			assert.InDelta(t, loss, score.Loss, 3*plusMinus)
		})
	}
}
