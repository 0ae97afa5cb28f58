package cuda

import (
	"unsafe"

	"github.com/pkg/errors"
)

// MuonMatrix is a weight matrix, Rows x Columns at the same indices of its arrays: row i begins at
// i*Stride. Arrays are F32, except Shadow: a BF16 copy of Value that is updated with it, the zero
// Array if there is none.
type MuonMatrix struct {
	Value, Shadow, Grad, Momentum Array
	Rows, Columns, Stride         int
	Rate, Decay                   float64
}

// Muon updates weight matrices as graph/kernel/muon.go does, by the iteration as published, on
// batches of up to muonMost matrices of the same shape. Products are in the device's precision.
type Muon struct {
	device  Executor
	fresh   float64 // 1 - momentum
	batches []muonBatch
	table   Array // [matrices] muonMatrix
	x, y    Array // [matrices of a batch, rows, columns]
	a, b    Array // [matrices of a batch, side, side]
	sums    Array // [matrices of a batch, muonBlocks]
}

// muonBatch is a number of matrices of the same shape.
type muonBatch struct{ first, count, rows, columns int }

func (b muonBatch) side() int { return min(b.rows, b.columns) }

// muonMatrix is Matrix of optimizer.cu.
type muonMatrix struct {
	value, shadow, grad, momentum uint64
	rows, columns, stride         int64
	rate, decay                   float64
}

const (
	muonMost   = 16 // largest number of matrices of a batch
	muonBlocks = 32 // blocks of threads for one matrix
	muonSteps  = 5
)

// NewMuon uploads the table of matrices. Their arrays must not move while the Muon is used.
func NewMuon(d Executor, momentum float64, matrices []MuonMatrix) (*Muon, error) {
	m := &Muon{device: d, fresh: 1 - momentum}
	var table []muonMatrix
	var x, a, most int
	done := make([]bool, len(matrices))
	for i := range matrices {
		for !done[i] {
			b := muonBatch{first: len(table), rows: matrices[i].Rows, columns: matrices[i].Columns}
			for j := i; j < len(matrices) && b.count < muonMost; j++ {
				if r := matrices[j]; !done[j] && r.Rows == b.rows && r.Columns == b.columns {
					table = append(table, muonMatrix{r.Value.Ptr, r.Shadow.Ptr, r.Grad.Ptr, r.Momentum.Ptr, int64(r.Rows), int64(r.Columns), int64(r.Stride), r.Rate, r.Decay})
					b.count++
					done[j] = true
				}
			}
			m.batches = append(m.batches, b)
			x, a, most = max(x, b.count*b.rows*b.columns), max(a, b.count*b.side()*b.side()), max(most, b.count)
		}
	}
	if len(table) == 0 {
		return nil, errors.New("Muon: want matrices, got none")
	}
	for _, part := range []struct {
		array *Array
		t     Type
		n     int
	}{{&m.table, F64, len(table) * int(unsafe.Sizeof(muonMatrix{})) / 8}, {&m.x, F32, x}, {&m.y, F32, x}, {&m.a, F32, a}, {&m.b, F32, a},
		{&m.sums, F64, most * muonBlocks}} {
		array, err := d.Alloc(part.t, part.n)
		if err != nil {
			m.Close()
			return nil, errors.Wrap(err, "Muon")
		}
		*part.array = array
	}
	if err := d.Upload(m.table, unsafe.Pointer(unsafe.SliceData(table))); err != nil {
		m.Close()
		return nil, errors.Wrap(err, "Muon")
	}
	return m, nil
}

// launch updates the matrices; outcome says how to scale the gradients.
func (m *Muon) launch(outcome Array, factor float64) error {
	for _, b := range m.batches {
		table := m.table.Slice(b.first*int(unsafe.Sizeof(muonMatrix{}))/8, b.count*int(unsafe.Sizeof(muonMatrix{}))/8)
		grid, entries := Grid{X: muonBlocks, Y: b.count, Threads: 256}, b.count*b.rows*b.columns
		if err := m.device.Launch("muon_direction", grid, m.x, m.sums, table.Touching(3*entries*F32.Size()), outcome, Float(m.fresh)); err != nil {
			return err
		}
		if err := m.device.Launch("muon_normalise", grid, m.x, m.sums, Long(b.rows*b.columns)); err != nil {
			return err
		}
		for range muonSteps {
			if err := m.advance(b); err != nil {
				return err
			}
		}
		if err := m.device.Launch("muon_update", grid, m.x, table.Touching(2*entries*F32.Size()), outcome, Double(factor)); err != nil {
			return err
		}
	}
	return nil
}

// advance takes a step of the Newton-Schulz iteration: a = X X^T, b = a a, b = 3.4445 I - 4.7750
// a + 2.0315 b, X = b X; with more rows than columns, X^T X and X b.
func (m *Muon) advance(b muonBatch) error {
	n, size, tall := b.side(), b.rows*b.columns, b.rows > b.columns
	gram := Gemm{TransA: tall, TransB: !tall, M: n, N: n, K: max(b.rows, b.columns), Alpha: 1, A: m.x, LDA: b.columns, B: m.x, LDB: b.columns,
		C: m.a, LDC: n, Batch: b.count, StrideA: size, StrideB: size, StrideC: n * n}
	square := Gemm{M: n, N: n, K: n, Alpha: 1, A: m.a, LDA: n, B: m.a, LDB: n, C: m.b, LDC: n, Batch: b.count, StrideA: n * n, StrideB: n * n, StrideC: n * n}
	next := Gemm{M: b.rows, N: b.columns, K: n, Alpha: 1, A: m.b, LDA: n, B: m.x, LDB: b.columns, C: m.y, LDC: b.columns, Batch: b.count, StrideA: n * n,
		StrideB: size, StrideC: size}
	if tall {
		next.A, next.LDA, next.StrideA, next.B, next.LDB, next.StrideB = m.x, b.columns, size, m.b, n, n*n
	}
	for _, g := range []Gemm{gram, square} {
		if err := m.device.Gemm(g); err != nil {
			return err
		}
	}
	entries := b.count * n * n
	if err := m.device.Launch("muon_polynomial", Over(entries, 256), m.b, m.a, Long(entries), Int(n), Float(3.4445), Float(-4.7750), Float(2.0315)); err != nil {
		return err
	}
	m.x, m.y = m.y, m.x
	return m.device.Gemm(next)
}

// Close frees the tables and the memory for a step.
func (m *Muon) Close() {
	for _, array := range []Array{m.table, m.x, m.y, m.a, m.b, m.sums} {
		m.device.Free(array)
	}
	*m = Muon{device: m.device}
}
