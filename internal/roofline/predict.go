package roofline

import (
	"cmp"
	"slices"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/models"
)

// Prediction is the predicted time of a training step on a GPU.
type Prediction struct {
	GPU       string          `json:"gpu"`
	Precision graph.Precision `json:"precision"`
	Batch     int             `json:"batch"`
	Seq       int             `json:"seq"`
	Ops       []OpTime        `json:"ops"` // by type of op, those that take longest first

	DeviceSeconds float64 `json:"device_seconds"` // total of all pieces of work
	HostSeconds   float64 `json:"host_seconds"`   // to launch them, in parallel to the device
	Seconds       float64 `json:"seconds"`        // the larger of the two
	TokensPS      float64 `json:"tokens_per_s"`
	// MFU, model FLOPs utilization, is the model's FLOPs a second divided by the GPU's peak in the
	// precision (Chowdhery et al. 2022, arXiv 2204.02311, appendix B).
	MFU float64 `json:"mfu"`
}

// OpTime is the total for all ops of a type in a step.
type OpTime struct {
	OpType   string  `json:"op"`
	Runs     int     `json:"runs"`
	Launches int     `json:"launches"` // number of kernels, products and copies
	Bytes    int     `json:"bytes"`    // bytes read and written; each array passed to a piece of work counts once
	FLOPs    int     `json:"flops"`    // of matrix products
	Seconds  float64 `json:"seconds"`
}

// Predict records a training step of a model and sums the predicted times of its pieces.
func Predict(spec models.Spec, o Options) (*Prediction, error) {
	if o.Precision == "" {
		o.Precision = graph.TF32
	}
	if o.Seq == 0 {
		o.Seq = spec.Seq
	}
	ops, err := record(spec, o)
	if err != nil {
		return nil, err
	}
	p := &Prediction{GPU: o.GPU.Name, Precision: o.Precision, Batch: o.Batch, Seq: o.Seq}
	byType := map[string]*OpTime{}
	flops := 0
	for _, op := range ops {
		row := byType[op.OpType]
		if row == nil {
			row = &OpTime{OpType: op.OpType}
			byType[op.OpType] = row
		}
		row.add(op, o)
		p.HostSeconds += hostOp + hostLaunch*float64(len(op.Work))
		flops += op.FLOPs
	}
	for _, row := range byType {
		p.Ops = append(p.Ops, *row)
		p.DeviceSeconds += row.Seconds
	}
	slices.SortFunc(p.Ops, func(a, b OpTime) int {
		return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(a.OpType, b.OpType))
	})
	p.Seconds = max(p.DeviceSeconds, p.HostSeconds)
	p.TokensPS = float64(o.Batch*o.Seq) / p.Seconds
	p.MFU = float64(flops) / p.Seconds / o.GPU.peak(o.Precision)
	return p, nil
}

// add adds one run of an op. FLOPs that no cuBLAS product accounts for are attributed to the
// kernels that multiply, in proportion to their bytes.
func (t *OpTime) add(op graph.RecordedOp, o Options) {
	t.Runs++
	t.Launches += len(op.Work)
	t.FLOPs += op.FLOPs
	rest, bytes := op.FLOPs, 0
	for _, w := range op.Work {
		if w.Product != nil {
			rest -= w.Product.FLOPs()
		} else if multiplies(w) {
			bytes += w.Bytes
		}
	}
	for _, w := range op.Work {
		flops := 0
		if w.Product != nil {
			flops = w.Product.FLOPs()
		} else if multiplies(w) {
			flops = int(float64(max(0, rest)) * float64(w.Bytes) / float64(bytes))
		}
		t.Bytes += w.Bytes
		t.Seconds += o.GPU.seconds(w, flops, o.Precision)
	}
}

// multiplies tells whether a kernel may compute matrix products.
func multiplies(w cuda.Work) bool {
	return w.Kernel != "" && w.Bytes > 0 && efficiencyOf(w).Product > 0
}
