package trainer

import (
	"fmt"

	"github.com/shirou/gopsutil/v4/disk"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/pretrained"
	"github.com/residua-go/residua/runconfig"
)

// The steps whose weights train.keep_log keeps, besides the last one: 0 and the powers of two up to
// lastPower, and the multiples of logStride.
const (
	lastPower = 512
	logStride = 1000
)

// inLog tells whether train.keep_log keeps a step's weights, even if it is not the last step.
func inLog(step int) bool {
	return step%logStride == 0 || step <= lastPower && step&(step-1) == 0
}

// LogSize is what train.keep_log writes in a run.
type LogSize struct {
	Steps int // whose weights are kept
	Bytes int // about, on disk
}

// PredictLog predicts what train.keep_log writes in a run that makes all of its steps, 0 without
// the key.
func PredictLog(run *runconfig.Run) (LogSize, error) {
	if !run.Train.KeepLog {
		return LogSize{}, nil
	}
	total := run.TotalSteps()
	steps := 1 + total/logStride // 0 and the multiples
	for step := 1; step <= min(total, lastPower); step *= 2 {
		steps++
	}
	if !inLog(total) {
		steps++
	}
	parameters := run.Spec().Cost().Parameters
	if run.Train.Lora.Trains() { // a checkpoint has the adapters alone
		adapters, err := adaptersOf(run)
		if err != nil {
			return LogSize{}, err
		}
		if parameters, err = pretrained.AdaptersSize(run.Spec(), adapters); err != nil {
			return LogSize{}, err
		}
	}
	return LogSize{steps, 4 * steps * parameters}, nil
}

// String returns "the weights of 14 steps are kept, about 12 MB on disk".
func (s LogSize) String() string {
	return fmt.Sprintf("the weights of %d steps are kept, about %s on disk", s.Steps, graph.FormatBytes(s.Bytes))
}

// startLog removes the weights that an uninterrupted run would not have in its log: of steps after
// the present one, which are made again, and of the last step of a shorter run. It warns if the
// disk has no room for the weights to come. Then it keeps the weights of the present step, if they
// are due.
func (t *Trainer) startLog() error {
	if !t.leads() {
		return nil
	}
	keep := t.run.Train.KeepLog
	err := t.folder.PruneLog(t.run.Out, func(step int) bool {
		return step <= t.step() && (!keep || inLog(step) || step == t.step() && t.ended())
	})
	if err != nil || !keep {
		return err
	}
	size, err := PredictLog(t.run)
	if err != nil {
		return err
	}
	if kept, err := checkpoint.LogSteps(t.run.Out); err == nil {
		size.Bytes -= size.Bytes / size.Steps * len(kept)
	}
	if room, err := disk.Usage(t.run.Out); err == nil && uint64(max(0, size.Bytes)) > room.Free {
		t.report.Warn(fmt.Sprintf("train.keep_log: the weights to come take about %s, %s has room for %s", graph.FormatBytes(size.Bytes), t.run.Out,
			graph.FormatBytes(int(room.Free))))
	}
	return t.keepWeights()
}

// keepWeights writes the weights into the log if that is due after the newest step. If the run's
// folder is gone it leaves that to the next checkpoint, which reports it.
func (t *Trainer) keepWeights() error {
	if !t.run.Train.KeepLog || !t.leads() || !inLog(t.step()) && !t.ended() {
		return nil
	}
	if _, err := t.folder.check(); err != nil {
		return nil
	}
	c, err := t.weights()
	if err != nil {
		return err
	}
	return t.folder.SaveLog(t.run.Out, c)
}
