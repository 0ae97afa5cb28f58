package bench

import (
	"bufio"
	"os"
	"strconv"
	"strings"
)

// peakBytes is the most memory this process has had resident, as the kernel counts it
// (VmHWM of /proc/self/status); 0 on a system without that file.
func peakBytes() int {
	file, err := os.Open("/proc/self/status")
	if err != nil {
		return 0
	}
	defer func() { _ = file.Close() }()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if value, ok := strings.CutPrefix(lines.Text(), "VmHWM:"); ok {
			kilobytes, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(value), " kB"))
			if err != nil {
				return 0
			}
			return kilobytes << 10
		}
	}
	return 0
}
