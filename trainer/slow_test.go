package trainer_test

import (
	"context"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/trainer"
)

// TestSlowCompilation: before a program is compiled that takes many seconds, the run says how many,
// and can still be stopped; a small program is compiled without a word.
func TestSlowCompilation(t *testing.T) {
	text := corpus(t)
	notes := func(layers int) (seconds []int) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		estimate := regexp.MustCompile(`^compiling \d+ layers for about (?:(\d+)m)?(\d+)s: `)
		l := &listener{onNote: func(line string) {
			if m := estimate.FindStringSubmatch(line); m != nil {
				minutes, _ := strconv.Atoi(m[1])
				n, err := strconv.Atoi(m[2])
				require.NoError(t, err)
				seconds = append(seconds, 60*minutes+n)
				cancel()
			}
		}}
		tr, err := trainer.Open(ctx, tiny(t, text, filepath.Join(t.TempDir(), "run"), "model.layers="+strconv.Itoa(layers)),
			trainer.Options{Resume: trainer.ResumeNone, Report: l})
		if len(seconds) > 0 {
			require.ErrorIs(t, err, context.Canceled)
			return seconds
		}
		require.NoError(t, err)
		tr.Close()
		return nil
	}
	require.Empty(t, notes(8))
	at600, at900 := notes(600), notes(900)
	require.Len(t, at600, 1)
	require.Len(t, at900, 1)
	require.InDelta(t, 2.25, float64(at900[0])/float64(at600[0]), 0.3, "1.5 times the nodes, 2.25 times the time")
}
