package checkpoint

import (
	"os"
	"path/filepath"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/internal/regular"
)

// Kind is what a path given as a checkpoint turned out to be.
type Kind string

// The kinds of [Source].
const (
	KindRun  Kind = "run"  // a run folder
	KindStep Kind = "step" // a step folder
	KindFile Kind = "file" // one model file
	// KindHuggingFace is a folder with another program's config.json and its weights in one file or several: its model
	// file is for [ReadTensors] or, if it is a [ModelIndex], [ReadSharded]; [ReadModel] refuses it.
	KindHuggingFace Kind = "huggingface"
	// KindRMT is a folder in the layout of the RMT authors' code: [RMTWeights], for [ReadTensors], and [RMTDescription].
	KindRMT Kind = "rmt"
)

// RMTWeights and RMTFile are the files of a [KindRMT] folder.
const (
	RMTWeights = "weights.safetensors"
	RMTFile    = "rmt.json"
)

// RMTDescription is the file of such a folder that says what the weights are of: [RMTFile], or where that is not there
// expected.json, as folders of reference numbers have it.
func RMTDescription(folder string) string {
	if path := filepath.Join(folder, RMTFile); exists(path) {
		return path
	}
	return filepath.Join(folder, "expected.json")
}

// HuggingFaceConfig is the file next to a Hugging Face model's [ModelFile] that describes it.
const HuggingFaceConfig = "config.json"

// ModelIndex is the file that stands for [ModelFile] in a Hugging Face folder whose weights are in several files.
const ModelIndex = ModelFile + ".index.json"

// Source is where a model is to be read from.
type Source struct {
	Kind      Kind
	ModelPath string   // the model file, or the index of several
	StepDir   string   // the step folder around it, "" when it stands alone
	RunDir    string   // the run folder around that, "" when there is none
	Warnings  []string // damaged checkpoints that were passed over, and what else the reader of the model should know
}

// Resolve finds the model file that a path stands for: a run folder (its latest whole checkpoint is taken), a step
// folder, a folder of Hugging Face's or of the RMT authors' layout, or one .safetensors file. Only a run's choice among its checkpoints reads the
// model through; [ReadModel] checks it in any case.
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
		return around(KindStep, filepath.Join(path, ModelFile)), nil
	case exists(stepsOf(path)) || exists(filepath.Join(path, latestFile)):
		return resolveRun(path)
	case exists(filepath.Join(path, HuggingFaceConfig)):
		return resolveHuggingFace(path)
	case exists(filepath.Join(path, RMTWeights)) && exists(RMTDescription(path)):
		return Source{Kind: KindRMT, ModelPath: filepath.Join(path, RMTWeights)}, nil
	case exists(filepath.Join(path, ModelFile)):
		return Source{}, errors.Errorf("checkpoint %s: has a %s but no %s: not a step folder, or a torn one; name the file itself, or convert a foreign checkpoint first", path, ModelFile, StateFile)
	}
	return Source{}, errors.Errorf("checkpoint %s: neither a run folder (with %s/) nor a step folder (with %s): want one of these, a Hugging Face folder (with %s) or a .safetensors file", path, stepsFolder, StateFile, HuggingFaceConfig)
}

func resolveHuggingFace(dir string) (Source, error) {
	for _, name := range []string{ModelFile, ModelIndex} {
		if path := filepath.Join(dir, name); exists(path) {
			return Source{Kind: KindHuggingFace, ModelPath: path}, nil
		}
	}
	return Source{}, errors.Errorf("checkpoint %s: has a %s but no %s or %s: other formats are not read: save the model anew as safetensors", dir, HuggingFaceConfig, ModelFile, ModelIndex)
}

func resolveRun(runDir string) (Source, error) {
	dir, warnings, err := latest(runDir, func(dir string) error { return verify(dir, ModelFile) })
	if err != nil {
		return Source{}, err
	}
	s := around(KindRun, filepath.Join(dir, ModelFile))
	s.Warnings = warnings
	return s, nil
}

// around fills in the folders that a model file stands in, as far as they are ours.
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
	}
	return s
}
