package graph

import (
	"fmt"
	"strings"

	"github.com/pkg/errors"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/internal/memory"
)

// AvailableMemory returns how many bytes of memory the process can still take. Swap counts; the
// limit of the process's control group applies. It returns math.MaxInt on systems where this is
// unknown.
func AvailableMemory() int { return memory.Available() }

// checkMemory refuses a program whose buffers do not fit into the available memory, before they are
// allocated. Parameters that exist already are not counted again. On a device nothing is checked:
// the device reports a failed allocation itself.
func (p *Program) checkMemory() error {
	if p.builder.planning() {
		return errors.New("want a store with values, got one that only plans")
	}
	if p.builder.OnDevice() {
		return nil
	}
	need, available := p.additionalMemory(), p.options.Memory
	if available == 0 {
		available = AvailableMemory()
	}
	return need.Within(available, "fewer rows or tokens at a time, recomputation by block or a smaller model take less")
}

// additionalMemory returns what the program needs in addition to what is allocated already.
func (p *Program) additionalMemory() MemoryNeed {
	m := MemoryNeed{Activations: p.plan.bytes}
	if p.options.Separate {
		m.Activations = p.plan.unshared
	}
	for _, n := range p.builder.inputs {
		m.Activations += SignatureOf(n).Bytes()
	}
	m.Parameters, m.Scratch = p.hostMemory()
	if !p.options.Gradients {
		return m
	}
	store := p.builder.options.Store
	for _, param := range store.Trained() {
		bytes := param.Size() * int(store.dtype.Size())
		m.Gradients += absent(param.Grad, bytes)
		for _, moment := range []*tensor.Dense{param.Moment1, param.Moment2}[:p.options.moments(param)] {
			m.Moments += absent(moment, bytes)
		}
	}
	m.Moments = p.options.shareOf(m.Moments)
	return m
}

func absent(t *tensor.Dense, bytes int) int {
	if t == nil {
		return bytes
	}
	return 0
}

// Within returns nil if the need is at most available, otherwise an error that lists the parts of
// the need and ends with advice.
func (m MemoryNeed) Within(available int, advice string) error {
	if m.Total() <= available {
		return nil
	}
	var parts []string
	for _, part := range []struct {
		name  string
		bytes int
	}{{"parameters", m.Parameters}, {"gradients", m.Gradients}, {"moments", m.Moments}, {"activations", m.Activations}, {"scratch", m.Scratch}} {
		if part.bytes > 0 {
			parts = append(parts, part.name+" "+FormatBytes(part.bytes))
		}
	}
	return errors.Errorf("want about %s of memory (%s), got %s available: %s", FormatBytes(m.Total()), strings.Join(parts, ", "), FormatBytes(available), advice)
}

// FormatBytes formats a number of bytes for people to read, as in "4.1 TB".
func FormatBytes(n int) string {
	units, v, i := []string{"bytes", "KB", "MB", "GB", "TB", "PB", "EB"}, float64(n), 0
	for v >= 999.5 && i < len(units)-1 {
		v, i = v/1000, i+1
	}
	if v >= 9.95 || i == 0 {
		return fmt.Sprintf("%.0f %s", v, units[i])
	}
	return fmt.Sprintf("%.1f %s", v, units[i])
}
