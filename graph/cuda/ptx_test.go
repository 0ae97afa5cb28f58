//go:build cuda

package cuda

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/graph/cuda/internal/source"
)

// TestPTXIsOfItsSource compares the hash that each PTX file records with the hash of its sources.
func TestPTXIsOfItsSource(t *testing.T) {
	names, err := source.Names(".")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	for _, name := range names {
		unit, err := source.Read(".", name)
		require.NoError(t, err)
		ptx, err := module{name: strings.TrimSuffix(name, ".cu")}.ptx()
		if assert.NoError(t, err, "%s has no PTX: run go generate ./graph/cuda", name) {
			assert.True(t, strings.HasPrefix(ptx, source.Label(unit.Hash())),
				"the PTX of %s was not made from it and its headers as they are: run go generate ./graph/cuda", name)
		}
	}
	outputs, err := filepath.Glob("*.ptx.zst")
	require.NoError(t, err)
	assert.Len(t, outputs, len(names), "want a .cu for every .ptx.zst")
	assert.Len(t, modules, len(names), "modules.go is not of the files that there are: run go generate ./graph/cuda")
}

// TestPTXHasItsCode: for the GPUs whose code is kept, each module has code made from the same
// sources as its PTX; without it the driver would compile the PTX.
func TestPTXHasItsCode(t *testing.T) {
	for _, m := range modules {
		for major, architecture := range map[int]int{8: 80, 9: 90, 10: 100} {
			code, err := m.cubin(major)
			require.NoError(t, err)
			assert.Equal(t, architecture, architectureOf(code),
				"%s has no code for sm_%d of its sources as they are: run go generate ./graph/cuda with RESIDUA_PTXAS=ptxas", m.name, architecture)
		}
	}
	outputs, err := filepath.Glob("*.cubin.zst")
	require.NoError(t, err)
	assert.Len(t, outputs, len(modules))
}

// architectureOf returns the architecture that code is for, from the flags of its ELF header. It
// returns 0 if it is no code.
func architectureOf(code string) int {
	if len(code) < 64 || !strings.HasPrefix(code, "\x7fELF") {
		return 0
	}
	return int(code[49])
}

func TestCodeIsFound(t *testing.T) {
	ptx, codes := "// sha256 "+strings.Repeat("0", 64)+" NVRTC 1.2\nptx", " ptxas 3.4 sm_80:3 sm_90:4 sm_100:5\nsm8\nsm9sm_10"
	of := label(ptx) + codes
	for major, want := range map[int]string{7: "", 8: "sm8", 9: "\nsm9", 10: "sm_10", 12: ""} {
		assert.Equal(t, want, findCode(of, ptx, major), "compute capability %d", major)
	}
	other := "// sha256 " + strings.Repeat("1", 64) + codes
	assert.Empty(t, findCode(other, ptx, 8), "made from other sources")
}

// TestPTXIsPortable checks that the PTX has a single target and does not name where it was made.
func TestPTXIsPortable(t *testing.T) {
	for _, m := range modules {
		ptx, err := m.ptx()
		require.NoError(t, err)
		assert.Contains(t, ptx, ".target sm_80", m.name)
		assert.Contains(t, ptx, ".address_size 64", m.name)
		assert.NotRegexp(t, `(?m)^\s*\.file|/(tmp|home|usr|root)/`, ptx, m.name)
	}
}

// TestPTXAndCodeAreSmall checks that the kernels add at most 7 MB to a program.
func TestPTXAndCodeAreSmall(t *testing.T) {
	files, err := filepath.Glob("*.zst")
	require.NoError(t, err)
	bytes := 0
	for _, file := range files {
		packed, err := compiled.ReadFile(file)
		require.NoError(t, err)
		bytes += len(packed)
	}
	assert.Less(t, bytes, 7<<20)
}

// TestPTXComparesNoClampedNumberWithItsBound: ptxas 12 and 13 turn max(0, min(x, C)) == C into a
// single instruction on sm_90 that also reports equality if x is below 0.
func TestPTXComparesNoClampedNumberWithItsBound(t *testing.T) {
	for _, m := range modules {
		ptx, err := m.ptx()
		require.NoError(t, err)
		assert.Empty(t, boundComparisons(ptx), m.name)
	}
	for _, clamp := range []string{
		"min.s32 %r2, %r1, 8;\nmax.s32 %r3, %r2, 0;", "max.s32 %r2, 0, %r1;\nmin.s32 %r3, 8, %r2;",
	} {
		assert.Len(t, boundComparisons(clamp+"\n@%p2 bra $L;\nsetp.ne.s32 %p1, %r3, 8;"), 1, clamp)
		assert.Empty(t, boundComparisons(clamp+"\nsetp.lt.s32 %p1, %r3, 8;\nsetp.eq.s32 %p1, %r3, 7;"), clamp)
	}
}

var (
	clampPattern = regexp.MustCompile(`(min|max)\.s32\s+(%r\d+), ([%\w]+), ([%\w]+);`)
	equalPattern = regexp.MustCompile(`setp\.(?:eq|ne)\.s32\s+%p\d+, ([%\w]+), ([%\w]+);`)
)

// boundComparisons returns the lines of PTX that test whether max(0, min(x, C)) or min(C, max(0,
// x)) equals C.
func boundComparisons(ptx string) (found []string) {
	type limits struct{ low, high string } // of the content of a register; empty if there is none
	var of map[string]limits
	for line := range strings.Lines(ptx) {
		if of == nil || strings.Contains(line, ".entry ") {
			of = map[string]limits{}
		}
		if m := clampPattern.FindStringSubmatch(line); m != nil {
			x, bound := m[3], m[4]
			if x == "0" || !strings.HasPrefix(x, "%") {
				x, bound = bound, x
			}
			l := of[x]
			if m[1] == "max" {
				l.low = bound
			} else {
				l.high = bound
			}
			of[m[2]] = l
		}
		if m := equalPattern.FindStringSubmatch(line); m != nil {
			for i, j := range []int{2, 1} {
				if l := of[m[i+1]]; l.low == "0" && l.high == m[j] {
					found = append(found, strings.TrimSpace(line))
				}
			}
		}
	}
	return found
}

func TestPTXMissing(t *testing.T) {
	_, err := module{name: "none"}.ptx()
	assert.ErrorContains(t, err, "none.ptx.zst")
}

func TestKernelNamesAreUnique(t *testing.T) {
	owner := map[string]string{}
	for _, m := range modules {
		assert.NotEmpty(t, m.entries, "%s has no kernels", m.name)
		for _, e := range m.entries {
			if other, ok := owner[e.name]; ok {
				assert.Fail(t, "two kernels of one name", "%s is in %s and in %s", e.name, other, m.name)
			}
			owner[e.name] = m.name
		}
	}
}
