package learner

import "context"

// OnMicroBatch calls f after each micro-batch of a step with the number of this rank's
// micro-batches that are done, and their total; nil stops the calls.
func (l *Learner) OnMicroBatch(f func(done, of int)) { l.onMicro = f }

// TryMicroBatch runs one micro-batch forward and backward, to measure its time. It draws from the
// batches, and changes neither parameters nor progress. Without a Group, Update may follow, to
// measure its time; the gradient is that micro-batch's alone.
func (l *Learner) TryMicroBatch(ctx context.Context) (err error) {
	l.ready = false
	l.loss, err = l.run(ctx, 0, true, false)
	l.ready = err == nil && l.ranks == nil
	return err
}
