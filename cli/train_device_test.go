//go:build cuda

package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/graph/cuda/emulator"
	"github.com/residua-go/residua/internal/commandline"
)

// TestTrainOnTheDevice trains and samples.
func TestTrainOnTheDevice(t *testing.T) {
	file, dir := writeRun(t, tinyTrainYAML)
	code, stdout, stderr := runTrain("-config", file, "-set", "data.path=["+dir+"/text.txt]", "-set", "device.kind=cuda", "-out", filepath.Join(dir, "run"))
	require.Equal(t, commandline.ExitOK, code, stderr)
	require.Contains(t, stdout, "sample:\na")
}

// TestProfileOnTheDevice: the kernels' table follows that of a step's parts, also where steps have
// several micro-batches.
func TestProfileOnTheDevice(t *testing.T) {
	file, dir := writeRun(t, tinyTrainYAML)
	code, _, stderr := runTrain("-config", file, "-set", "data.path=["+dir+"/text.txt]", "-set", "device.kind=cuda", "-set", "train.accumulate=2",
		"-set", "sample.tokens=0", "-out", filepath.Join(dir, "run"), "-profile")
	require.Equal(t, commandline.ExitOK, code, stderr)
	require.Contains(t, stderr, "profile of 5 steps:")
	_, table, found := strings.Cut(stderr, "on the GPU, a step:\n")
	require.True(t, found, stderr)
	require.Regexp(t, `\nadamw_update +1 `, table)
	require.Regexp(t, `\n\d+ x \d+ x \d+ f32, A transposed +\d+ `, table)
	require.Regexp(t, `\ncopy: device to host +\d+ `, table)
	require.Regexp(t, `\nall .* 100.00%`, table)
}

// TestTrainOnASecondGPU runs in a process of its own, whose driver has several: number device.index
// of those that CUDA_VISIBLE_DEVICES lists is trained on, by Gorgonia's machine, too.
func TestTrainOnASecondGPU(t *testing.T) {
	if index := os.Getenv("RESIDUA_TEST_INDEX"); index != "" {
		file, dir := writeRun(t, tinyTrainYAML)
		code, _, stderr := runTrain("-config", file, "-set", "data.path=["+dir+"/text.txt]", "-set", "device={kind: cuda, index: "+index+"}", "-out", filepath.Join(dir, "run"))
		os.Stderr.WriteString(stderr)
		os.Exit(code)
	}
	if !emulator.Emulated() {
		t.Skip("the emulator has GPUs on demand")
	}
	for index, want := range map[string]string{"1": "", "2": "device.index: want a GPU from 0 to 1"} {
		command := exec.Command(os.Args[0], "-test.run=TestTrainOnASecondGPU")
		command.Env = append(os.Environ(), "RESIDUA_TEST_INDEX="+index, "RESIDUA_EMULATOR_DEVICES=3", "CUDA_VISIBLE_DEVICES=0,2")
		out, err := command.CombinedOutput()
		require.Equal(t, want != "", err != nil, string(out))
		require.Contains(t, string(out), want)
	}
}

// TestTrainWithoutAGPU runs in processes of their own, whose driver finds no GPU, or too
// old a one, or too little memory.
func TestTrainWithoutAGPU(t *testing.T) {
	if os.Getenv("RESIDUA_TEST_TRAIN") != "" {
		file, dir := writeRun(t, tinyTrainYAML)
		code, _, stderr := runTrain("-config", file, "-set", "data.path=["+dir+"/text.txt]", "-set", "device.kind=cuda", "-out", filepath.Join(dir, "run"))
		os.Stderr.WriteString(stderr)
		os.Exit(code)
	}
	if !emulator.Emulated() {
		t.Skip("the emulator has no GPU on demand")
	}
	const found = "RESIDUA_GPU=1" // the driver and cuBLAS that the environment names, not the emulator's
	for _, c := range []struct {
		name     string
		settings []string
		want     string
	}{
		{"no driver", []string{found, "RESIDUA_CUDA_DRIVER=/nowhere/libcuda.so.1"}, "/nowhere/libcuda.so.1"},
		{"no cuBLAS", []string{found, "RESIDUA_CUBLAS=/nowhere/libcublas.so.12"}, "/nowhere/libcublas.so.12"},
		{"no GPU", []string{"RESIDUA_EMULATOR_DEVICES=0"}, "GPU"},
		{"an old GPU", []string{"RESIDUA_EMULATOR_CAPABILITY=7.5"}, "8.0"},
		{"little memory", []string{"RESIDUA_EMULATOR_MEMORY=8192"}, "out of memory: want"},
	} {
		t.Run(c.name, func(t *testing.T) {
			command := exec.Command(os.Args[0], "-test.run=TestTrainWithoutAGPU")
			command.Env = append(append(os.Environ(), "RESIDUA_TEST_TRAIN=1"), c.settings...)
			out, err := command.CombinedOutput()
			require.Error(t, err)
			require.Contains(t, string(out), c.want)
			require.NotContains(t, string(out), "panic")
		})
	}
}
