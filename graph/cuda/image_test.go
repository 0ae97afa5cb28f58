//go:build cuda

package cuda

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/cu"

	"github.com/residua-go/residua/graph/cuda/emulator"
)

// moduleOf finds a kernel's module, to be loaded again.
func moduleOf(t *testing.T, kernel string) (module, entry) {
	for _, m := range modules {
		for _, e := range m.entries {
			if e.name == kernel {
				return m, e
			}
		}
	}
	require.Fail(t, "no kernel "+kernel)
	return module{}, entry{}
}

// TestCodeForCapabilities: each GPU gets the code of its major version, if the program has it.
func TestCodeForCapabilities(t *testing.T) {
	if !emulator.Emulated() {
		t.Skip("a GPU has one compute capability")
	}
	testDevice(t)
	device, err := cu.GetDevice(0)
	require.NoError(t, err)
	m, _ := moduleOf(t, "adamw_update")
	for capability, want := range map[string]int{
		"8.0": 80, "8.6": 80, "8.9": 80, "9.0": 90, "10.0": 100, "10.3": 100, "11.0": 0, "12.0": 0, // 0: PTX
	} {
		t.Setenv("RESIDUA_EMULATOR_CAPABILITY", capability)
		major, err := device.Attributes(cu.ComputeCapabilityMajor)
		require.NoError(t, err)
		code, err := m.cubin(major[0])
		require.NoError(t, err)
		require.Equal(t, want, architectureOf(code), capability)
	}
}

// TestModulesOfAFolder: modules in the folder are loaded, compiled code before PTX; others come
// from the program.
func TestModulesOfAFolder(t *testing.T) {
	m, e := moduleOf(t, "adamw_update")
	ptx, err := m.ptx()
	require.NoError(t, err)
	d, folder := testDevice(t), t.TempDir()
	load := func(major int) error {
		return d.within((&kernel{entry: e, module: &loadable{module: m, folder: folder, major: major}}).load)
	}
	write := func(file, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(folder, file), []byte(text), 0o644))
		require.NoError(t, checkFolder(folder))
	}
	require.NoError(t, load(12), "the program's PTX")
	require.NoError(t, load(9), "the same, where the driver does not take the code")
	write("optimizer.ptx", "// no PTX")
	require.ErrorContains(t, load(9), "RESIDUA_KERNELS: "+filepath.Join(folder, "optimizer.ptx"))
	write("optimizer.ptx", ptx)
	require.NoError(t, load(9))
	write("optimizer.cubin", "no code")
	require.ErrorContains(t, load(9), "RESIDUA_KERNELS: "+filepath.Join(folder, "optimizer.cubin"))
}

func TestFoldersWithoutModulesAreRefused(t *testing.T) {
	require.NoError(t, checkFolder(""))
	folder := t.TempDir()
	for file, want := range map[string]string{
		"":          "RESIDUA_KERNELS: want a folder of modules, as norm.cubin or norm.ptx, got ",
		"README.md": "which has none",
		"none.ptx":  "RESIDUA_KERNELS: want modules named as the program's, as norm.ptx of norm.cu, got " + filepath.Join(folder, "none.ptx"),
	} {
		if file == "" {
			require.ErrorContains(t, checkFolder(filepath.Join(folder, "nowhere")), want)
			continue
		}
		require.NoError(t, os.WriteFile(filepath.Join(folder, file), nil, 0o644))
		require.ErrorContains(t, checkFolder(folder), want)
		require.NoError(t, os.Remove(filepath.Join(folder, file)))
	}
}
