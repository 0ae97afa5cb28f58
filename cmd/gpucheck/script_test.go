package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/experiment/gpucheck"
	"github.com/residua-go/residua/internal/longtest"
)

// asProgram is the variable that makes this test program act as the command.
const asProgram = "GPUCHECK_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// stub stands in for every program of the pack: it trains two steps, and knows one test; ops.test
// knows another, too. With TOGETHER the tests of graph and norm wait for each other; with HANG the
// tests of norm never end.
const stub = `#!/bin/sh
case "$0 $*" in
*/ops.test*-test.list=*) echo TestDevice; echo TestDeviceStream; exit ;;
*/graph.test*) other=ops.test ;;
*/ops.test*/^norm*) other=graph.test
  [ -z "$HANG" ] || { echo "=== RUN   TestNorm"; sleep 60; } ;;
*) TOGETHER= ;;
esac
if [ -n "$TOGETHER" ]; then
  touch "$0.began"
  tries=0
  until [ -e "${0%/*}/$other.began" ]; do
    tries=$((tries + 1))
    [ $tries -lt 100 ] || { echo "$0 is alone"; exit 1; }
    sleep 0.1
  done
fi
out=$(echo "$*" | sed -n 's/.*-out \([^ ]*\).*/\1/p')
case "$0 $*" in
*/ops.test*TestDeviceStream*) echo "=== RUN   TestDeviceStream"; echo "--- PASS: TestDeviceStream (0.00s)" ;;
*.test*) echo "=== RUN   TestDevice"; echo "--- PASS: TestDevice (0.00s)" ;;
*"residua train"*) mkdir -p "$out/checkpoints/2" && echo '{"step":1,"loss":3,"grad_norm":1}' >"$out/metrics.jsonl" &&
  touch "$out/checkpoints/2/model.safetensors" && cp optimizer.safetensors "$out/checkpoints/2/" ;;
*) echo "a table" ;;
esac
`

// rehearse runs run.sh in a folder whose programs are stubs, with these settings, and returns what
// it prints and the report.
func rehearse(t *testing.T, folder, results string, arguments []string, settings ...string) (printed, report string, err error) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	write := func(name, text string) {
		path := filepath.Join(folder, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o755))
	}
	script, err := os.ReadFile("../../experiment/gpucheck/run.sh")
	require.NoError(t, err)
	write("run.sh", string(script))
	write("bin/gpucheck", "#!/bin/sh\n"+asProgram+"=1 exec '"+self+"' \"$@\"\n")
	write("version.txt", "Residua test\n")
	for _, name := range []string{"residua", "graph.test", "cuda.test", "ops.test", "models.test", "trainer.test", "tapemachine.test"} {
		write("bin/"+name, stub)
	}
	for _, dir := range []string{"saved/rmt-134m", "saved/run/checkpoints/2"} {
		require.NoError(t, os.MkdirAll(filepath.Join(folder, dir), 0o755))
	}
	for _, dir := range []string{"", "saved/run/checkpoints/2"} {
		moments := []checkpoint.Tensor{{Name: "w.moment1", Shape: []int{2}, Data: []float32{3, 4}}}
		require.NoError(t, checkpoint.WriteTensors(filepath.Join(folder, dir, "optimizer.safetensors"), moments, nil))
	}
	write("saved/run/metrics.jsonl", `{"step":1,"loss":3,"grad_norm":1}`+"\n")
	require.NoError(t, gpucheck.SaveStep(filepath.Join(folder, "saved/run"), filepath.Join(folder, "saved/rmt-134m")))
	for _, name := range []string{"graph/ops/norm", "graph/cuda", "models", "trainer", "internal/tapemachine"} {
		require.NoError(t, os.MkdirAll(filepath.Join(folder, name), 0o755))
	}
	run := exec.Command("sh", append([]string{filepath.Join(folder, "run.sh")}, arguments...)...)
	run.Env = append(os.Environ(), append(settings, "OUT="+results, "PYTHON=false")...)
	text, err := run.CombinedOutput()
	if archive := filepath.Join(results, "report.tar.gz"); exec.Command("gzip", "-t", archive).Run() == nil {
		markdown, err := exec.Command("tar", "-xzOf", archive, "./report.md").Output()
		require.NoError(t, err)
		report = string(markdown)
	}
	return string(text), report, err
}

// TestScript: if one part fails and another never ends, the other parts still run, and the archive
// has the results of all.
func TestScript(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a shell script")
	}
	for setting, want := range map[string]string{"": "no part has failed", "INJECT=fault:profile": "failed: profile"} {
		printed, report, err := rehearse(t, t.TempDir(), t.TempDir(), []string{"A", "big", "device", "ops"}, setting, "TOGETHER=1")
		assert.Equal(t, setting == "", err == nil, printed)
		assert.Contains(t, printed, want)
		for _, part := range []string{"smoke", "bench-bf16", "ceilings", "profile", "big", "device", "ops"} {
			if strings.HasSuffix(setting, part) {
				assert.Contains(t, report, "| "+part+" | **failed** |")
			} else {
				assert.Contains(t, report, "| "+part+" | passed |", printed)
			}
		}
		assert.Contains(t, report, "rmt-134m, CPU and bf16: gradients of 1 parameters, largest difference 0.0e+00 of the norm, of w (wanted <= 3e-01)")
		assert.Contains(t, printed, "\nbench-bf16: passed, ")
		assert.Regexp(t, `\| ops \| passed \| \d+ \| 2 tests passed, 0 failed`, report, "TestDevice, and what else ops.test lists")
		assert.Contains(t, printed, "\n## bench-bf16\n\n"+"```\na table\n", "results are printed, too")
		assert.Less(t, strings.Index(printed, "\n== all\n"), strings.LastIndex(printed, "\nops: passed, "), "and at the end the figures of all")
	}
}

// TestScriptOutOfTime: a part that never ends is stopped; when the time of a command is over, the
// remaining parts are not run.
func TestScriptOutOfTime(t *testing.T) {
	longtest.Skip(t)
	if _, err := exec.LookPath("timeout"); err != nil {
		t.Skip("want coreutils' timeout")
	}
	printed, report, err := rehearse(t, t.TempDir(), t.TempDir(), []string{"smoke", "profile"}, "INJECT=hang:smoke", "TIME=7")
	require.Error(t, err, printed)
	assert.Contains(t, report, "| smoke | **out of time** |")
	assert.Contains(t, report, "| profile | not run |")
	assert.Contains(t, printed, "failed: smoke; not run, for want of time: profile")

	_, report, err = rehearse(t, t.TempDir(), t.TempDir(), []string{"ops"}, "HANG=1", "LIMIT=5")
	require.Error(t, err)
	assert.Contains(t, report, "| ops | **out of time** | 5 | 2 tests passed, 0 failed", "what has run counts")
}

// TestScriptOnAFullDisk: what has been packed stays, and the parts continue.
func TestScriptOnAFullDisk(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("wants a small disk: mount -t tmpfs")
	}
	small := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", small).CombinedOutput(); err != nil {
		t.Skipf("no small disk can be mounted: %s", out)
	}
	t.Cleanup(func() { require.NoError(t, exec.Command("umount", small).Run()) })
	folder := t.TempDir()
	_, report, err := rehearse(t, folder, small, []string{"smoke"})
	require.NoError(t, err)
	assert.Contains(t, report, "| smoke | passed |")
	require.Error(t, os.WriteFile(filepath.Join(small, "filler"), make([]byte, 128<<10), 0o644))
	printed, report, err := rehearse(t, folder, small, []string{"profile"})
	require.Error(t, err, printed)
	assert.Contains(t, printed, "== profile\n   passed\n")
	assert.Contains(t, printed, "the report could not be written")
	assert.Contains(t, report, "| smoke | passed |", "the archive of before")
	assert.NotContains(t, report, "profile")
}
