package trainer_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/trainer"
)

// lossPicture trains some steps and returns loss.svg.
func lossPicture(t *testing.T, sets ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "run")
	train(t, tiny(t, corpus(t), out, sets...), trainer.Options{})
	svg, err := os.ReadFile(filepath.Join(out, "loss.svg"))
	require.NoError(t, err)
	return string(svg)
}

// TestLossPictureReads: the picture works in light and dark, uses a font without serifs, cuts
// nothing off, and shows even a single evaluation.
func TestLossPictureReads(t *testing.T) {
	const training, pale, validation = "#3366AA", "#B8C9E1", "#DD8833"
	svg := lossPicture(t, "train.steps=60", "train.eval_every=60")
	assert.Contains(t, svg, "@media (prefers-color-scheme:dark)")
	assert.Contains(t, svg, "stroke:"+training, "the smoothed curve")
	assert.Contains(t, svg, "stroke:"+pale, "the raw one")
	assert.NotContains(t, svg, "Serif")
	assert.Equal(t, strings.Count(svg, "<text"), strings.Count(svg, ",sans-serif;"))
	circles := regexp.MustCompile(`d="M[^"]*A[^"]*"\s+style="fill:`+validation).FindAllString(svg, -1)
	assert.Len(t, circles, 2, "a mark in the picture, one in the legend")
	size := regexp.MustCompile(`viewBox="0 0 ([\d.]+) ([\d.]+)"`).FindStringSubmatch(svg)
	require.Len(t, size, 3)
	width, err := strconv.ParseFloat(size[1], 64)
	require.NoError(t, err)
	const margin, wider = 10, 0.6 // of a letter's size: about a viewer's letter
	for _, text := range regexp.MustCompile(`<text x="([-\d.]+)"[^>]*font-size:([\d.]+)px[^>]*>([^<]*)<`).FindAllStringSubmatch(svg, -1) {
		x, _ := strconv.ParseFloat(text[1], 64)
		letter, _ := strconv.ParseFloat(text[2], 64)
		assert.Less(t, x+wider*letter*float64(len(text[3])), width, "%q is cut off", text[3])
	}
	for _, path := range regexp.MustCompile(`style="fill:none;stroke:(?:`+training+`|`+validation+`)`).FindAllStringIndex(svg, -1) {
		start := strings.LastIndex(svg[:path[0]], `d="`)
		for _, at := range regexp.MustCompile(`[ML]([-\d.]+),`).FindAllStringSubmatch(svg[start:path[0]], -1) {
			x, _ := strconv.ParseFloat(at[1], 64)
			assert.Less(t, x, width-margin, "a line goes to the edge")
		}
	}
}

// TestLossPictureOfOneStep: a single step has a mark, between numbers that can be told apart.
func TestLossPictureOfOneStep(t *testing.T) {
	svg := lossPicture(t, "train.steps=1", "train.eval_every=0")
	assert.Regexp(t, `d="M[^"]*A[^"]*"\s+style="fill:#3366AA`, svg)
	assert.NotContains(t, svg, "NaN")
	assert.Contains(t, svg, ">60<")
	assert.Contains(t, svg, ">80<")
}
