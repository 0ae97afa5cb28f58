package report

import "github.com/residua-go/residua/analysis"

// MemoryOptions say how many random memories are filled.
type MemoryOptions struct {
	Seeds int // memories a point, at least 2; 0: 16
	Seed  uint64
}

// Memory reports the matrix stream as an associative memory.
func Memory(m *Model, o MemoryOptions) (*Report, error) {
	r := on(m, analysis.AnalysisMemory, "Associative memory", nil)
	keys, err := analysis.MeasureKeys(m.Store, m.Spec, o.Seed)
	if err != nil {
		return nil, err
	}
	r.Add("keys", "The model's keys", "All sites store in one matrix. How much a reading key hears of each writing key is their cosine.", keys)
	tried, err := analysis.TryMemory(analysis.MemoryOptions{Dk: keys.Dk, Dv: m.Spec.StreamSize() / keys.Dk, Seeds: o.Seeds, Seed: o.Seed})
	if err != nil {
		return nil, err
	}
	r.Add("memory", "Random pairs in one matrix", "Pairs of a key and a value are stored as outer products and read back: the relative squared error against the number of pairs.", tried)
	return r, nil
}
