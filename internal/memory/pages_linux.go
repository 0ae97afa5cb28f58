package memory

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// largePage is the size of a large page of x86-64, and of arm64 with small pages of 4 KiB.
const largePage = 2 << 20

// LargePages asks the system to keep the memory from p on in large pages, of 2 MiB. Where a page
// of 4 KiB ends, the processor has to look up where the next one lies, and its own reading ahead
// stops: memory that is read from end to end comes faster from large pages. The request covers
// the whole pages inside the memory; it changes no content.
// A system that has none to give, or memory of less than a page, stays as it is.
func LargePages(p unsafe.Pointer, bytes int) {
	if bytes < largePage {
		return
	}
	skip := (largePage - int(uintptr(p)%largePage)) % largePage // a pointer outside the memory would be none to the garbage collector
	length := (bytes - skip) / largePage * largePage
	if length <= 0 {
		return
	}
	region := unsafe.Slice((*byte)(unsafe.Add(p, skip)), length)
	if unix.Madvise(region, unix.MADV_HUGEPAGE) == nil { // pages that are touched from now on
		_ = unix.Madvise(region, unix.MADV_COLLAPSE) // and those that have been; Linux 6.1 and later
	}
}
