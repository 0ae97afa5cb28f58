package trainer

import (
	"cmp"
	"context"
	"math"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/eval"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/pretrained"
	"github.com/residua-go/residua/runconfig"
	"github.com/residua-go/residua/trainer/distributed"
	"github.com/residua-go/residua/trainer/learner"
)

// Trainer trains one run and keeps its folder.
type Trainer struct {
	ranks
	run     *runconfig.Run
	options Options
	folder  folder
	report  Reporter
	corpus  *data.Corpus
	batches *data.Batcher
	store   *graph.Store
	adapted *pretrained.Adapted // with train.lora: what the adapters change
	learner *learner.Learner
	scores  bool            // there is text to validate on
	eval    *eval.Evaluator // nil: this rank does not validate
	metrics *metricsLog
	flops   float64 // of one token, forward and backward

	measures   recordings // add to a step's metrics, before they are saved
	recordings recordings // take a step when all else is done

	id       string       // the run's identity
	last     Metrics      // of the newest step
	score    *eval.Score  // validation score of the newest step, nil: none
	best     float64      // best validation loss, +Inf: none yet
	bestStep int          // the step with that loss, -1: none or not known
	stopped  *stopped     // nil: train.stop has not ended the run
	saveTook atomic.Int64 // nanoseconds that writing the newest checkpoint took
	saved    int          // the step of the newest checkpoint, -1: none
	savedAt  time.Time
	due      bool // a checkpoint is due by time
	stop     bool // in a group: a rank was interrupted

	restored map[string][]float32 // a checkpoint's optimizer state, kept until all ranks have their parts
	good     int                  // the newest checkpoint from which a step with a finite loss was made, -1: none known
	started  time.Time
	before   float64 // seconds that the run had taken before it was resumed
}

// Options are the options of Open.
type Options struct {
	Resume  Resume
	Fork    string   // folder of a run or step: start a new run from that checkpoint
	Report  Reporter // nil: none
	Profile bool     // time each op and part of a step, for Trainer.Profile
	Dry     bool     // prepare for Estimate only: make no folder, and read none
	// Group holds the ranks that train the run together, as many as device.ranks; nil: one. Rank 0
	// alone keeps the folder, validates and reports.
	Group  *distributed.Group
	Corpus *data.Corpus // already loaded by the config's Data.LoadCorpus; runs may share it; nil: Open loads it
	// Simulate makes one thread compute what device.threads workers would share, so that Profile
	// tells how evenly the work is divided.
	Simulate bool
}

// Result says how a run ended.
type Result struct {
	Steps       int
	Interrupted bool
	Stopped     string      // the key of train.stop that ended the run before its last step; "": none
	Last        Metrics     // of the newest step
	Spikes      int         // spikes of the loss so far
	LastSpike   int         // the step at which the last of them began
	Collapsed   bool        // at the end the gradient was 0, or the loss had long been that of guessing
	Final       *eval.Score // validation at the end, nil when interrupted or without validation data
	Checkpoint  string      // the newest step folder
}

// Open prepares a run: folder, corpus, programs, weights. Its errors concern the call, the config
// or the files they name; nothing has been trained yet.
func Open(ctx context.Context, run *runconfig.Run, o Options) (*Trainer, error) {
	return open(ctx, run, o, checkpoint.Disk{})
}

// open implements Open. Tests pass a disk on which operations fail.
func open(ctx context.Context, run *runconfig.Run, o Options, disk checkpoint.Disk) (*Trainer, error) {
	t := &Trainer{run: run, folder: folder{Disk: disk, path: run.Out}, options: o, ranks: ranks{group: o.Group}, report: o.Report,
		best: math.Inf(1), bestStep: -1, saved: -1, good: -1}
	if t.report == nil || !t.leads() {
		t.report = Silent{}
	}
	t.options.Resume = cmp.Or(o.Resume, ResumeNone)
	if err := t.prepare(ctx); err != nil {
		t.folder.leaveNothing()
		t.Close()
		t.folder.leaveNothing() // again, for what could not be removed while it was locked
		return nil, err
	}
	return t, nil
}

// Note reports a line of news.
func (t *Trainer) Note(line string) { t.report.Note(line) }

// step is the number of steps done.
func (t *Trainer) step() int { return t.learner.Progress().Steps }

// Store returns where the parameters live.
func (t *Trainer) Store() *graph.Store { return t.store }

// Tokenizer returns the run's tokenizer.
func (t *Trainer) Tokenizer() data.Tokenizer { return t.corpus.Tokenizer }

// Memory reports the training program's buffers.
func (t *Trainer) Memory() graph.Memory { return t.learner.Program().Memory() }

// SaveTime returns how long writing the newest checkpoint took, 0 if this process has written none.
// It may be called while the run trains.
func (t *Trainer) SaveTime() time.Duration { return time.Duration(t.saveTook.Load()) }

// Config returns the run's config.
func (t *Trainer) Config() *runconfig.Run { return t.run }

// Corpus returns the run's corpus.
func (t *Trainer) Corpus() *data.Corpus { return t.corpus }

// Close unlocks the folder and stops all workers.
func (t *Trainer) Close() {
	t.recordings.close()
	if t.learner != nil {
		t.learner.Close()
	}
	if t.eval != nil {
		t.eval.Close()
	}
	if t.store != nil {
		_ = t.store.Close()
	}
	t.folder.close()
}

// Files lists the files that a run leaves in its folder.
func (t *Trainer) Files() []string {
	var names []string
	for _, name := range []string{configFile, metricsFile, plotFile, samplesFile, eventsFile, ProfileFile, "latest.json", "best.json"} {
		if _, err := os.Stat(filepath.Join(t.run.Out, name)); err == nil {
			names = append(names, filepath.Join(t.run.Out, name))
		}
	}
	return names
}
