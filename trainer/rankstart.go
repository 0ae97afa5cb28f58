package trainer

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strconv"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/internal/settings"
	"github.com/residua-go/residua/pretrained"
	"github.com/residua-go/residua/trainer/distributed"
	"github.com/residua-go/residua/trainer/learner"
)

// checkRanks returns an error unless the group has as many ranks as the config's device.ranks.
func (t *Trainer) checkRanks() error {
	ranks := t.run.Device.Ranks
	if t.group != nil {
		return distributed.CheckSize(ranks, t.group)
	}
	if ranks != 1 && !t.options.Dry { // of one rank's work the whole run's time follows
		return errors.Errorf("device.ranks: want 1 here, got %d: only the command train, started by mpiexec, trains by several ranks", ranks)
	}
	return nil
}

// agree returns an error if the ranks would not train the same run with the same bits.
func (t *Trainer) agree(context.Context) error {
	if t.group == nil {
		return nil
	}
	program, err := os.Executable()
	if err != nil {
		return errors.WithStack(err)
	}
	if program, err = contentName(program); err != nil {
		return err
	}
	facts := []distributed.Fact{{Name: "program", Value: program}, {Name: "-dry-run", Value: strconv.FormatBool(t.options.Dry)}}
	keys, err := settings.Entries(*trained(t.run))
	if err != nil {
		return err
	}
	for _, k := range keys {
		if !k.Section {
			facts = append(facts, distributed.Fact{Name: k.Key, Value: written(k.Value)})
		}
	}
	return distributed.Agree(t.group, append(facts,
		distributed.Fact{Name: "corpus", Value: t.corpus.Fingerprint},
		distributed.Fact{Name: "architecture of train.init_from", Value: pretrained.ArchitectureAt(t.run.Train.InitFrom)},
		distributed.Fact{Name: "vector instructions", Value: t.run.Device.Path()},
	))
}

// written returns a key's value as text.
func written(v reflect.Value) string {
	if text, err := json.Marshal(v.Interface()); err == nil {
		return string(text)
	}
	return fmt.Sprint(v.Interface()) // an infinite number
}

// begin tells the other ranks where the run begins; rank 0 sends it.
type begin struct {
	Progress learner.Progress
	Position uint64 // of the batches
	Corpus   string // fingerprint of the corpus, which a resumed run may read in another way
	Restored bool   // a checkpoint's optimizer state follows
	Saves    bool   // rank 0 writes a checkpoint at once
}

// shareStart sends rank 0's begin to all ranks, and rank 0's weights and optimizer state (if a
// checkpoint restored one) with it. What the other ranks pass as b is ignored.
func (t *Trainer) shareStart(b begin) (begin, error) {
	all, err := distributed.Gather(t.group, "start", b)
	if err != nil {
		return b, err
	}
	for _, p := range t.store.Params() {
		if err := distributed.Broadcast(t.group, p.Name, 0, p.Value.Float32s()).Wait(); err != nil {
			return b, err
		}
	}
	b = all[0]
	for _, s := range t.learner.Optimizer().State() {
		if !b.Restored {
			break
		}
		whole := t.restored[s.Name]
		if !t.leads() {
			whole = t.wholeOf(s)
		}
		if err := distributed.Broadcast(t.group, s.Name, 0, whole).Wait(); err != nil {
			return b, err
		}
		if !t.leads() {
			setState(s, whole)
		}
	}
	t.restored = nil
	return b, nil
}

// sendStart tells the other ranks where the run begins. It saves a fork at once, so that the folder
// never holds half of one.
func (t *Trainer) sendStart(context.Context) error {
	forks := t.options.Fork != ""
	if t.group != nil {
		if _, err := t.shareStart(begin{t.learner.Progress(), t.batches.Position(), t.corpus.Fingerprint, t.restored != nil, forks}); err != nil {
			return err
		}
	}
	if forks {
		return t.save()
	}
	return nil
}

// receiveStart is the counterpart of sendStart on the ranks other than 0: it sets this rank to
// where the run begins.
func (t *Trainer) receiveStart(ctx context.Context) error {
	b, err := t.shareStart(begin{})
	if err != nil {
		return err
	}
	if err := t.store.ToDevice(); err != nil {
		return err
	}
	if err := t.matchCorpus(ctx, b.Corpus); err != nil {
		return err
	}
	t.learner.Resume(b.Progress)
	t.batches.Seek(b.Position)
	if b.Saves {
		return t.serveState()
	}
	return nil
}

// serveState sends rank 0 the parts of the optimizer's state that it asks for, until it has saved.
func (t *Trainer) serveState() error {
	if err := t.store.ToHost(); err != nil {
		return err
	}
	state := t.learner.Optimizer().State()
	for {
		i, err := t.next(noTensor)
		if err != nil || i == noTensor {
			return err
		}
		if i < 0 || i >= len(state) {
			return errors.Errorf("rank 0 asks for tensor %d of the optimizer's state: want 0 to %d", i, len(state)-1)
		}
		if _, err := t.gather(state[i]); err != nil {
			return err
		}
	}
}
