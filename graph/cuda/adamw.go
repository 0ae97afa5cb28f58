package cuda

import (
	"unsafe"

	"github.com/pkg/errors"
)

// AdamWRow says how one parameter is updated, and where it lies. All arrays have the parameter's
// size and are F32, except Shadow: a BF16 copy of Value that is updated with it, the zero Array if
// there is none. A row without Moment2 only counts in the norm: Muon updates the parameter.
type AdamWRow struct {
	Value, Shadow, Grad, Moment1, Moment2 Array
	Rate, Decay, Beta1, Beta2, Eps        float64
}

// AdamWStep holds what changes from step to step.
type AdamWStep struct {
	Factor    float64 // the schedule's factor of rates and decays
	GradScale float64 // factor of the stored gradients
	Clip      float64 // largest norm of all scaled gradients together; 0: no limit
	Step      int     // the number of this step, 1 for the first
	// SumSquares is the sum of the squares of all stored gradients, if some are elsewhere; nil: the
	// device adds up its own.
	SumSquares *float64
}

// AdamW updates parameters as graph/kernel/adamw.go does (Loshchilov & Hutter 2019, arXiv
// 1711.05101, algorithm 2), all of them in one launch, after clipping by their global gradient
// norm. Parameters are divided into tiles, each the work of one block.
type AdamW struct {
	// Muon, if not nil, updates the parameters without Moment2, after the same clipping.
	Muon *Muon

	device       Executor
	rows, tiles  int
	squared      int   // bytes of the gradients
	updated      int   // bytes that an update reads and writes
	table        Array // [rows] adamWRow
	tileTable    Array // [tiles] adamWTile
	sums         Array // [tiles], sums of squares
	coefficients Array // [rows, 6]
	outcome      Array // adamWOutcome
}

// adamWRow, adamWTile and adamWOutcome are Row, Tile and Outcome of optimizer.cu.
type (
	adamWRow struct {
		value, shadow, grad, moment1, moment2 uint64
		n                                     int64
		rate, decay, beta1, beta2, eps        float64
	}
	adamWTile    struct{ row, piece int32 }
	adamWOutcome struct {
		norm   float64
		scale  float32
		finite int32
	}
)

// adamWTileSize is TILE in optimizer.cu, adamWCoefficients the number of floats in its
// Coefficients.
const (
	adamWTileSize     = 8192
	adamWCoefficients = 6
)

// NewAdamW uploads the table of parameters. Their arrays must not move while the AdamW is used.
func NewAdamW(d Executor, rows []AdamWRow) (*AdamW, error) {
	table := make([]adamWRow, len(rows))
	var tiles []adamWTile
	squared, updated := 0, 0
	for i, r := range rows {
		if err := r.check(); err != nil {
			return nil, errors.Wrapf(err, "AdamW: parameter %d", i)
		}
		table[i] = adamWRow{r.Value.Ptr, r.Shadow.Ptr, r.Grad.Ptr, r.Moment1.Ptr, r.Moment2.Ptr, int64(r.Value.N), r.Rate, r.Decay, r.Beta1, r.Beta2, r.Eps}
		squared += r.Grad.Bytes()
		updated += r.updated()
		for piece := range (r.Value.N + adamWTileSize - 1) / adamWTileSize {
			tiles = append(tiles, adamWTile{int32(i), int32(piece)})
		}
	}
	if len(tiles) == 0 {
		return nil, errors.New("AdamW: want parameters with elements, got none")
	}
	a := &AdamW{device: d, rows: len(rows), tiles: len(tiles), squared: squared, updated: updated}
	if err := a.upload(table, tiles); err != nil {
		_ = a.Close()
		return nil, errors.Wrap(err, "AdamW")
	}
	return a, nil
}

// updated returns the number of bytes that an update reads and writes: values and moments are both
// read and written, gradients read, shadows written.
func (r *AdamWRow) updated() int {
	if r.Moment2.None() {
		return 0
	}
	return 2*(r.Value.Bytes()+r.Moment1.Bytes()+r.Moment2.Bytes()) + r.Grad.Bytes() + r.Shadow.Bytes()
}

func (r *AdamWRow) check() error {
	for _, part := range []struct {
		name string
		a    Array
		t    Type
	}{
		{"value", r.Value, F32}, {"gradient", r.Grad, F32}, {"first moment", r.Moment1, F32}, {"second moment", r.Moment2, F32},
		{"shadow", r.Shadow, BF16},
	} {
		if part.a.None() && (part.t == BF16 || part.name == "second moment") {
			continue
		}
		if part.a.None() || part.a.Type != part.t || part.a.N != r.Value.N {
			return errors.Errorf("%s: want %d elements of %v, got %v", part.name, r.Value.N, part.t, part.a)
		}
	}
	return nil
}

// upload allocates the tables and the memory for a step.
func (a *AdamW) upload(table []adamWRow, tiles []adamWTile) error {
	for _, part := range []struct {
		array *Array
		t     Type
		n     int
	}{
		{&a.table, F64, a.rows * int(unsafe.Sizeof(adamWRow{})) / 8},
		{&a.tileTable, I32, 2 * a.tiles},
		{&a.sums, F64, a.tiles},
		{&a.coefficients, F32, adamWCoefficients * a.rows},
		{&a.outcome, F64, int(unsafe.Sizeof(adamWOutcome{})) / 8},
	} {
		array, err := a.device.Alloc(part.t, part.n)
		if err != nil {
			return err
		}
		*part.array = array
	}
	if err := a.device.Upload(a.table, unsafe.Pointer(unsafe.SliceData(table))); err != nil {
		return err
	}
	return a.device.Upload(a.tileTable, unsafe.Pointer(unsafe.SliceData(tiles)))
}

// Step clips the gradients and updates the parameters. norm is the norm of all scaled gradients
// before clipping; if it is not finite, nothing is changed. Step waits for the device.
func (a *AdamW) Step(s AdamWStep) (norm float64, finite bool, err error) {
	leave, err := a.device.Enter()
	if err == nil {
		err = a.launch(s)
		leave()
	}
	if err != nil {
		return 0, false, errors.Wrap(err, "AdamW")
	}
	var o adamWOutcome
	if err := a.device.Download(unsafe.Pointer(&o), a.outcome); err != nil {
		return 0, false, errors.Wrap(err, "AdamW")
	}
	return o.norm, o.finite != 0, nil
}

// SumSquares returns the sum of the squares of the stored gradients. It waits for the device.
func (a *AdamW) SumSquares() (float64, error) {
	leave, err := a.device.Enter()
	if err == nil {
		err = a.square()
		leave()
	}
	sums, total := make([]float64, a.tiles), 0.0
	if err == nil {
		err = a.device.Download(unsafe.Pointer(unsafe.SliceData(sums)), a.sums)
	}
	for _, x := range sums {
		total += x
	}
	return total, errors.Wrap(err, "AdamW")
}

// square sums the squares of each tile's gradient.
func (a *AdamW) square() error {
	return a.device.Launch("adamw_squares", Grid{X: a.tiles, Threads: 256}, a.sums, a.table.Touching(a.squared), a.tileTable)
}

func (a *AdamW) launch(s AdamWStep) error {
	tiles, sums := Grid{X: a.tiles, Threads: 256}, a.sums
	var err error
	if s.SumSquares == nil {
		err = a.square()
	} else {
		sums = a.sums.Slice(0, 1)
		err = a.device.Upload(sums, unsafe.Pointer(s.SumSquares))
	}
	if err != nil {
		return err
	}
	err = a.device.Launch("adamw_prepare", Grid{X: 1, Threads: 1024},
		a.outcome, a.coefficients, a.table, Int(a.rows), sums, Int(sums.N),
		Double(s.Factor), Double(s.GradScale), Double(s.Clip), Int(max(1, s.Step)))
	if err != nil {
		return err
	}
	err = a.device.Launch("adamw_update", tiles, a.table.Touching(a.updated), a.coefficients, a.tileTable, a.outcome)
	if err != nil || a.Muon == nil {
		return err
	}
	return errors.Wrap(a.Muon.launch(a.outcome, s.Factor), "Muon")
}

// Close frees the tables, and those of Muon.
func (a *AdamW) Close() error {
	if a.Muon != nil {
		a.Muon.Close()
	}
	for _, array := range []Array{a.table, a.tileTable, a.sums, a.coefficients, a.outcome} {
		a.device.Free(array)
	}
	*a = AdamW{device: a.device}
	return nil
}
