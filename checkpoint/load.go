package checkpoint

import (
	"path/filepath"
)

// Load reads a step folder and compares every file with the checksum in state.json. If a file is
// missing, truncated, changed or newer than this program, the error names the file and the problem.
func Load(dir string) (*Checkpoint, error) {
	state, err := readState(filepath.Join(dir, StateFile))
	if err != nil {
		return nil, err
	}
	model, err := state.read(dir, ModelFile, kindModel)
	if err != nil {
		return nil, err
	}
	optimizer, err := state.read(dir, OptimizerFile, kindOptimizer)
	if err != nil {
		return nil, err
	}
	return &Checkpoint{State: state, Model: model.Tensors, Optimizer: optimizer.Tensors, ModelMetadata: model.Metadata}, nil
}

// read reads a file of a step folder.
func (s State) read(dir, name, kind string) (*File, error) {
	f, sum, err := readFile(filepath.Join(dir, name), kind)
	if err != nil {
		return nil, err
	}
	return f, s.checkSum(dir, name, sum)
}

// Verify returns an error unless a step folder is undamaged: its state.json is intact, and the
// other files have the checksums in it. It reads every byte but keeps none.
func Verify(dir string) error { return verify(dir, ModelFile, OptimizerFile) }

func verify(dir string, files ...string) error {
	state, err := readState(filepath.Join(dir, StateFile))
	if err != nil {
		return err
	}
	for _, name := range files {
		sum, err := fileSum(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		if err := state.checkSum(dir, name, sum); err != nil {
			return err
		}
	}
	return nil
}

func (s State) checkSum(dir, name, got string) error {
	want, ok := s.Files[name]
	if !ok {
		return damagedf("%s: names no checksum of %s: damaged, or another program's file", filepath.Join(dir, StateFile), name)
	}
	if got != want {
		return damagedf("%s: sha256 is %s, %s says %s: the file is damaged or was changed", filepath.Join(dir, name), got, StateFile, want)
	}
	return nil
}
