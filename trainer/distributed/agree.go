package distributed

import (
	"encoding/json"
	"fmt"

	"github.com/pkg/errors"
)

// Fact is a value that all ranks must have in common, such as the value of a config key.
type Fact struct{ Name, Value string }

// Agree returns an error on every rank if a rank's facts differ from those of rank 0 or if it has
// fewer or more. The error names the first such fact and rank.
func Agree(g *Group, facts []Fact) error {
	all, err := Gather(g, "facts that all ranks must agree on", facts)
	if err != nil {
		return err
	}
	for r, theirs := range all {
		for i, f := range theirs[:min(len(theirs), len(all[0]))] {
			want := all[0][i]
			if f.Name != want.Name {
				return errors.Errorf("rank %d (%s): want %s as rank 0 (%s), got %s: start all ranks with the same program and config", r, g.peers[r].place(), want.Name,
					g.peers[0].place(), f.Name)
			}
			if f != want {
				return errors.Errorf("rank %d (%s): %s: want %q as rank 0 (%s), got %q: start all ranks with the same program, config, data and machine", r,
					g.peers[r].place(), f.Name, want.Value, g.peers[0].place(), f.Value)
			}
		}
		if len(theirs) != len(all[0]) {
			return errors.Errorf("rank %d: want %d facts as rank 0, got %d: do all ranks run the same program?", r, len(all[0]), len(theirs))
		}
	}
	return nil
}

// place names a rank's process.
func (p *peer) place() string { return fmt.Sprintf("process %d on host %s", p.pid, p.host) }

// Gather returns every rank's value, which travels as JSON, in the order of ranks.
func Gather[V any](g *Group, what string, value V) ([]V, error) {
	mine, err := json.Marshal(value)
	if err != nil {
		return nil, errors.WithStack(err)
	}
	lengths := make([]float64, g.size)
	lengths[g.rank] = float64(len(mine))
	if err := AllGather(g, what, Split(lengths, g.size)).Wait(); err != nil {
		return nil, err
	}
	texts := make([]Piece[byte], g.size)
	for r, n := range lengths {
		texts[r] = Piece[byte]{make([]byte, int(n)), r}
	}
	copy(texts[g.rank].Data, mine)
	if err := AllGather(g, what, texts).Wait(); err != nil {
		return nil, err
	}
	values := make([]V, g.size)
	for r, t := range texts {
		if err := json.Unmarshal(t.Data, &values[r]); err != nil {
			return nil, errors.Wrapf(err, "%s: rank %d", what, r)
		}
	}
	return values, nil
}
