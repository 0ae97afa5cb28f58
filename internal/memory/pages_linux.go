package memory

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// largePage is the size of a large page of x86-64, and of arm64 with small pages of 4 KiB.
const largePage = 2 << 20

// LargePages asks the system to keep the memory at p in large pages of 2 MiB. At the end of each 4
// KiB page the processor has to look up the next one, and stops reading ahead; so sequential reads
// are faster from large pages. The request covers the whole pages inside the memory, and does not
// change its content. If the system has no large pages, or the memory is smaller than one, nothing
// changes.
func LargePages(p unsafe.Pointer, bytes int) {
	if bytes < largePage {
		return
	}
	skip := (largePage - int(uintptr(p)%largePage)) % largePage // a pointer outside the allocation would be invalid to the garbage collector
	length := (bytes - skip) / largePage * largePage
	if length <= 0 {
		return
	}
	region := unsafe.Slice((*byte)(unsafe.Add(p, skip)), length)
	if unix.Madvise(region, unix.MADV_HUGEPAGE) == nil { // pages that are touched from now on
		_ = unix.Madvise(region, unix.MADV_COLLAPSE) // and those touched before, on Linux 6.1 and later
	}
}
