package runconfig

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestTheNameOfAKindAlone: a section that has a kind's name in its place is refused with what to
// write, as are the configs of format version 1, where all keys stood side by side.
func TestTheNameOfAKindAlone(t *testing.T) {
	const train = "\ntrain: {steps: 1, lr: 1e-3}"
	for _, c := range []struct{ text, want string }{
		{"model:\n  layers: 2\n  stream: matrix\n  seq: 16", "x.yaml:3: model.stream: want a section: write stream: {kind: matrix}"},
		{"model: {stream: mch}", `x.yaml:1: model.stream: want a map with the key kind, one of ` + strings.Join(zoo.StreamNames(), ", ") + `, and that kind's keys, got "mch"`},
	} {
		_, _, err := Parse(zoo, "x.yaml", []byte(c.text+train), nil)
		assert.EqualError(t, err, c.want)
	}
	_, _, err := Load(zoo, "../testdata/version1/run/config.yaml", nil)
	require.EqualError(t, err, `../testdata/version1/run/config.yaml:6: model.stream: want a section: write stream: {kind: hyper}`)
}
