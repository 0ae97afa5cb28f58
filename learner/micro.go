package learner

import "context"

// OnMicroBatch has f called after each micro-batch of a step, with how many of this
// rank's are done;
// nil ends that.
func (l *Learner) OnMicroBatch(f func(done, of int)) { l.onMicro = f }

// TryMicroBatch runs one micro-batch forward and backward, for its time. It draws from the batches,
// and changes neither parameters nor progress. Without a Group, Update may follow, for its time; its
// gradient is the micro-batch's alone.
func (l *Learner) TryMicroBatch(ctx context.Context) (err error) {
	l.ready = false
	l.loss, err = l.run(ctx, 0, true, false)
	l.ready = err == nil && l.ranks == nil
	return err
}
