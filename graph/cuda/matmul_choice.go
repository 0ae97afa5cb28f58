//go:build cuda

package cuda

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/pkg/errors"
	cublas "gorgonia.org/cu/blas"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/internal/regular"
)

// choices holds the fastest algorithm of each product that was measured: one of cuBLASLt's, in
// hexadecimal digits, or cuBLAS's own. Its keys name GPU, version of cuBLASLt and shape. It is kept
// in a file, so that later runs have the same bits.
type choices map[string]string

const byCUBLAS = "cuBLAS"

// choose returns the plan with the algorithm that the file holds for a product, or else with the
// fastest, which it then adds to the file. The plan is nil if cuBLAS is to run the product.
func (d *Device) choose(handle *cublas.Handle, g Gemm, s cublas.MatmulShape) (*cublas.Matmul, error) {
	key, err := d.choiceKey(s)
	if err != nil {
		return nil, err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, errors.WithStack(err)
	}
	path := filepath.Join(cache, "residua", "cublaslt.json")
	kept, err := readChoices(path)
	if err != nil {
		return nil, err
	}
	if plan, known := restored(handle, s, kept[key]); known {
		return plan, nil
	}
	plan, err := handle.PlanMatmul(s, cublas.MostAlgorithms)
	if errors.Is(err, cublas.NotSupported) || errors.Is(err, cublas.InvalidValue) {
		return nil, nil // cuBLASLt has no such product
	}
	if err != nil {
		return nil, err
	}
	if plan, err = d.measured(handle, plan, g); err != nil {
		return nil, err
	}
	chosen := byCUBLAS
	if plan != nil {
		a := plan.Algorithm()
		chosen = hex.EncodeToString(a[:])
	}
	first, err := keepChoice(path, key, kept[key], chosen)
	if err == nil && first == chosen {
		return plan, nil
	}
	if plan != nil {
		plan.Close()
	}
	if err != nil {
		return nil, err
	}
	plan, known := restored(handle, s, first)
	if !known {
		return nil, errors.Errorf("%s: another program has written a choice that this cuBLASLt does not accept: move the file away", path)
	}
	return plan, nil
}

// restored returns the plan of a kept choice, nil for cuBLAS's own. known is false if there is no
// such choice, or if this cuBLASLt does not accept the algorithm.
func restored(handle *cublas.Handle, s cublas.MatmulShape, choice string) (plan *cublas.Matmul, known bool) {
	if choice == byCUBLAS {
		return nil, true
	}
	a, err := hex.DecodeString(choice)
	if err != nil || len(a) != len(cublas.MatmulAlgorithm{}) {
		return nil, false
	}
	plan, err = handle.RestoreMatmul(s, cublas.MatmulAlgorithm(a))
	return plan, err == nil
}

// choiceKey returns the key of a product's choice.
func (d *Device) choiceKey(s cublas.MatmulShape) (string, error) {
	version, err := cublas.MatmulVersion()
	type fields cublas.MatmulShape // without String: formatted as its fields, with their names
	return fmt.Sprintf("%s, compute capability %s, cuBLASLt %d: %+v", d.name, d.capability, version, fields(s)), err
}

// measured makes a plan use its fastest algorithm, or closes it and returns nil if cuBLAS is faster
// still. The results go to memory of their own: C may be an operand, too.
func (d *Device) measured(handle *cublas.Handle, plan *cublas.Matmul, g Gemm) (*cublas.Matmul, error) {
	results, err := d.Alloc(g.C.Type, (g.M-1)*g.LDC+g.N)
	if err != nil {
		return nil, err
	}
	defer d.Free(results)
	g.C = results
	profiled := d.profile.on
	d.profile.on = false
	var runs []func() error
	for i := range plan.Algorithms() {
		runs = append(runs, func() error {
			plan.Use(i)
			return d.matmul(plan, g)
		})
	}
	if g.Epilogue == NoEpilogue {
		runs = append(runs, func() error { return d.gemm(handle, g) })
	}
	best, err := d.fastest(runs)
	if d.profile.on = profiled; err == nil {
		err = d.profile.note(Work{}) // a profile counts this time as waiting
	}
	if err != nil || best == plan.Algorithms() {
		plan.Close()
		return nil, err
	}
	plan.Use(best)
	return plan, nil
}

// fastest times the functions, each of which starts work on the device. It returns the index of the
// function whose work takes the least time: the first one that is within 2% of the least. The first
// round is for warming up. The rounds are short, so that a change of the clock's rate affects all
// functions.
func (d *Device) fastest(runs []func() error) (int, error) {
	const rounds, times = 4, 10
	least := make([]time.Duration, len(runs))
	for round := range rounds {
		for i, run := range runs {
			if err := run(); err != nil { // the device works while the host starts the others
				return 0, err
			}
			took, err := d.Timed(func() error {
				for range times {
					if err := run(); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				return 0, err
			}
			if round < 2 || took < least[i] {
				least[i] = took
			}
		}
	}
	best := slices.Min(least)
	return slices.IndexFunc(least, func(t time.Duration) bool { return t <= best+best/50 }), nil
}

// readChoices reads the file; none if it is not there.
func readChoices(path string) (choices, error) {
	const largest = 16 << 20
	text, err := regular.Read(path, largest)
	if errors.Is(err, fs.ErrNotExist) {
		return choices{}, nil
	}
	c := choices{}
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err == nil && c == nil {
		err = errors.New("got null")
	}
	return c, errors.Wrapf(err, "%s: want the choices that a program has written: move the file away", path)
}

// keepChoice replaces the choice old ("" for none) in the file, unless another program has replaced
// it already. It returns the choice that the file then holds.
func keepChoice(path, key, old, chosen string) (string, error) {
	all, err := readChoices(path)
	if err != nil {
		return chosen, err
	}
	if first := all[key]; first != old {
		return first, nil
	}
	all[key] = chosen
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return chosen, errors.WithStack(err)
	}
	disk := checkpoint.Disk{}
	if err := disk.MakeFolder(filepath.Dir(path)); err != nil {
		return chosen, err
	}
	return chosen, disk.WriteFile(path, append(text, '\n'))
}
