//go:build cuda

package cuda

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// moduleOf finds a kernel's module, to be loaded anew.
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

// TestModulesOfAFolder: what a folder has is loaded, compiled code before PTX; what it does not have is the program's.
func TestModulesOfAFolder(t *testing.T) {
	m, e := moduleOf(t, "adamw_update")
	ptx, err := m.ptx()
	require.NoError(t, err)
	folder := t.TempDir()
	for _, step := range []struct{ file, text, want string }{
		{"", "", "PTX of optimizer.cu"},
		{"optimizer.ptx", ptx, filepath.Join(folder, "optimizer.ptx")},
		{"optimizer.cubin", "code", filepath.Join(folder, "optimizer.cubin")},
	} {
		if step.file != "" {
			require.NoError(t, os.WriteFile(filepath.Join(folder, step.file), []byte(step.text), 0o644))
			require.NoError(t, checkFolder(folder))
		}
		code, name, err := m.image(folder)
		require.NoError(t, err)
		assert.Equal(t, step.want, name)
		if step.text != "" {
			assert.Equal(t, step.text, code)
		}
	}
	d := testDevice(t)
	load := func() error {
		return d.within((&kernel{entry: e, module: &loadable{module: m, folder: folder}}).load)
	}
	assert.ErrorContains(t, load(), filepath.Join(folder, "optimizer.cubin"), "no code")
	require.NoError(t, os.Remove(filepath.Join(folder, "optimizer.cubin")))
	require.NoError(t, load())
	require.NoError(t, os.WriteFile(filepath.Join(folder, "optimizer.ptx"), []byte("// no PTX"), 0o644))
	assert.ErrorContains(t, load(), filepath.Join(folder, "optimizer.ptx"))
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
