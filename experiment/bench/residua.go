package bench

import (
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/optim"
)

// residuaRun is a training program of this project.
type residuaRun struct {
	program  *models.Compiled
	optimize *optim.Optimizer
	steps    uint64
	gpu      *gpuMemory // nil on the CPU
}

func newResidua(w Workload, on Target) (*residuaRun, error) {
	return newResiduaOn(graph.NewStore(tensor.Float32, 1), w, on, optim.Clip(clipNorm),
		optim.Adam(beta1, beta2, adamEps), optim.Rate(learningRate, optim.Constant{}), optim.Decay(weightDecay, optim.Coupled, nil))
}

// newResiduaOn trains a store's parameters.
func newResiduaOn(store *graph.Store, w Workload, on Target, parts ...optim.Part) (*residuaRun, error) {
	o := &residuaRun{}
	if err := o.open(store, w, on, parts); err != nil {
		o.close()
		return nil, err
	}
	tokens, targets := randomBatch(w)
	copy(o.program.Tokens, tokens)
	copy(o.program.Targets, targets)
	return o, nil
}

func (o *residuaRun) open(store *graph.Store, w Workload, on Target, parts []optim.Part) (err error) {
	if on.onGPU() {
		if o.gpu, err = openGPU(store, on, w); err != nil {
			return err
		}
	}
	if o.program, err = models.Compile(w.Spec, w.Batch, w.Spec.Seq, outputs(w), on.options(store)); err != nil {
		return err
	}
	o.optimize, err = optim.New(store, on.Threads, parts...)
	return err
}

// outputs are what a training program of a workload computes.
func outputs(w Workload) models.Outputs {
	return models.Outputs{Loss: true, Auxiliary: models.Auxiliary{ZLoss: w.ZLoss}}
}

// step also profiles the first one, which belongs to the warm-up, for its traffic. It
// reads the loss at the end, and so waits for all that a GPU has been given to do.
func (o *residuaRun) step() (float64, error) {
	if err := o.program.Run(graph.RunOptions{Step: o.steps, Profile: o.steps == 0}); err != nil {
		return 0, err
	}
	o.steps++
	if _, err := o.optimize.Step(1); err != nil {
		return 0, err
	}
	return graph.Scalar(o.program.Roots().Loss)
}

func (o *residuaRun) peak() (int, error) {
	if o.gpu != nil {
		return o.gpu.taken()
	}
	return peakBytes(), nil
}

func (o *residuaRun) facts() facts {
	m := o.program.Memory()
	f := facts{Parameters: o.program.Store().Size(), Predicted: m.Arena + m.Parameters, Traffic: o.traffic()}
	if o.gpu != nil {
		f.Predicted = o.gpu.predicted
	}
	return f
}

// traffic sums the bytes of the step that was profiled, the first.
func (o *residuaRun) traffic() int {
	bytes := 0
	for _, op := range o.program.Profile() {
		bytes += op.Bytes
	}
	return bytes
}

func (o *residuaRun) close() {
	if o.optimize != nil {
		o.optimize.Close()
	}
	if o.program != nil {
		o.program.Close()
	}
	if o.gpu != nil {
		_ = o.gpu.store.Close()
	}
}

// gpuMemory watches what a program takes of its GPU.
type gpuMemory struct {
	store     *graph.Store
	predicted int   // by the program's own plan
	free      int64 // before the program was made, the driver's context open
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

// taken is what the GPU has had less of free memory since it was opened, when it is first
// asked: after the warm-up, when whatever else is compared has yet to start. Later steps
// take nothing more.
func (g *gpuMemory) taken() (int, error) {
	if g.used > 0 {
		return g.used, nil
	}
	free, _, err := g.store.DeviceMemory()
	g.used = int(g.free - free)
	return g.used, err
}
