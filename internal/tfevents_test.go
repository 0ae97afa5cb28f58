package internal_test

import (
	"bytes"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/tfevents"
)

// TestTensorBoardReadsIt: testdata has a file which TensorBoard 2.21.0 has read
// (tensorboard.backend.event_processing.event_accumulator) as
//
//	train/loss        (step 1: 5.5) (step 300: 2.25)
//	validation/loss   (step 300: 2.5)
//	sample            (step 300: "func main() {\n\té 雪")
//
// with the times below. The same values still give the same bytes.
func TestTensorBoardReadsIt(t *testing.T) {
	var file bytes.Buffer
	at := time.UnixMicro(1_700_000_000_250_000)
	w, err := tfevents.New(&file, at)
	require.NoError(t, err)
	require.NoError(t, w.Scalars(at, 1, tfevents.Scalar{Tag: "train/loss", Value: 5.5}))
	w = tfevents.Append(&file)
	require.NoError(t, w.Scalars(at.Add(2*time.Second), 300, tfevents.Scalar{Tag: "train/loss", Value: 2.25}, tfevents.Scalar{Tag: "validation/loss", Value: 2.5}))
	require.NoError(t, w.Text(at.Add(3*time.Second), 300, "sample", "func main() {\n\té 雪"))

	const known = "testdata/events.out.tfevents.known"
	if os.Getenv("RESIDUA_WRITE_EVENTS") != "" { // have TensorBoard read it anew
		require.NoError(t, os.WriteFile(known, file.Bytes(), 0o644))
	}
	want, err := os.ReadFile(known)
	require.NoError(t, err)
	require.Equal(t, want, file.Bytes())
}
