package experiment

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/residua-go/residua/trainer"
)

// TestStoppedProcess: a step in which the process was stopped, so that its rate is 0, adds no time.
func TestStoppedProcess(t *testing.T) {
	var r Record
	r.add([]trainer.Metrics{{Tokens: 100, TokensPS: 50}, {Tokens: 200}, {Tokens: 300, TokensPS: 25}}, 100)
	assert.Equal(t, 6.0, r.Seconds)
	assert.EqualValues(t, 300, r.Tokens)
}
