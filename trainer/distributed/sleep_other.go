//go:build !linux

package distributed

import "time"

func sleep(d time.Duration) { time.Sleep(d) }
