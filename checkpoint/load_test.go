package checkpoint

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// tamper changes a file of a step folder.
func tamper(t *testing.T, dir, name string, change func([]byte) []byte) {
	t.Helper()
	path := filepath.Join(dir, name)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, change(data), 0o600))
}

func TestEveryFlippedBitOfAStateIsNoticed(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(mustSave(t, t.TempDir(), checkpointAt(500, 0)), StateFile))
	require.NoError(t, err)
	var s State
	require.NoError(t, unseal(text, &s))
	for bit := range 8 * len(text) {
		text[bit/8] ^= 1 << (bit % 8)
		require.Error(t, unseal(text, &s), "bit %d of byte %d (%q)", bit%8, bit/8, text[bit/8])
		text[bit/8] ^= 1 << (bit % 8)
	}
	for n := range text {
		require.Error(t, unseal(text[:n], &s), "first %d of %d bytes", n, len(text))
	}
	for _, tail := range []string{"\n", " ", "{}", string(text)} {
		require.Error(t, unseal([]byte(string(text)+tail), &s), "with %q after it", tail)
	}
}

// Flip every byte of every file, and read with the real readers.
func TestLoadAndVerifyNoticeEveryDamagedByte(t *testing.T) {
	dir := mustSave(t, t.TempDir(), checkpointAt(500, 0))
	for _, name := range []string{ModelFile, OptimizerFile, StateFile} {
		whole, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		for i := range whole {
			tamper(t, dir, name, func(data []byte) []byte { data[i] ^= 0x10; return data })
			_, err := Load(dir)
			require.ErrorContains(t, err, dir, "byte %d of %s", i, name)
			require.ErrorContains(t, Verify(dir), dir, "byte %d of %s", i, name)
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), whole, 0o600))
		}
		require.NoError(t, os.Truncate(filepath.Join(dir, name), int64(len(whole)-1)))
		_, err = Load(dir)
		require.ErrorContains(t, err, filepath.Join(dir, name))
		require.NoError(t, os.Remove(filepath.Join(dir, name)))
		_, err = Load(dir)
		require.ErrorIs(t, err, fs.ErrNotExist)
		require.ErrorContains(t, err, filepath.Join(dir, name))
		require.ErrorIs(t, Verify(dir), fs.ErrNotExist)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), whole, 0o600))
	}
	_, err := Load(dir)
	require.NoError(t, err)
}

// Whole files of another checkpoint do not belong to this one.
func TestLoadRefusesFilesOfAnotherStep(t *testing.T) {
	one, two := mustSave(t, t.TempDir(), checkpointAt(1, 1)), mustSave(t, t.TempDir(), checkpointAt(1, 2))
	for _, name := range []string{ModelFile, OptimizerFile} {
		mine, err := os.ReadFile(filepath.Join(one, name))
		require.NoError(t, err)
		other, err := os.ReadFile(filepath.Join(two, name))
		require.NoError(t, err)
		tamper(t, one, name, func([]byte) []byte { return other })
		_, err = Load(one)
		requireDamaged(t, err, filepath.Join(one, name))
		tamper(t, one, name, func([]byte) []byte { return mine })
	}
}

func TestStateRefusals(t *testing.T) {
	dir := mustSave(t, t.TempDir(), checkpointAt(1, 0))
	path := filepath.Join(dir, StateFile)
	whole, err := readState(path)
	require.NoError(t, err)
	sealed := func(change func(s *State)) []byte {
		s := whole
		change(&s)
		text, err := seal(s)
		require.NoError(t, err)
		return text
	}
	for _, text := range [][]byte{
		sealed(func(s *State) { s.Version = 3 }),
		[]byte(`{"version": 4, "new": {}}`),
	} {
		tamper(t, dir, StateFile, func([]byte) []byte { return text })
		_, err := Load(dir)
		assert.ErrorIs(t, err, ErrNewer)
		assert.ErrorIs(t, Verify(dir), ErrNewer)
	}
	for _, text := range [][]byte{
		sealed(func(s *State) { s.Version = 0 }),
		sealed(func(s *State) { s.Files = nil }),
		sealed(func(s *State) { s.Files = map[string]string{ModelFile: whole.Files[ModelFile]} }),
		[]byte(`{"version": 1, "step": 1}`),
		nil,
		[]byte("null"),
		[]byte(strings.Repeat("[", 100000)),
	} {
		tamper(t, dir, StateFile, func([]byte) []byte { return text })
		_, err := Load(dir)
		requireDamaged(t, err, path)
		requireDamaged(t, Verify(dir), path)
	}
}

func TestHugeStateIsNotReadOrWritten(t *testing.T) {
	dir := mustSave(t, t.TempDir(), checkpointAt(1, 0))
	require.NoError(t, os.Truncate(filepath.Join(dir, StateFile), maxSealedBytes+1))
	_, err := Load(dir)
	requireDamaged(t, err, filepath.Join(dir, StateFile))

	if testing.Short() {
		return // building 64 MiB of JSON takes a second
	}
	c := checkpointAt(1, 0)
	c.State.Extra["big"] = json.RawMessage(`"` + strings.Repeat("x", maxSealedBytes) + `"`)
	_, err = Disk{}.Save(t.TempDir(), c)
	assert.ErrorContains(t, err, "want at most 67108864")
}

// These states have the right checksum, but no run can reach them.
func TestLoadRefusesImpossibleStates(t *testing.T) {
	for _, change := range []func(s *State){
		func(s *State) { s.Step = -5 },
		func(s *State) { s.Tokens = -1 },
		func(s *State) { s.BadSteps = -1 },
		func(s *State) { s.OptimizerSteps = 101 },
		func(s *State) { s.Step, s.OptimizerSteps = 99, 99 },
	} {
		dir := StepPath(runWith(t, 100), 100)
		state, err := ReadState(dir)
		require.NoError(t, err)
		change(&state)
		require.NoError(t, Disk{}.writeSealed(filepath.Join(dir, StateFile), state))
		_, err = Load(dir)
		requireDamaged(t, err, filepath.Join(dir, StateFile))
		assert.Error(t, Verify(dir))
	}
}
