package main

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWrongCallsAreALine(t *testing.T) {
	outside := t.TempDir()
	t.Setenv("JUPYTER", filepath.Join(outside, "none"))
	t.Chdir("../..")
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "want check, update, kernel or jupyter"},
		{[]string{"run"}, `want check, update, kernel or jupyter, got "run"`},
		{[]string{"check"}, "apt-get install"},
		{[]string{"jupyter"}, "pip install jupyterlab"},
	} {
		err := run(context.Background(), c.args)
		require.ErrorContains(t, err, c.want)
		require.NotContains(t, err.Error(), "\n")
	}
	t.Chdir(outside)
	require.ErrorContains(t, run(context.Background(), []string{"check"}), "repository's root")
}
