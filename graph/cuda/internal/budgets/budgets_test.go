package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pkg/errors"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/graph/cuda/internal/toolkit"
	"github.com/residua-go/residua/internal/longtest"
)

const kernels = "../.." // the folder of package cuda

// hot matches the names of kernels for the matrix stream, norms and attention in bf16.
var hot = regexp.MustCompile(`^(read|(write|write_grad|write_normread)(_\d+x\d+)?|keys_grad|normread_\w+|norm_(forward|backward|sums)|attention(_keys|_queries)?_\d+)_bf16$`)

// measured matches the names of kernels that only a benchmark launches.
var measured = regexp.MustCompile(`_\d+x\d+x\d+_bf16$`)

// The hot kernels that break a rule.
var (
	spilling = []string{"attention_decode_256_bf16", "attention_keys_64_bf16", "mix_read_grad8_bf16", "mix_write_grad8_bf16", "norm_linear_grad_x_bf16", // 4 to 80 bytes, on one of the two
		"attention_64_bf16", "attention_queries_64_bf16", "normread_backward_bf16", "normread_forward_bf16"} // as many registers as allow two or three blocks to run at once
	narrow = []string{"read_bf16", // each thread loads four entries of 16 bits
		"norm_sums_bf16"} // each thread has one column
)

// TestKernelsKeepToTheirBudgets: no bf16 kernel spills registers or uses local memory in its loops,
// and in those of the matrix stream, norms and attention each load takes 128 bits. Exceptions are
// listed by name, and must still be exceptions.
func TestKernelsKeepToTheirBudgets(t *testing.T) {
	_, rows, err := parse(filepath.Join(kernels, tableFile))
	require.NoError(t, err)
	seen := 0
	for _, r := range rows {
		if strings.HasSuffix(r.kernel, "_bf16") && !measured.MatchString(r.kernel) {
			spills := r.usage[0].spills + r.usage[1].spills + r.loads.local
			assert.Equal(t, slices.Contains(spilling, r.kernel), spills > 0, "%s spills %d and %d bytes, with %d accesses in loops", r.kernel, r.usage[0].spills, r.usage[1].spills, r.loads.local)
		}
		if !hot.MatchString(r.kernel) {
			continue
		}
		seen++
		assert.Equal(t, slices.Contains(narrow, r.kernel), r.loads.wide == 0, "%s: %d loads of 128 bits in loops, %d others", r.kernel, r.loads.wide, r.loads.narrow)
	}
	assert.Greater(t, seen, 15)
}

// TestTableListsAllKernels that the PTX declares, and no others.
func TestTableListsAllKernels(t *testing.T) {
	_, rows, err := parse(filepath.Join(kernels, tableFile))
	require.NoError(t, err)
	var got, want []string
	for _, r := range rows {
		got = append(got, r.kernel)
		assert.Positive(t, r.usage[0].registers, r.kernel)
	}
	files, err := filepath.Glob(filepath.Join(kernels, "*.ptx.zst"))
	require.NoError(t, err)
	for _, file := range files {
		ptx, err := toolkit.ReadPacked(file)
		require.NoError(t, err)
		for _, m := range regexp.MustCompile(`\.entry\s+(\w+)`).FindAllStringSubmatch(ptx, -1) {
			want = append(want, m[1])
		}
	}
	assert.ElementsMatch(t, want, got, "cd graph/cuda && go run ./internal/budgets")
}

// TestTableIsWhatPtxasSays runs if the version of ptxas that made the table is installed.
func TestTableIsWhatPtxasSays(t *testing.T) {
	longtest.Skip(t)
	tools, err := findTools()
	if err != nil {
		t.Skipf("without NVIDIA's assembler: %v", err)
	}
	text, err := os.ReadFile(filepath.Join(kernels, tableFile))
	require.NoError(t, err)
	version, _, err := parse(filepath.Join(kernels, tableFile))
	require.NoError(t, err)
	if tools.ptxas.Version != version {
		t.Skipf("want ptxas %s, which made the table, got %s", version, tools.ptxas.Version)
	}
	rows, err := tools.assembleAll(kernels)
	require.NoError(t, err)
	assert.Equal(t, string(text), format(tools.ptxas.Version, rows), "cd graph/cuda && go run ./internal/budgets")
}

// TestLoopLoads counts loads between a label and the branch back to it.
func TestLoopLoads(t *testing.T) {
	code := strings.NewReplacer("'", "`").Replace(`//--------------------- .text.scale --------------------------
.text.scale:
        /*0000*/                   LDG.E R0, desc[UR4][R2.64] ;
.L_x_1:
        /*0010*/                   LDG.E.128.CONSTANT R4, desc[UR4][R2.64] ;
        /*0018*/                   LDGSTS.E.BYPASS.128 [R5], desc[UR4][R2.64] ;
        /*0020*/                   LDG.E.64 R8, desc[UR4][R2.64] ;
        /*0030*/                   LDL R9, [R1] ;
        /*0040*/               @P0 BRA '(.L_x_1) ;
.L_x_2:
        /*0050*/                   BRA '(.L_x_2);
//--------------------- .text.other --------------------------
.text.other:
        /*0000*/                   LDG.E.128 R0, desc[UR4][R2.64] ;
`)
	assert.Equal(t, map[string]loads{"scale": {wide: 2, narrow: 1, local: 1}, "other": {}}, loopLoads(code))
}

// TestWrongClamps checks that the wrong instruction is found, and the one without a report is not.
func TestWrongClamps(t *testing.T) {
	assert.Regexp(t, wrongPattern, "VIMNMX.RELU R84, P1, P1, R85, 0x8, PT ;")
	assert.NotRegexp(t, wrongPattern, "VIMNMX.RELU R84, PT, PT, R85, 0x8, PT ;")
	assert.NotRegexp(t, wrongPattern, "VIMNMX R84, PT, PT, R85, 0x8, PT ;")
}

// TestReadLog parses the output of ptxas -v.
func TestReadLog(t *testing.T) {
	rows := map[string]*row{}
	readLog(`ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'read_bf16' for 'sm_90'
ptxas info    : Function properties for read_bf16
    24 bytes stack frame, 24 bytes spill stores, 32 bytes spill loads
ptxas info    : Used 128 registers, used 1 barriers, 24 bytes cumulative stack size, 256 bytes smem
ptxas info    : Compiling entry function 'fill_f32' for 'sm_90'
ptxas info    : Function properties for fill_f32
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 12 registers, used 0 barriers
`, 1, rows)
	require.Len(t, rows, 2)
	assert.Equal(t, usage{128, 256, 56}, rows["read_bf16"].usage[1])
	assert.Equal(t, usage{registers: 12}, rows["fill_f32"].usage[1])
}

// parse reads the table, and the version of ptxas that made it.
func parse(file string) (version string, rows []row, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", nil, errors.WithStack(err)
	}
	for i, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		if strings.HasPrefix(line, "#") {
			_, version, _ = strings.Cut(line, "ptxas ")
			version, _, _ = strings.Cut(version, ". ")
			continue
		}
		if line == columns {
			continue
		}
		var r row
		u, l := &r.usage, &r.loads
		_, err := fmt.Sscanf(line, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d", &r.kernel, &u[0].registers, &u[0].shared, &u[0].spills,
			&u[1].registers, &u[1].shared, &u[1].spills, &l.wide, &l.narrow, &l.local)
		if err != nil {
			return "", nil, errors.Wrapf(err, "%s:%d", file, i+1)
		}
		rows = append(rows, r)
	}
	return version, rows, nil
}
