package distributed

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAgree(t *testing.T) {
	succeed(t, 3, Options{}, func(g *Group) error {
		return Agree(g, []Fact{{"config", "a"}, {"corpus", "longer"}})
	})
}

// Every rank returns the same error, which names the fact and the rank that differs.
func TestDisagree(t *testing.T) {
	errs := ranks(Memory(3), Options{}, func(g *Group) error {
		corpus := Fact{"corpus", "a"}
		if g.Rank() == 2 {
			corpus.Value = "other"
		}
		return Agree(g, []Fact{{"config", "x"}, corpus})
	})
	for _, err := range errs {
		require.ErrorContains(t, err, "rank 2 (process ")
		require.ErrorContains(t, err, `: corpus: want "a" as rank 0 (process `)
		require.ErrorContains(t, err, `, got "other"`)
	}
}

// A fact that one rank lacks is named, with what that rank has at its place.
func TestOtherFacts(t *testing.T) {
	errs := ranks(Memory(2), Options{}, func(g *Group) error {
		return Agree(g, []Fact{{"program", "p"}, {[]string{"model.stream.dk", "model.stream.d_model"}[g.Rank()], "8"}, {"corpus", "c"}})
	})
	for _, err := range errs {
		require.ErrorContains(t, err, "rank 1 (process ")
		require.ErrorContains(t, err, "want model.stream.dk as rank 0 (process ")
		require.ErrorContains(t, err, "got model.stream.d_model: start all ranks with the same program and config")
	}
}

func TestDifferentNumbersOfFacts(t *testing.T) {
	errs := ranks(Memory(2), Options{}, func(g *Group) error {
		return Agree(g, make([]Fact, 1+g.Rank()))
	})
	for _, err := range errs {
		require.EqualError(t, err, "rank 1: want 1 facts as rank 0, got 2: do all ranks run the same program?")
	}
}

func TestCheckLauncher(t *testing.T) {
	for _, test := range []struct {
		ranks       int
		name, value string
		want        string
	}{
		{1, "PMI_SIZE", "", ""},
		{1, "PMI_SIZE", "1", ""},
		{2, "PMI_SIZE", "2", ""},
		{1, "SLURM_STEP_NUM_TASKS", "8", "device.ranks: want 8, for this process was started as one of 8 (SLURM_STEP_NUM_TASKS=8), got 1: add -set device.ranks=8, or start it without the launcher"},
		{1, "PMI_SIZE", "2", "device.ranks: want 2, for this process was started as one of 2 (PMI_SIZE=2), got 1: add -set device.ranks=2, or start it without the launcher"},
		{1, "OMPI_COMM_WORLD_SIZE", "4", "device.ranks: want 4, for this process was started as one of 4 (OMPI_COMM_WORLD_SIZE=4), got 1: add -set device.ranks=4, or start it without the launcher"},
	} {
		err := CheckLauncher(test.ranks, func(name string) string {
			if name == test.name {
				return test.value
			}
			return ""
		})
		if test.want == "" {
			require.NoError(t, err)
			continue
		}
		require.EqualError(t, err, test.want)
	}
}

func TestCheckSize(t *testing.T) {
	succeed(t, 2, Options{}, func(g *Group) error {
		require.NoError(t, CheckSize(2, g))
		require.EqualError(t, CheckSize(4, g), "device.ranks: want 2, the number of ranks that memory of one process sees, got 4: start the program by `mpiexec -n 4`, with the mpiexec of that library")
		return nil
	})
}
