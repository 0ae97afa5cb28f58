package checkpoint

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/internal/regular"
)

// Kind says what a path given as a checkpoint is, or names another program's format.
type Kind string

// The kinds of [Source].
const (
	kindRun  Kind = "run"  // a run folder
	kindStep Kind = "step" // a step folder
	KindFile Kind = "file" // a single model file
)

// ErrUnknown is the error for a folder that is neither a run nor a step.
var ErrUnknown = errors.New("not a folder of ours")

// HuggingFaceConfig is the file next to a Hugging Face model's [ModelFile] that describes the
// model.
const HuggingFaceConfig = "config.json"

// TorchModel and TorchIndex are what a Hugging Face folder has instead of [ModelFile] and
// [ModelIndex] if it was saved by torch.save.
const (
	TorchModel = "pytorch_model.bin"
	TorchIndex = TorchModel + ".index.json"
)

// ModelIndex replaces [ModelFile] in a Hugging Face folder whose weights are in several files.
const ModelIndex = ModelFile + ".index.json"

// Source says where to read a model from.
type Source struct {
	Kind      Kind
	ModelPath string   // the model file, or the index of several files
	StepDir   string   // the step folder, or folder of [LogPath], that contains it; "" if there is none
	RunDir    string   // the run folder that contains the step folder, "" if there is none
	Warnings  []string // damaged checkpoints that were skipped, and whatever else the reader of the model should know
}

// Name returns the name, without the path, of the model's run or, for a model outside runs, of its
// file or folder.
func (s Source) Name() string {
	path, err := filepath.Abs(cmp.Or(s.RunDir, s.ModelPath))
	if err != nil { // the working folder is gone
		path = s.ModelPath
	}
	if slices.Contains([]string{ModelFile, ModelIndex, TorchModel, TorchIndex}, filepath.Base(path)) {
		path = filepath.Dir(path)
	}
	return strings.TrimSuffix(filepath.Base(path), filepath.Ext(ModelFile))
}

// Resolve finds the model file for a path: a run folder (it takes the latest undamaged checkpoint),
// a step folder, one of [LogPath], or a .safetensors file. It reads the whole model only to choose
// among a run's checkpoints; [ReadModel] checks the model in any case.
func Resolve(path string) (Source, error) {
	path = filepath.Clean(path)
	info, err := os.Stat(path)
	if err != nil {
		return Source{}, errors.Wrap(err, "checkpoint")
	}
	switch {
	case info.Mode().IsRegular():
		return around(KindFile, path), nil
	case !info.IsDir():
		return Source{}, errors.Wrap(regular.Check(path, info), "checkpoint")
	case exists(filepath.Join(path, StateFile)):
		return around(kindStep, filepath.Join(path, ModelFile)), nil
	case IsRun(path):
		return resolveRun(path)
	case exists(filepath.Join(path, ModelFile)):
		return Source{}, errors.Wrapf(ErrUnknown, "checkpoint %s: has a %s but no %s: not a step folder, or a torn one; name the file itself, or convert a "+
			"foreign checkpoint first", path, ModelFile, StateFile)
	}
	return Source{}, errors.Wrapf(ErrUnknown, "checkpoint %s: neither a run folder (with %s/) nor a step folder (with %s): want one of these "+
		"or a .safetensors file", path, stepsFolder, StateFile)
}

// IsRun tells whether a folder is a step folder or contains the checkpoints of a run.
func IsRun(folder string) bool {
	return exists(filepath.Join(folder, StateFile)) || exists(stepsOf(folder)) || exists(filepath.Join(folder, latestFile))
}

func resolveRun(runDir string) (Source, error) {
	dir, warnings, err := latest(runDir, func(dir string) error { return verify(dir, ModelFile) })
	if err != nil {
		return Source{}, err
	}
	s := around(kindRun, filepath.Join(dir, ModelFile))
	s.Warnings = warnings
	return s, nil
}

// around fills in the step and run folders that contain a model file, if there are such folders; a
// step folder may be named by a symbolic link.
func around(kind Kind, modelPath string) Source {
	s := Source{Kind: kind, ModelPath: modelPath}
	step := filepath.Dir(modelPath)
	if !exists(filepath.Join(step, StateFile)) {
		return s
	}
	s.StepDir = step
	absolute, err := filepath.Abs(step)
	if steps := filepath.Dir(absolute); err == nil && filepath.Base(steps) == stepsFolder {
		s.RunDir = filepath.Join(step, "..", "..")
	} else if linked, err := filepath.EvalSymlinks(step); err == nil && filepath.Base(filepath.Dir(linked)) == stepsFolder {
		s.RunDir = filepath.Dir(filepath.Dir(linked))
	}
	return s
}
