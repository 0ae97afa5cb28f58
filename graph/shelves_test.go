package graph

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestShelvesFindTheLowestPlace: shelves find the same place as a search through every interval.
func TestShelvesFindTheLowestPlace(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 0))
		var all shelves
		var placed []*interval // sorted by offset
		for range 1500 {
			v := &interval{start: r.IntN(1000), bytes: 64 * (1 + r.IntN(1+int(seed)))}
			v.end = v.start + r.IntN(1+r.IntN(1000))
			want, at := 0, 0
			for _, other := range placed {
				if other.end < v.start || v.end < other.start {
					continue
				}
				if want+v.bytes <= other.offset {
					break
				}
				want = max(want, other.offset+other.bytes)
			}
			v.offset = all.lowest(v)
			require.Equal(t, want, v.offset)
			all = all.put(v)
			for at < len(placed) && placed[at].offset <= v.offset {
				at++
			}
			placed = append(placed[:at], append([]*interval{v}, placed[at:]...)...)
		}
		var row []*interval
		for _, s := range all {
			require.Less(t, len(s.row), shelfLength)
			row = append(row, s.row...)
		}
		require.Equal(t, placed, row)
	}
}
