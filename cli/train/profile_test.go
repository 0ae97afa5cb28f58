package train

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/trainer"
)

// big returns a number that an int of 32 bits cannot hold, which a constant may therefore not be.
func big(n int64) int { return int(n) }

func TestProfileParts(t *testing.T) {
	rows := parts(trainer.Profile{Steps: 2, Seconds: 4, Data: 0.25, Optimizer: 0.5, OptimizerBytes: big(3e9), Ops: []graph.OpProfile{
		{OpType: "Linear", Calls: 2, Seconds: 1, FLOPs: big(2e11), Bytes: 1e9},
		{OpType: "Add", Calls: 2, Seconds: 0.125, Bytes: 1e9},
		{OpType: "Linear", Calls: 2, Seconds: 1, FLOPs: big(2e11), Bytes: 1e9},
		{OpType: graph.TapeMachine, Calls: 2, Seconds: 0.0625},
	}})
	assert.Equal(t, `profile of 2 steps:
part of a step            calls        ms    share  GFLOPS  GB/s
Linear                        2  1000.000   50.00%   200.0   1.0
rest of the step              1   531.250   26.56%
optimizer (clip, update)      1   250.000   12.50%           6.0
data                          1   125.000    6.25%
Add                           1    62.500    3.12%           8.0
tape machine (VM)             1    31.250    1.56%
step                             2000.000  100.00%   100.0   1.5
`, profileTable(2, 0, rows))
}

// TestProfileSimulates: parts without a simulation, such as the machine, are done by one thread.
func TestProfileSimulates(t *testing.T) {
	p := trainer.Profile{Steps: 2, Threads: 8, Seconds: 2, Optimizer: 0.5, Simulated: graph.OpProfile{Alone: 0.4, Shared: 0.1, Even: 0.05}, Ops: []graph.OpProfile{
		{OpType: "Linear", Calls: 2, Seconds: 0.75, Alone: 0.6, Shared: 0.09375, Even: 0.075},
		{OpType: "Linear", Calls: 2, Seconds: 0.25, Alone: 0.15, Shared: 0.03125, Even: 0.025},
		{OpType: graph.TapeMachine, Calls: 2, Seconds: 0.25},
	}}
	assert.Equal(t, `profile of 2 steps:
part of a step            calls        ms    share  GFLOPS  GB/s  8 threads: ms  balance  of items
Linear                        2   500.000   50.00%                       62.500    75.0%     93.8%
optimizer (clip, update)      1   250.000   25.00%                       50.000    50.0%    100.0%
rest of the step              1   125.000   12.50%                      125.000    12.5%     12.5%
tape machine (VM)             1   125.000   12.50%                      125.000    12.5%     12.5%
data                          1     0.000    0.00%                        0.000
step                             1000.000  100.00%                      362.500    28.4%     31.7%
`, profileTable(p.Steps, p.Threads, parts(p)))
}

// TestKernelTable: the shortest rows, over the 60, are one.
func TestKernelTable(t *testing.T) {
	rows := []graph.KernelProfile{
		{Name: "16384 x 768 x 768 bf16", Launches: 48, Seconds: 0.5, FLOPs: big(2e14), Bytes: big(1e12)},
		{Name: "norm_forward_bf16", Launches: 3, Seconds: 0.25, Bytes: big(1e11)},
		{Name: "between ops", Launches: 4, Seconds: 0.25},
	}
	assert.Equal(t, `on the GPU, a step:
kernel, product or copy  launches  us each       ms    share    GB/s  TFLOP/s
16384 x 768 x 768 bf16         24  10416.7  250.000   50.00%  2000.0    400.0
norm_forward_bf16             1.5  83333.3  125.000   25.00%   400.0
between ops                     2  62500.0  125.000   25.00%
all                          27.5  18181.8  500.000  100.00%  1100.0    200.0
`, kernelTable(2, rows))
	for len(rows) < 70 {
		rows = append(rows, graph.KernelProfile{Name: "cast_f32_bf16", Launches: 2, Seconds: 0.01})
	}
	table := kernelTable(2, rows)
	assert.Equal(t, 60+3, strings.Count(table, "\n"), "a title, a header and a sum besides")
	assert.Regexp(t, `11 others +11 `, table)
	require.Len(t, rows, 70)
	assert.Equal(t, "cast_f32_bf16", rows[59].Name)
}
