//go:build cuda

package nccl

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// compile makes a library whose version is as given and whose other functions do nothing, without
// the one that is named.
func compile(t *testing.T, version int, without string) string {
	t.Helper()
	text := fmt.Sprintf("int ncclGetVersion(int *v) { *v = %d; return 0; }\n", version)
	for _, s := range (&library{}).symbols()[1:] {
		if s.Name != without {
			text += fmt.Sprintf("int %s(void) { return 0; }\n", s.Name)
		}
	}
	c, path := filepath.Join(t.TempDir(), "nccl.c"), filepath.Join(t.TempDir(), "libnccl.so.2")
	require.NoError(t, os.WriteFile(c, []byte(text), 0o644))
	out, err := exec.Command("cc", "-shared", "-fPIC", "-o", path, c).CombinedOutput()
	require.NoError(t, err, string(out))
	return path
}

// TestLibraries checks the errors for a library that is missing, is another or is too old.
func TestLibraries(t *testing.T) {
	for _, test := range []struct{ path, want string }{
		{"/nowhere/libnccl.so.2", "no NCCL: RESIDUA_NCCL names /nowhere/libnccl.so.2: "},
		{"libm.so.6", "not NCCL 2.18 or newer: libm.so.6 has no function ncclGetVersion"},
		{compile(t, 21800, "ncclCommInitRankConfig"), "has no function ncclCommInitRankConfig"},
		{compile(t, 21714, ""), "libnccl.so.2 is too old: want 2.18 or newer, got 2.17.14: update it"},
		{compile(t, 2708, ""), "want 2.18 or newer, got 2.7.8"},
		{compile(t, 21800, ""), ""},
	} {
		t.Setenv("RESIDUA_NCCL", test.path)
		_, err := openLibrary()
		if test.want == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, test.want)
	}
}

// TestFindsPythonsLibrary: NCCL is found in the folder of PyTorch's wheels.
func TestFindsPythonsLibrary(t *testing.T) {
	environment := t.TempDir()
	dir := filepath.Join(environment, "lib/python3.12/site-packages/nvidia/nccl/lib")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	require.NoError(t, os.Rename(compile(t, 22304, ""), filepath.Join(dir, "libnccl.so.2")))
	t.Setenv("RESIDUA_NCCL", "")
	t.Setenv("VIRTUAL_ENV", environment)
	l, err := openLibrary()
	require.NoError(t, err)
	if !strings.HasPrefix(l.path, dir) {
		t.Skipf("the loader has NCCL: %s", l.path)
	}
	require.Equal(t, "2.23.4", l.name())
}
