package runconfig

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/settings"
	"github.com/residua-go/residua/models"
)

// zoo is the zoo with which the tests read configs.
var zoo = models.Standard()

const smallYAML = "model: {stream: {kind: vector, d_model: 8}, attention: {heads: 2}, feedforward: {kind: gelu, hidden: 16}, layers: 1, seq: 8}\ntrain: {steps: 6, lr: 1e-2}\n"

func TestAbsurdSizesAreRefusedInOneLine(t *testing.T) {
	refused := func(key string, sets ...string) {
		t.Helper()
		_, _, err := Parse(zoo, "x.yaml", []byte(smallYAML), sets)
		requireAt(t, err, "-set", key)
	}
	for _, set := range []string{
		"train.accumulate=4611686018427387904",
		"train.accumulate=0",
		"train.batch=9223372036854775807",
		"train.steps=9223372036854775807",
		"train.steps=-1",
		"train.eval_tokens=9223372036854775807",
		"device.threads=1000000",
		"device.threads=9223372036854775807",
		"device.threads=-1",
		"model.layers=1000000",
		"model.feedforward.hidden=1000000000000",
		"model.seq=1000000000",
		"model.vocab=9223372036854775807",
		"train.warmup=1e300",
		"sample.tokens=9223372036854775807",
		"sample.temperature=-0.5",
		"train.clip=-1",
	} {
		key, _, _ := strings.Cut(set, "=")
		refused(key, set)
	}
	refused("train.accumulate", "train.batch=65536", "train.accumulate=1048576") // tokens a step
	refused("train.tokens", "train.steps=0", "train.tokens=1000000000000000000") // steps
}

// requireAt requires an Error of one line about a key at a position.
func requireAt(t *testing.T, err error, position, key string) {
	t.Helper()
	var e *settings.Error
	require.ErrorAs(t, err, &e)
	assert.Equal(t, []string{position, key}, []string{e.Position, e.Key}, err.Error())
	assert.NotEmpty(t, e.Problem)
	assert.NotContains(t, err.Error(), "\n")
}

func TestTokensAreRoundedUpToSteps(t *testing.T) {
	for tokens, steps := range map[string]int{"1": 1, "64": 1, "65": 2, "128": 2, "6400000": 100000} {
		run, _, err := Parse(zoo, "x.yaml", []byte(smallYAML), []string{"train.steps=0", "train.tokens=" + tokens})
		require.NoError(t, err)
		assert.Equal(t, steps, run.TotalSteps(), tokens)
	}
}

func TestBoundsAreNumbersAndEveryIntegerHasOne(t *testing.T) {
	entries, err := settings.Entries(Run{})
	require.NoError(t, err)
	for _, e := range entries {
		for _, tag := range []string{"min", "max"} {
			text, given := e.Tag.Lookup(tag)
			if !given {
				continue
			}
			_, err := strconv.ParseFloat(text, 64)
			assert.NoError(t, err, "%s: %s", e.Key, tag)
			assert.True(t, e.Value.CanInt() || e.Value.CanUint() || e.Value.CanFloat(), e.Key)
		}
		if e.Value.CanInt() && !strings.HasPrefix(e.Key, "model.mup.") { // only a divisor
			assert.NotEmpty(t, e.Tag.Get("max"), "%s: an integer without a greatest value", e.Key)
		}
	}
}

func TestAnUnknownChoiceNamesItsKeyOnce(t *testing.T) {
	for _, set := range []string{"data.tokenizer=gpt3", "data.source=web", "train.schedule=none", "device.kind=tpu", "train.recompute=all"} {
		key, _, _ := strings.Cut(set, "=")
		_, _, err := Parse(zoo, "x.yaml", []byte(smallYAML), []string{set})
		require.Error(t, err)
		assert.Equal(t, 1, strings.Count(err.Error(), key), err.Error())
		assert.Contains(t, err.Error(), "want one of ")
	}
}
