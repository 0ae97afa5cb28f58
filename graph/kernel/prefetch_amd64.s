#include "textflag.h"

// func prefetchNear(p unsafe.Pointer, n int)
TEXT ·prefetchNear(SB), NOSPLIT, $0-16
	MOVQ p+0(FP), SI
	MOVQ n+8(FP), CX
	ADDQ CX, SI
	NEGQ CX
	JGE  done
line:
	PREFETCHT0 (SI)(CX*1)
	ADDQ $64, CX
	JLT  line
done:
	RET

// func prefetchFar(p unsafe.Pointer, n int)
TEXT ·prefetchFar(SB), NOSPLIT, $0-16
	MOVQ p+0(FP), SI
	MOVQ n+8(FP), CX
	ADDQ CX, SI
	NEGQ CX
	JGE  done
line:
	PREFETCHT1 (SI)(CX*1)
	ADDQ $64, CX
	JLT  line
done:
	RET
