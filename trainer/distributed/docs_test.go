package distributed

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"
)

// block returns the only block of docs/distributed.md in a language.
func block(t *testing.T, language string) string {
	text, err := os.ReadFile("../../docs/distributed.md")
	require.NoError(t, err)
	found := regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	require.Len(t, found, 1)
	return found[0][1]
}

func TestDocumentedBatchFile(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash")
	}
	check := exec.Command(bash, "-n")
	check.Stdin = strings.NewReader(block(t, "bash"))
	out, err := check.CombinedOutput()
	require.NoError(t, err, string(out))
}

// The TrainJob starts as many processes as the run has ranks.
func TestDocumentedTrainJob(t *testing.T) {
	var job struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string
		Spec       struct {
			RuntimeRef struct{ Name string } `yaml:"runtimeRef"`
			Trainer    struct {
				NumNodes      int `yaml:"numNodes"`
				NumProcs      int `yaml:"numProcPerNode"`
				Command, Args []string
			}
		}
	}
	require.NoError(t, yaml.Unmarshal([]byte(block(t, "yaml")), &job))
	require.Equal(t, "TrainJob", job.Kind)
	require.NotEmpty(t, job.Spec.RuntimeRef.Name)
	trainer := job.Spec.Trainer
	require.Equal(t, 4, trainer.NumNodes*trainer.NumProcs)
	require.Equal(t, []string{"mpirun", "-n", "4", "residua", "train"}, trainer.Command)
	require.Contains(t, trainer.Args, "device.ranks=4")
}

// The error that the page shows is one that ranks print.
func TestDocumentedError(t *testing.T) {
	text, err := os.ReadFile("../../docs/distributed.md")
	require.NoError(t, err)
	silent := SilentError{Rank: 1, Host: "node2", PID: 4711, What: "gradients, bucket 3", Since: defaultTimeout}
	require.Contains(t, string(text), "\n"+silent.Error()+"\n")
}
