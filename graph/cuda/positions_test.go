//go:build cuda

package cuda

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestDocumentStarts checks rows longer than a warp reads at once: documents that begin where a
// warp's part begins or ends, runs of BOS, a row that begins inside a document.
func TestDocumentStarts(t *testing.T) {
	const rows, seq, bos = 9, 77, 5
	d := testDevice(t)
	tokens, want := make([]int32, rows*seq), make([]int32, rows*seq)
	for row := range rows {
		start, previous := int32(0), int32(-1)
		for i := range seq {
			id := int32(1)
			if i%(row+3) == 0 && row > 0 || row > 5 && i%(row+3) == 1 || i == 32 && row%2 == 0 {
				id = bos
			}
			if id == bos && previous != bos {
				start = int32(i)
			}
			tokens[row*seq+i], want[row*seq+i], previous = id, start, id
		}
	}
	starts := intsOnDevice(t, d, make([]int32, rows*seq))
	launchOn(t, d, "document_starts", Over(rows*32, 256), starts, intsOnDevice(t, d, tokens), Int(bos), Int(seq), Int(rows))
	assert.Equal(t, want, intsOnHost(t, d, starts))
}
