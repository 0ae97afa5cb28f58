package spelling

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestNearest(t *testing.T) {
	known := []string{"steps", "batch", "lr", "min_lr", "warmup", "weight_decay", "clip", "z_loss", "dk", "dv", "mask_documents"}
	for want, nearest := range map[string]string{
		"setps":         "steps",
		"step":          "steps",
		"LR":            "lr",
		"l":             "",
		"":              "",
		"dq":            "dk",
		"wieght_dcay":   "weight_decay",
		"weight-decay":  "weight_decay",
		"z-loss":        "z_loss",
		"batch_size":    "batch",
		"max_steps":     "steps",
		"grad_clip":     "clip",
		"documents":     "mask_documents",
		"min_lr_rate":   "min_lr",
		"learning_rate": "",
		"epochs":        "",
		"stspe":         "",
		"wa":            "warmup",
		"Weigh":         "weight_decay",
		"w":             "",
	} {
		assert.Equal(t, nearest, Nearest(want, known), want)
	}
	assert.Equal(t, "", Nearest("a", nil))
	assert.Equal(t, "", Nearest(strings.Repeat("a", 65), []string{strings.Repeat("a", 65)}))
}

func TestEditDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"abc", "abc", 0}, {"abc", "acb", 1}, {"kitten", "sitting", 3},
		{"ca", "abc", 3}, {"é", "e", 1}, {"abcd", "badc", 2},
	} {
		assert.Equal(t, c.want, editDistance([]rune(c.a), []rune(c.b)), "%q %q", c.a, c.b)
		assert.Equal(t, c.want, editDistance([]rune(c.b), []rune(c.a)), "%q %q", c.b, c.a)
	}
}
