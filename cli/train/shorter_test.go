package train

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/residua-go/residua/trainer"
)

// TestShorter: a run of more than an hour is told of a config that takes minutes.
func TestShorter(t *testing.T) {
	assert.Empty(t, shorter(trainer.Estimate{Time: time.Hour}))
	assert.Contains(t, shorter(trainer.Estimate{Time: time.Hour + time.Second}), "-config quickstart-small")
}
