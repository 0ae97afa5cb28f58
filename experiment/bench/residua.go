package bench

import (
	"context"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/optim"
	"github.com/residua-go/residua/trainer/learner"
)

// residuaRun is a training program of this project.
type residuaRun struct {
	learner *learner.Learner
	gpu     *gpuMemory // nil on the CPU
}

func newResidua(w Workload, on Target) (*residuaRun, error) {
	parts, err := optimizer(w.Optim)
	if err != nil {
		return nil, err
	}
	return newResiduaOn(graph.NewStore(tensor.Float32, 1), w, on, parts...)
}

// newResiduaOn makes a program that trains a store's parameters.
func newResiduaOn(store *graph.Store, w Workload, on Target, parts ...optim.Part) (*residuaRun, error) {
	r := &residuaRun{}
	var err error
	if on.onGPU() {
		if r.gpu, err = openGPU(store, on, w); err != nil {
			return nil, err
		}
	}
	options := learner.Options{Batch: w.Batch, Outputs: outputs(w), Compute: on.options(store).Options, Recompute: on.Recompute, Optimizer: parts}
	if r.learner, err = learner.New(w.Spec, learner.Fixed(randomBatch(w)), options); err != nil {
		r.close()
		return nil, err
	}
	r.learner.Profile(true)
	return r, nil
}

// outputs returns what a training program of a workload computes.
func outputs(w Workload) models.Outputs {
	return models.Outputs{Loss: true, Auxiliary: models.Auxiliary{ZLoss: w.ZLoss}}
}

// step profiles the first step, which belongs to the warm-up, to count its traffic. It reads the
// loss at the end, and so waits for all work on a GPU.
func (r *residuaRun) step() (float64, error) {
	if _, err := r.learner.Step(context.Background()); err != nil {
		return 0, err
	}
	r.learner.Profile(false)
	return graph.Scalar(r.learner.Program().Roots().Loss)
}

func (r *residuaRun) peak() (int, error) {
	if r.gpu != nil {
		return r.gpu.taken()
	}
	return peakBytes(), nil
}

func (r *residuaRun) facts() facts {
	program := r.learner.Program()
	m := program.Memory()
	f := facts{Parameters: program.Store().Size(), Predicted: m.Arena + m.Parameters}
	if r.gpu != nil {
		f.Predicted = r.gpu.predicted
	}
	for _, op := range program.Profile() {
		f.Traffic += op.Bytes
	}
	return f
}

func (r *residuaRun) close() {
	if r.learner != nil {
		r.learner.Close()
	}
	if r.gpu != nil {
		_ = r.gpu.store.Close()
	}
}

// gpuMemory measures the memory that a program takes on its GPU.
type gpuMemory struct {
	store     *graph.Store
	predicted int   // according to the program's own plan
	free      int64 // before the program was made, with the driver's context open
	used      int
}

// openGPU opens a store's GPU.
func openGPU(store *graph.Store, on Target, w Workload) (*gpuMemory, error) {
	plan, err := models.PredictMemory(w.Spec, w.Batch, w.Spec.Seq, outputs(w), on.options(nil))
	if err != nil {
		return nil, err
	}
	if b := graph.On(gorgonia.NewGraph(), on.options(store).Options); b.Err() != nil {
		return nil, b.Err()
	}
	free, _, err := store.DeviceMemory()
	return &gpuMemory{store: store, predicted: plan.Total(), free: free}, err
}

// taken returns by how much the GPU's free memory has shrunk since it was opened, measured at the
// first call: after the warm-up, before the other programs of a comparison start. Later steps take
// nothing more.
func (g *gpuMemory) taken() (int, error) {
	if g.used > 0 {
		return g.used, nil
	}
	free, _, err := g.store.DeviceMemory()
	g.used = int(g.free - free)
	return g.used, err
}
