//go:build cuda

package cuda

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
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
	if d.matmuls.kept == nil {
		d.matmuls.kept = readChoices(path)
	}
	chosen := d.matmuls.kept[key]
	if chosen == byCUBLAS {
		return nil, nil
	}
	if a, err := hex.DecodeString(chosen); err == nil && len(a) == len(cublas.MatmulAlgorithm{}) {
		if plan, err := handle.RestoreMatmul(s, cublas.MatmulAlgorithm(a)); err == nil {
			return plan, nil
		}
	}
	plan, err := handle.PlanMatmul(s, cublas.MostAlgorithms)
	if err != nil {
		return nil, nil // cuBLASLt has no such product
	}
	if plan, err = d.measured(handle, plan, g); err != nil {
		return nil, err
	}
	chosen = byCUBLAS
	if plan != nil {
		a := plan.Algorithm()
		chosen = hex.EncodeToString(a[:])
	}
	return plan, keepChoice(path, key, chosen)
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
	if err == nil {
		err = d.profile.note(Work{}) // a profile counts this time as waiting
	}
	if err != nil || best == plan.Algorithms() {
		plan.Close()
		return nil, err
	}
	plan.Use(best)
	return plan, nil
}

// fastest returns which of the functions starts what takes the device the least time. The first
// round is for warming up. The rounds are short, so that a change of the clock's rate affects all.
func (d *Device) fastest(runs []func() error) (best int, err error) {
	const rounds, times = 4, 3
	least := time.Duration(math.MaxInt64)
	for round := range rounds {
		for i, run := range runs {
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
			if round > 0 && took < least {
				best, least = i, took
			}
		}
	}
	return best, nil
}

// readChoices reads the file. A file that is damaged, or not there, holds nothing.
func readChoices(path string) choices {
	const largest = 16 << 20
	var c choices
	text, err := regular.Read(path, largest)
	if err != nil || json.Unmarshal(text, &c) != nil || c == nil {
		return choices{}
	}
	return c
}

// keepChoice adds a choice to the file, to which other programs may have added theirs.
func keepChoice(path, key, chosen string) error {
	all := readChoices(path)
	all[key] = chosen
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return errors.WithStack(err)
	}
	disk := checkpoint.Disk{}
	if err := disk.MakeFolder(filepath.Dir(path)); err != nil {
		return err
	}
	return disk.WriteFile(path, append(text, '\n'))
}
