package learner

import "context"

// OnMicroBatch has f called after each micro-batch of a step, with how many of this
// rank's are done;
// nil ends that.
func (l *Learner) OnMicroBatch(f func(done, of int)) { l.onMicro = f }

// TryMicroBatch runs one micro-batch forward and backward, for its time. It draws from the batches,
// and changes neither parameters nor progress; a gradient that waited for Update is lost.
func (l *Learner) TryMicroBatch(ctx context.Context) error {
	l.ready = false
	_, err := l.run(ctx, 0, true, false)
	return err
}
